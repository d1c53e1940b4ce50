"""The log of a file source in Spark's checkpoint: which files a micro-batch is made of, and which to forget."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

from queries.model import Stream
from synopses.partials_store import write_atomically

_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_RECENT = 1000
"""Entries of the log that are left alone, however old their files are: a batch may still be made of them."""


def files_of_batch(checkpoint: Path, batch: int) -> list[str]:
    """The paths of the batch's files. Spark notes, per batch, the number of the last entry of the source's own log
    (``offsets``), and in that log the files of each entry; every hundredth file of it repeats all entries before."""
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


def forget_old_files(checkpoint: Path, max_age_ms: int) -> int:
    """Drops from the newest compacted entry the files that Spark does not look for any more: those older than its
    newest by more than ``maxFileAge``. How many.

    Spark forgets them in memory but carries them from one compaction to the next for ever. To be called between two
    batches, when it neither reads nor writes the log.
    """
    compacted = {int(path.stem): path for path in (checkpoint / "sources" / "0").glob("*.compact")}
    if not compacted:
        return 0
    entry = max(compacted)
    version, *lines = compacted[entry].read_text(encoding="utf-8").splitlines()
    files = [json.loads(line) for line in lines]
    oldest = max((file["timestamp"] for file in files), default=0) - max_age_ms
    kept = [
        line
        for line, file in zip(lines, files, strict=True)
        if file["timestamp"] >= oldest or file["batchId"] > entry - _RECENT
    ]
    if len(kept) < len(lines):
        compacted[entry].with_name(f".{compacted[entry].name}.crc").unlink(missing_ok=True)
        write_atomically(compacted[entry], "\n".join([version, *kept]).encode())
    return len(lines) - len(kept)


def max_file_age_ms(stream: Stream) -> int | None:
    """The source's ``maxFileAge``; None if it is written in a way that only Spark knows."""
    options = {key.lower(): value for key, value in stream.source.options}
    given = re.fullmatch(r"(\d+)\s*(ms|s|m|min|h|d)?", options.get("maxfileage", "7d").strip().lower())
    return int(given[1]) * _MILLISECONDS[given[2] or "ms"] if given else None
