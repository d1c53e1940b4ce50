"""Which files a micro-batch of a file source is made of, from the log in Spark's checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote


def files_of_batch(checkpoint: Path, batch: int) -> list[str]:
    """The paths of the batch's files. Spark notes, per batch, the number of the last entry of the source's own log
    (``offsets``), and in that log the files of each entry; every tenth file of it repeats all entries before."""
    last = _log_offset(checkpoint, batch)
    if last is None:
        return []
    before = _log_offset(checkpoint, batch - 1)
    first = 0 if before is None else before + 1
    paths: dict[str, None] = {}
    for entry in range(first, last + 1):
        folder = checkpoint / "sources" / "0"
        for name in (str(entry), f"{entry}.compact"):
            if (folder / name).exists():
                paths |= dict.fromkeys(_paths(folder / name, entry))
    return list(paths)


def _log_offset(checkpoint: Path, batch: int) -> int | None:
    path = checkpoint / "offsets" / str(batch)
    if not path.exists():
        return None
    offset = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    return int(offset["logOffset"])


def _paths(log: Path, entry: int) -> list[str]:
    lines = log.read_text(encoding="utf-8").splitlines()[1:]
    files = [json.loads(line) for line in lines]
    return [unquote(file["path"]) for file in files if file["batchId"] == entry]
