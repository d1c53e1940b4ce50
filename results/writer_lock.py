"""One writer per results database: an advisory lock that the operating system drops when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from queries.errors import RunError


class WriterLock:
    """Held from construction to ``release``. The file stays behind: unlinking it would let two writers in."""

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode(errors="replace").strip()
            os.close(self._file)
            raise RunError(
                f"the results {database} are being written by another process" + (f" (pid {holder})" if holder else ""),
                hint="wait for it or stop it, or give this config another results: path",
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)
