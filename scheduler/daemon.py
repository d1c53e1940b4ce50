"""The live part of the engine: when to close intervals, when to refresh, when to commit. No threads, no Spark.

Updates go first (latest-window-serializable): whoever falls behind closes all that can be closed and refreshes as of
the newest update, so that overload stretches periods. A few updates that fall due together, because a micro-batch
brought more than one interval, are no overload: they are taken one at a time.
"""

from __future__ import annotations

from collections.abc import Collection

from queries.model import Microseconds
from scheduler.engine import Answer, Engine

CATCH_UP = 5
"""Updates that may be waiting and are still taken one at a time."""
_MOST_ANSWERS = 500
"""Answers gathered before they are handed over, though more of the same update are due."""
_MOST_UPDATES = 50
"""Updates done before progress is handed over, though more of them are waiting: a crash repeats no more."""


class LiveStream:
    """One stream's engine on the wall clock. ``step`` does one piece of work; ``take`` hands answers over, to be
    committed together with the mark ``engine.now``."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.target = engine.now
        self.committed = engine.now
        self._jumping = True
        self._answers: list[Answer] = []

    def advance(self, watermark: Microseconds) -> None:
        """All records before ``watermark`` have been ingested."""
        self.target = max(self.target, watermark // self.engine.interval)

    @property
    def waiting(self) -> int:
        """Updates that could be done now."""
        return self.target - self.engine.now

    @property
    def ready(self) -> bool:
        return self.waiting > 0 or self.engine.due

    def step(self) -> None:
        """Runs the next joint set, or else closes the next interval."""
        self._jumping = self.waiting > CATCH_UP or (self._jumping and self.waiting > 0)
        if not self._jumping:
            answers = self.engine.run_next()
            if answers is not None:
                self._answers += answers
                return
        if self.waiting > 0:
            self._answers += self.engine.restore_expiring()
            self.engine.update()

    def forget(self, queries: Collection[str]) -> None:
        """Drops answers not yet handed over of queries that are registered no more."""
        self._answers = [answer for answer in self._answers if answer.query not in queries]

    def take(self) -> tuple[Answer, ...] | None:
        """The answers to commit now; None while there are none, or more of this update are to come. To be asked
        after every step and every advance."""
        if not self._answers and self.engine.now == self.committed:
            return None
        more_to_come = self.engine.due or (self._jumping and self.waiting > 0)
        enough = len(self._answers) >= _MOST_ANSWERS or self.engine.now - self.committed >= _MOST_UPDATES
        if more_to_come and not enough and not self._falling_behind:
            return None
        answers, self._answers = tuple(self._answers), []
        self.committed = self.engine.now
        return answers

    @property
    def _falling_behind(self) -> bool:
        """Updates are about to go first: what has been answered as of this one is handed over before."""
        return bool(self._answers) and self.waiting > CATCH_UP and not self._jumping
