"""The very engine in virtual time with a cost function for a processor: overload on any machine, the same every time.

An execution occupies the processor for its cost times ``load``, in intervals of the stream. Updates that fall due
meanwhile go first (semantics.md 5 and 8), so overload stretches periods and drops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Protocol

from scheduler.clocks import VirtualClock
from scheduler.cost import CostFunction
from scheduler.engine import Answer, Engine
from scheduler.tasks import Task


class Processor(Protocol):
    def intervals(self, tasks: Sequence[Task], update: int, seconds: float) -> float:
        """How long a joint execution of the tasks as of an update takes, in intervals; ``seconds`` is what it took."""
        ...


@dataclass(frozen=True)
class ModelledProcessor:
    """Takes the modelled cost times ``load``; ``stalls`` adds intervals to executions as of some updates."""

    cost: CostFunction
    load: float
    stalls: Mapping[int, float] = field(default_factory=dict)

    def intervals(self, tasks: Sequence[Task], update: int, seconds: float) -> float:
        modelled = self.cost.cost([part for task in tasks for part in task.subgroups])
        return modelled * self.load + self.stalls.get(update, 0.0)


@dataclass(frozen=True)
class MeasuredProcessor:
    """Takes what the execution really took, at so many intervals to the second: real work under any load."""

    intervals_per_second: float

    def intervals(self, tasks: Sequence[Task], update: int, seconds: float) -> float:
        return seconds * self.intervals_per_second


def drive(
    engine: Engine, clock: VirtualClock, until: int, processor: Processor, timer: Callable[[], float] = perf_counter
) -> Iterator[tuple[Answer, ...]]:
    """Runs the engine to update ``until``, whose partials are all ingested, on its own ``clock``.

    Yields the answers of each execution as they would be published: ``refreshed_at`` is when it was done. ``timer``
    (in seconds) says what executions really take.
    """
    s = engine.interval
    clock.advance_to(engine.now * s)
    while True:
        while engine.now < until and (engine.now + 1) * s <= clock.now():
            if restored := engine.restore_expiring():
                yield tuple(replace(answer, refreshed_at=clock.now()) for answer in restored)
            engine.update()
        picked = engine.policy.pick(engine.agenda, engine.now)
        began = timer()
        answers = engine.run_next()
        if answers is not None:
            seconds = timer() - began
            clock.advance(round(processor.intervals(picked, engine.now, seconds) * s))
            yield tuple(replace(answer, refreshed_at=clock.now()) for answer in answers)
        elif engine.now < until:
            clock.advance_to((engine.now + 1) * s)
        else:
            return
