"""Talking to a running daemon: one JSON line each way over a socket in its state folder, for its owner only."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from queries.errors import InputError, Problem, RunError

logger = logging.getLogger(__name__)

Request = dict[str, Any]
Handler = Callable[[Request], Any]
_MOST = 1 << 24
_PATIENCE_SECONDS = 60.0


class ControlServer:
    """Answers one request after the other, on a thread of its own; ``handler`` may raise ``HemiolaError``."""

    def __init__(self, path: Path, handler: Handler) -> None:
        self._path, self._handler = path, handler
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unheard = path.with_name(f"{path.name}.new")  # under its own name once it listens: who finds it is answered
        unheard.unlink(missing_ok=True)
        with _short_path(unheard) as name:
            before = os.umask(0o177)
            try:
                self._socket.bind(name)
            finally:
                os.umask(before)
        self._socket.listen(8)
        unheard.replace(path)
        threading.Thread(target=self._serve, name="control", daemon=True).start()

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), name="control-request", daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(_PATIENCE_SECONDS)
            try:
                reply = {"answer": self._handler(json.loads(_read_line(connection)))}
            except InputError as error:
                problems = [[p.location, p.query, p.message, p.hint] for p in error.problems]
                reply = {"problems": problems}
            except RunError as error:
                reply = {"error": error.message, "query": error.query, "hint": error.hint}
            except Exception as error:
                logger.exception("a control request failed")
                reply = {"error": f"the daemon failed: {error}"}
            try:
                connection.sendall(json.dumps(reply).encode() + b"\n")
            except OSError as error:
                logger.info("a control request went away: %s", error)


def request(path: Path, command: str, **arguments: object) -> Any:
    """Asks the daemon; raises what it raised."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE_SECONDS)
        try:
            with _short_path(path) as name:
                connection.connect(name)
            connection.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            reply = json.loads(_read_line(connection))
        except (OSError, ValueError) as error:
            raise RunError(
                f"no daemon answers on the state {path.parent}", hint="start it with hemiola run CONFIG"
            ) from error
    if "problems" in reply:
        raise InputError(tuple(Problem(*problem) for problem in reply["problems"]))
    if "error" in reply:
        raise RunError(reply["error"], query=reply.get("query"), hint=reply.get("hint"))
    return reply["answer"]


def _read_line(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        piece = connection.recv(1 << 16)
        if not piece or len(received) > _MOST:
            raise ValueError("the other side went away")
        received += piece
    return received


class _short_path:
    """A socket's path may have about 100 bytes: long ones are reached through the folder's file descriptor."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: int | None = None

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) < 100:
            return str(self._path)
        self._folder = os.open(self._path.parent, os.O_RDONLY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            os.close(self._folder)
