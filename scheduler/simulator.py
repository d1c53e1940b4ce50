"""Agenda and policy in virtual time, with a cost function in place of the work: capacity planning and experiments.

An update arrives every ``interval`` time units; a joint execution occupies the processor for its cost times ``load``;
the updates that arrive meanwhile are applied before the next choice. Dissertation 8.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scheduler.agenda import Agenda
from scheduler.cost import CostFunction
from scheduler.policies import Policy
from scheduler.streams import GlobalScheduler
from scheduler.tasks import SubGroup, Task


@dataclass(frozen=True)
class StreamLoad:
    """One stream to simulate. ``delays`` adds time to the first execution as of an update: a stall as test input."""

    name: str
    subgroups: Sequence[SubGroup]
    policy: Policy
    cost: CostFunction
    interval: float = 1.0
    load: float = 1.0
    weight: float = 1.0
    delays: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Execution:
    """One joint execution: as of which update, of which tasks, from when to when."""

    update: int
    tasks: tuple[Task, ...]
    start: float
    finish: float


@dataclass(frozen=True)
class Run:
    """What a simulation of one stream did in updates 1 to ``updates``."""

    policy: str
    subgroups: tuple[SubGroup, ...]
    tasks: tuple[Task, ...]
    executions: tuple[Execution, ...]
    updates: int
    interval: float

    def refreshes(self) -> dict[str, list[int]]:
        """The updates as of which each query was refreshed."""
        found: dict[str, list[int]] = {query: [] for subgroup in self.subgroups for query in subgroup.queries}
        for execution in self.executions:
            for task in execution.tasks:
                for query in task.queries:
                    found[query].append(execution.update)
        return found

    @property
    def throughput(self) -> float:
        """Query refreshes per unit of time."""
        count = sum(len(task.queries) for execution in self.executions for task in execution.tasks)
        return count / (self.updates * self.interval)

    @property
    def busy(self) -> float:
        """The share of the time that was spent executing; above 1 when the last execution overran the end."""
        return sum(execution.finish - execution.start for execution in self.executions) / (self.updates * self.interval)

    def lateness(self) -> dict[str, float]:
        """Per query, the average number of updates beyond its slide between two refreshes; early counts 0.

        The time from the start to the first refresh and the time since the last one count like any other, the latter
        only if it is already too long: a query that is starved is not overlooked.
        """
        slides = {member.query: member.slide for subgroup in self.subgroups for member in subgroup.members}
        result: dict[str, float] = {}
        for query, updates in self.refreshes().items():
            gaps = [after - before for before, after in zip([0, *updates], updates, strict=False)]
            if not updates or self.updates - updates[-1] > slides[query]:
                gaps.append(self.updates - (updates[-1] if updates else 0))
            result[query] = sum(max(0, gap - slides[query]) for gap in gaps) / len(gaps)
        return result

    @property
    def latency(self) -> float:
        """The average lateness over all queries."""
        late = self.lateness()
        return sum(late.values()) / len(late)


def simulate(
    subgroups: Sequence[SubGroup],
    policy: Policy,
    cost: CostFunction,
    updates: int,
    load: float = 1.0,
    *,
    interval: float = 1.0,
    delays: Mapping[int, float] | None = None,
) -> Run:
    """One stream with the processor to itself."""
    stream = StreamLoad("stream", subgroups, policy, cost, interval, load, delays=delays or {})
    return simulate_streams([stream], updates * interval)["stream"]


def simulate_streams(streams: Sequence[StreamLoad], duration: float) -> dict[str, Run]:
    """Several streams sharing one processor by weight, until the updates that arrive before the end are served or
    the time is up."""
    states = {stream.name: _State(stream) for stream in streams}
    processor = GlobalScheduler({stream.name: stream.weight for stream in streams})
    now = 0.0
    while now <= duration:
        ready: dict[str, tuple[Task, ...]] = {}
        for name, state in states.items():
            if chosen := state.choose(now):
                ready[name] = chosen
        served = processor.next(ready)
        if served is None:
            now = min(state.next_update for state in states.values())
            continue
        finish = states[served].execute(ready[served], now)
        processor.used(served, finish - now)
        now = finish
    return {name: state.run(duration) for name, state in states.items()}


class _State:
    """One stream in the course of a simulation."""

    def __init__(self, stream: StreamLoad) -> None:
        self._stream = stream
        self._tasks = stream.policy.tasks(stream.subgroups, stream.cost)
        self._agenda = Agenda()
        self._agenda.replace(self._tasks, 0)
        self._update = 0
        self._delays = dict(stream.delays)
        self._executions: list[Execution] = []
        self._durations: dict[tuple[str, ...], float] = {}

    @property
    def next_update(self) -> float:
        return (self._update + 1) * self._stream.interval

    def choose(self, now: float) -> tuple[Task, ...]:
        """What would run next, after all updates that have arrived."""
        while self.next_update <= now:
            self._update += 1
        return self._stream.policy.pick(self._agenda, self._update)

    def execute(self, tasks: tuple[Task, ...], start: float) -> float:
        """Run the tasks as of the newest update; when it is done."""
        key = tuple(task.name for task in tasks)
        if key not in self._durations:
            self._durations[key] = self._stream.cost.cost([part for task in tasks for part in task.subgroups])
        duration = self._durations[key] * self._stream.load + self._delays.pop(self._update, 0.0)
        for task in tasks:
            self._agenda.ran(task, self._update)
        self._executions.append(Execution(self._update, tasks, start, start + duration))
        return start + duration

    def run(self, duration: float) -> Run:
        stream = self._stream
        updates = int(duration / stream.interval + 1e-9)
        return Run(
            stream.policy.name,
            tuple(stream.subgroups),
            self._tasks,
            tuple(self._executions),
            updates,
            stream.interval,
        )
