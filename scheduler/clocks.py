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
    """Real time, never going back when the system's clock is set back."""

    def __init__(self) -> None:
        self._latest = 0

    def now(self) -> int:
        self._latest = max(self._latest, time.time_ns() // 1000)
        return self._latest
