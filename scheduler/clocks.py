"""The two clocks: one engine runs on either. Instants are microseconds since the Unix epoch (UTC)."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """The present instant."""
        ...


class VirtualClock:
    """A clock that stands still until it is moved; replay, simulation and tests run on it."""

    def __init__(self, start: int = 0) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def advance(self, microseconds: int) -> None:
        if microseconds < 0:
            raise ValueError("a clock does not go back")
        self._now += microseconds

    def advance_to(self, instant: int) -> None:
        """Move to ``instant``; an instant already passed changes nothing."""
        self._now = max(self._now, instant)


class WallClock:
    """Real time. Instants follow the system's clock, which may be set; lengths of time are taken from ``elapsed``,
    which nobody sets."""

    def __init__(self) -> None:
        self._latest = 0
        self._ahead = self._system() - self.elapsed()

    def now(self) -> int:
        """Never goes back, but for a clock that was set back and ``jump`` has told of it."""
        self._latest = max(self._latest, self._system())
        return self._latest

    def elapsed(self) -> int:
        """Microseconds since some moment in the past."""
        return time.monotonic_ns() // 1000

    def jump(self) -> int:
        """By how much the system's clock was set, in microseconds, since this was last asked."""
        ahead = self._system() - self.elapsed()
        jump, self._ahead = ahead - self._ahead, ahead
        if jump < 0:
            self._latest = 0
        return jump

    def _system(self) -> int:
        return time.time_ns() // 1000
