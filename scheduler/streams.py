"""The global scheduler: streams share the processor by weight, each with its own agenda.

Start-time fair queuing: every stream has a tag that grows by used time over weight, and the stream with the lowest
tag goes next. A stream that had nothing to do resumes at the present tag, so that it is served soon but cannot claim
the time it left unused. An overloaded stream thus makes only itself late, as long as one of its executions, which is
never interrupted, fits into the time the others have left before their next update. Dissertation 8.4.2 leaves the
choice open.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


class GlobalScheduler:
    """Chooses which stream may execute next; time is in any one unit."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        if any(weight <= 0 for weight in weights.values()):
            raise ValueError("a stream's weight must be positive")
        self._weights = dict(weights)
        self._tags = dict.fromkeys(weights, 0.0)
        self._present = 0.0
        self._waiting: set[str] = set()

    def next(self, ready: Collection[str]) -> str | None:
        """The stream to serve of those with something to run; None if there is none."""
        for name in set(ready) - self._waiting:
            self._tags[name] = max(self._tags[name], self._present)
        self._waiting = set(ready)
        if not ready:
            return None
        chosen = min(ready, key=lambda name: (self._tags[name], name))
        self._present = self._tags[chosen]
        return chosen

    def used(self, stream: str, duration: float) -> None:
        """The stream occupied the processor for ``duration``."""
        self._tags[stream] += duration / self._weights[stream]
