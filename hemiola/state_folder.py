"""The state folder of a daemon: who holds it, what version and streams it is of, where things lie in it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from queries.durations import format_duration
from queries.errors import RunError
from queries.model import Stream
from synopses.partials_store import write_atomically

FORMAT = 1
_MANIFEST, _LOCK = "manifest.json", "lock"


class StateFolder:
    """Held from construction to ``release``; the operating system releases it when its holder dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise RunError(f"cannot write the state {folder}: {error.strerror}", hint="check state:") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._lock, 32).decode(errors="replace").strip()
            os.close(self._lock)
            raise RunError(
                f"another daemon (pid {holder}) is running on the state {folder}",
                hint="stop it first, or give this config another state: and results:",
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        try:
            self._content = self._read_manifest()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        os.close(self._lock)

    def claim(self, streams: Sequence[Stream]) -> None:
        """Notes the streams; refuses one whose interval is not the one its state was made with."""
        known: dict[str, Any] = self._content.setdefault("streams", {})
        for stream in streams:
            before = known.get(stream.name, {}).get("interval", stream.interval)
            if before != stream.interval:
                raise RunError(
                    f"stream {stream.name} now has an interval of {format_duration(stream.interval)}, but its state in "
                    f"{self.folder} was made with {format_duration(before)}",
                    hint=f"set interval: {format_duration(before)} for the stream, or give state: another folder",
                )
            known.setdefault(stream.name, {"interval": stream.interval})
        self._write_manifest()

    def note(self, stream: str, **facts: object) -> None:
        """Remembers facts about a stream, durably."""
        self._content["streams"][stream].update(facts)
        self._write_manifest()

    def facts(self, stream: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._content["streams"].get(stream, {})
        return found

    def checkpoint(self, stream: str) -> Path:
        return self.folder / "checkpoints" / stream

    def partials(self, stream: str) -> Path:
        return self.folder / "partials" / stream

    def raw(self, stream: str) -> Path:
        return self.folder / "raw" / stream

    @property
    def nbytes(self) -> int:
        total = 0
        for folder, _, files in os.walk(self.folder):
            for name in files:
                try:
                    total += os.stat(os.path.join(folder, name)).st_size
                except FileNotFoundError:
                    continue
        return total

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def _read_manifest(self) -> dict[str, Any]:
        path = self.folder / _MANIFEST
        if not path.exists():
            return {"format": FORMAT, "streams": {}}
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            version = content["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is not a manifest of Hemiola's", hint="give state: another folder") from error
        if version != FORMAT:
            raise RunError(
                f"the state {self.folder} has format {version}; this Hemiola knows format {FORMAT}",
                hint="use the Hemiola version that wrote it, or give state: another folder",
            )
        return content

    def _write_manifest(self) -> None:
        write_atomically(self.folder / _MANIFEST, json.dumps(self._content, indent=1).encode())


def socket_path(state: str) -> Path:
    return Path(state) / "control.sock"
