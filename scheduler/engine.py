"""The engine of one stream: update, pick, probe, hand over; on any clock, fed by anybody.

It is single-threaded and, for a given sequence of updates and costs, deterministic. Whoever drives it (replay, the
daemon, the simulator's tests) brings partial aggregates and says how far event time has come; the engine decides
what is refreshed, as of when, and hands each update's answers over as one piece, to be committed as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import pyarrow as pa

from queries.model import Microseconds, Query
from scheduler.agenda import Agenda
from scheduler.asking import ONE_TIME, matching
from scheduler.clocks import Clock
from scheduler.cost import CalibratedCost, CostFunction
from scheduler.execution import execute
from scheduler.load import Savings, savings
from scheduler.plan_cost import modelled_cost
from scheduler.policies import Policy
from scheduler.resident import ResidentSynopses, probe_jointly
from scheduler.resident_probe import Asked
from scheduler.tasks import Member, Task, living, subgroups
from sharing.plan import QueryPlan, StreamPlan
from synopses.changes import History, exchange
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import StreamSynopses


@dataclass(frozen=True)
class Answer:
    """One refresh of one query, as of ``window_end`` (semantics.md 1); times in microseconds."""

    query: str
    window_start: Microseconds
    window_end: Microseconds
    complete: bool
    table: pa.Table
    task: str
    started_at: Microseconds
    refreshed_at: Microseconds
    duration_ms: float
    late_by: float
    restored: bool
    shared_with: tuple[str, ...]
    shelf: Any = None
    """Where the rows are that were too many for ``table``; ``shelved`` is their number."""
    shelved: int = 0


@dataclass(frozen=True)
class _Found:
    started_at: Microseconds
    duration_ms: float
    table: pa.Table
    shelf: Any = None
    shelved: int = 0


Shelves = Callable[[str, Microseconds, Microseconds, bool, Microseconds, float, bool], Any]
"""A shelf (``resident_probe.Shelf``) for an answer: query, window start and end, complete, now, late by, restored."""

Wanted = Callable[[str, Microseconds], bool]
"""Whether the answer of a query as of a window end is still to be computed (work = due − done)."""


REVISE_EVERY = 64
"""Updates between two looks at whether measured costs call for other tasks."""
REVISE_DRIFT = 0.2
"""The change of a sub-group's cost against the others', as a share, that is worth a look."""


def _all(query: str, window_end: Microseconds) -> bool:
    return True


class Engine:
    """Synopses, agenda and policy of one stream. ``now`` is the number of the newest update, t / s."""

    def __init__(
        self,
        plan: StreamPlan,
        policy: Policy,
        cost: CostFunction,
        clock: Clock,
        *,
        start: int,
        seen_from: int,
        wanted: Wanted = _all,
        registered_at: int | None = None,
    ) -> None:
        """Begins after update ``start``; the stream has been seen from update ``seen_from`` on. A ``CalibratedCost``
        (over ``plan_cost.modelled_cost``, in microseconds) is fed with what executions take."""
        self.plan, self.policy, self.cost, self.clock = plan, policy, cost, clock
        self.now = start
        self.seen_from = seen_from
        self.wanted = wanted
        self.synopses = StreamSynopses(plan.driver_synopses)
        self.resident: ResidentSynopses | None = None
        """Those that live in Spark; to be set before the first execution that reads one."""
        self.shelves: Shelves | None = None
        """Where answers from Spark may be left."""
        self.agenda = Agenda()
        self._plans = {query.query.name: query for query in plan.queries}
        self._subgroups = subgroups(members_of(plan), policy.joined)
        self.known_from: dict[Preaggregation, int] = {}
        """The first interval each synopsis has seen from its beginning, where that is later than ``seen_from``."""
        self.isolate_failures = False
        """Whether a query that fails is passed over (the daemon) instead of ending the run (replay)."""
        self.failures: dict[str, str] = {}
        self._refreshed: dict[str, int] = {}
        registered_at = start if registered_at is None else registered_at
        self._since = {query.query.name: registered_at for query in plan.queries}
        self._schedule()

    @property
    def interval(self) -> Microseconds:
        return self.plan.stream.interval

    def ingest(self, need: Preaggregation, partials: pa.Table) -> None:
        self.synopses.ingest(need, partials)

    def resume(self, history: History, refreshed: Mapping[str, int], since: Mapping[str, int]) -> None:
        """Takes up the work of an engine that committed update ``now``: ``history`` fills the synopses, ``refreshed``
        has the newest window end published of each query, ``since`` when it was registered, in updates."""
        self.synopses = StreamSynopses(())
        exchange(self.synopses, self.plan.driver_synopses, history, self.now)
        self._refreshed = {name: end for name, end in refreshed.items() if name in self._plans}
        self._since |= {name: update for name, update in since.items() if name in self._plans}
        tasks, self.agenda = self.agenda.tasks, Agenda()
        for task in tasks:
            last = min(self._refreshed.get(query, self._since[query]) for query in task.queries)
            self.agenda.add(task, min(last, self.now))

    def replan(self, plan: StreamPlan, history: History, known_from: Mapping[Preaggregation, int]) -> None:
        """Goes on with another set of queries from update ``now`` on. ``history`` holds the partials of synopses that
        are new, known from the intervals ``known_from`` on; those that stay are not touched."""
        exchange(self.synopses, plan.driver_synopses, history, self.now)
        self.known_from = {
            need: max(known_from.get(need, 0), self.known_from.get(need, 0))
            for need in plan.needs
            if need in known_from or need in self.known_from
        }
        before, self.plan = self._plans, plan
        if isinstance(self.cost, CalibratedCost):
            self.cost.model = modelled_cost(plan)
        self._plans = {query.query.name: query for query in plan.queries}
        same = {
            name
            for name in self._plans
            if name in before and same_question(before[name].query, self._plans[name].query)
        }
        self._refreshed = {name: end for name, end in self._refreshed.items() if name in same}
        self._since = {name: self._since[name] if name in same else self.now for name in self._plans}
        self._subgroups = living(subgroups(members_of(plan), self.policy.joined), self.now)
        self._schedule()

    @property
    def since(self) -> Mapping[str, int]:
        """The update at which each query was registered."""
        return self._since

    @property
    def due(self) -> bool:
        """Whether ``run_next`` would run something."""
        return bool(self.policy.pick(self.agenda, self.now))

    def restore_expiring(self) -> list[Answer]:
        """Missed window ends of restore queries that one more update would move out of their synopses' reach, as of
        their own time (semantics.md 7). Who lets updates go before refreshes calls it before each."""
        tasks = {query: task.name for task in self.agenda.tasks for query in task.queries}
        ends: dict[int, list[QueryPlan]] = {}
        for name in tasks:
            plan = self._plans[name]
            missed = self._missed(plan)
            expiring = [end for end in missed if self.now + 1 - end > plan.reach]
            if plan.resident and expiring:  # one job for all of them
                expiring = missed
            for end in expiring:
                if self.wanted(name, end * self.interval):
                    ends.setdefault(end, []).append(plan)
            if expiring:
                self._refreshed[name] = expiring[-1]
        return self._answers(ends, tasks)

    def update(self) -> None:
        """The next interval is complete: every synopsis now reflects ``[…, t)``."""
        self.synopses.close(self.now)
        self.now += 1
        if any(
            member.until is not None and member.until < self.now
            for group in self._subgroups
            for member in group.members
        ):
            self._subgroups = living(self._subgroups, self.now)
            self._schedule()

    def run_next(self) -> list[Answer] | None:
        """Runs the joint set the policy picks now; None when nothing is due."""
        picked = self.policy.pick(self.agenda, self.now)
        if not picked:
            self._revise()
            return None
        began = perf_counter()
        answers = self._refresh(picked)
        if isinstance(self.cost, CalibratedCost) and self._as_of_now(answers, picked):
            self.cost.observe([part for task in picked for part in task.subgroups], (perf_counter() - began) * 1e6)
        for task in picked:
            self.agenda.ran(task, self.now)
        return answers

    def ask(self, query: Query) -> Answer:
        """A one-time query as of the newest update, from the synopses at hand; ``Unanswerable`` if they do not hold
        it. It goes before everything that is due: whoever drives the engine asks between two executions."""
        plan = matching(self.plan, query)
        (answer,) = self._answers({self.now: [plan]}, {query.name: ONE_TIME})
        return answer

    def late(self) -> dict[str, float]:
        """The queries that are late at this moment, and by how many seconds."""
        return {query: updates * self.interval / 1e6 for query, updates in self.agenda.late(self.now).items()}

    def saved(self) -> Savings:
        """What scheduling queries together saves, per update, in the unit of the cost function."""
        return savings(self.policy, self.agenda.tasks, self.cost)

    def _schedule(self) -> None:
        tasks = self.policy.tasks(self._subgroups, self.cost, self.agenda.tasks)
        self.agenda.replace(tasks, self.now)
        self._revised = self.now
        if isinstance(self.cost, CalibratedCost):
            self.cost.settle()

    def _revise(self) -> None:
        """Plans anew when measured costs have changed enough; only called when nothing is pending, so that no query
        is kept waiting by it. The policy keeps the running tasks unless the change pays (``hybrid.revise``)."""
        if (
            isinstance(self.cost, CalibratedCost)
            and self.now - self._revised >= REVISE_EVERY
            and self.cost.drift() > REVISE_DRIFT
        ):
            self._schedule()

    def _as_of_now(self, answers: Sequence[Answer], picked: Sequence[Task]) -> bool:
        """Whether the execution was of all its queries and of nothing else: no missed window ends, nothing done."""
        newest = self.now * self.interval
        return len(answers) == sum(len(task.queries) for task in picked) and all(
            answer.window_end == newest for answer in answers
        )

    def _refresh(self, picked: Sequence[Task]) -> list[Answer]:
        due = {query: task.name for task in picked for query in task.queries}
        before = dict(self._refreshed)
        ends: dict[int, list[QueryPlan]] = {}
        for query in due:
            plan = self._plans[query]
            for end in [*self._missed(plan), self.now]:
                if self.wanted(query, end * self.interval):
                    ends.setdefault(end, []).append(plan)
            self._refreshed[query] = self.now
        answers = self._answers(ends, due)
        for query in due.keys() & self.failures.keys():  # what restore owes it still does
            self._refreshed.pop(query)
            self._refreshed |= {query: before[query]} if query in before else {}
        return answers

    def _answers(self, ends: Mapping[int, Sequence[QueryPlan]], tasks: Mapping[str, str]) -> list[Answer]:
        answers = []
        in_spark = self._probed_in_spark(ends)
        for end, plans in sorted(ends.items()):
            started_at, began = self.clock.now(), perf_counter()
            here = [plan for plan in plans if not plan.resident]
            tables = self._executed(here, self.now - end) if here else {}
            each_ms = (perf_counter() - began) * 1000 / max(1, len(here))
            found = {name: _Found(started_at, each_ms, table) for name, table in tables.items()} | in_spark.get(end, {})
            together = tuple(sorted(found))
            for plan in plans:
                name = plan.query.name
                if name not in found:
                    continue
                answers.append(
                    Answer(
                        query=name,
                        window_start=(end - plan.window) * self.interval,
                        window_end=end * self.interval,
                        complete=self._complete(plan, end),
                        table=found[name].table,
                        task=tasks[name],
                        started_at=found[name].started_at,
                        refreshed_at=self.clock.now(),
                        duration_ms=found[name].duration_ms,
                        late_by=self._late_by(name, end) * self.interval / 1e6,
                        restored=end < self.now,
                        shared_with=tuple(other for other in together if other != name),
                        shelf=found[name].shelf,
                        shelved=found[name].shelved,
                    )
                )
        return answers

    def _probed_in_spark(self, ends: Mapping[int, Sequence[QueryPlan]]) -> dict[int, dict[str, _Found]]:
        """Everything of it that is resident in Spark, as one job; what fails is in ``failures``."""
        plans = [(end, plan) for end in sorted(ends) for plan in ends[end] if plan.resident]
        if not plans:
            return {}
        assert self.resident is not None
        started_at, began = self.clock.now(), perf_counter()
        asked = [Asked(end, plan, self._shelf(plan, end, started_at)) for end, plan in plans]
        needs = tuple(dict.fromkeys(need for _, plan in plans for need in self.plan.needs_of(plan)))
        try:
            probed = probe_jointly(self.resident, needs, asked)
        except Exception as error:
            if not self.isolate_failures:
                raise
            self.failures |= {plan.query.name: f"{type(error).__name__}: {error}" for _, plan in plans}
            return {}
        each_ms = (perf_counter() - began) * 1000 / len(plans)
        found: dict[int, dict[str, _Found]] = {}
        for one, (table, shelved) in zip(asked, probed, strict=True):
            self.failures.pop(one.plan.query.name, None)
            shelf = one.shelf if shelved is not None else None
            of_end = found.setdefault(one.end, {})
            of_end[one.plan.query.name] = _Found(started_at, each_ms, table, shelf, shelved or 0)
        return found

    def _shelf(self, plan: QueryPlan, end: int, now: Microseconds) -> Any:
        if self.shelves is None:
            return None
        name, s = plan.query.name, self.interval
        late_by = self._late_by(name, end) * s / 1e6
        window = ((end - plan.window) * s, end * s)
        return self.shelves(name, *window, self._complete(plan, end), now, late_by, end < self.now)

    def _complete(self, plan: QueryPlan, end: int) -> bool:
        return end - plan.window >= self._known_from(plan)

    def _executed(self, plans: Sequence[QueryPlan], age: int) -> dict[str, pa.Table]:
        """The answers by query. When the joint execution fails each query is tried alone: one that cannot be answered
        (``failures`` says why) keeps no other from it."""
        try:
            tables = execute(self.synopses, plans, age)
        except Exception:
            if not self.isolate_failures:
                raise
            tables = {}
            for plan in plans:
                try:
                    tables |= execute(self.synopses, [plan], age)
                except Exception as error:
                    self.failures[plan.query.name] = f"{type(error).__name__}: {error}"
        for name in tables:
            self.failures.pop(name, None)
        return tables

    def _late_by(self, query: str, end: int) -> int:
        """In updates: over the slide's bound for the newest window end, since its own time for a restored one."""
        if query not in self._plans:
            return 0
        return self.agenda.late_by(query, self.now) if end == self.now else self.now - end

    def _missed(self, plan: QueryPlan) -> list[int]:
        """Window ends on the query's own grid since its last refresh that restore must still publish, oldest first
        (semantics.md 7)."""
        if plan.query.semantics != "restore":
            return []
        last = self._refreshed.get(plan.query.name, self._since[plan.query.name])
        return list(range((last // plan.slide + 1) * plan.slide, self.now, plan.slide))

    def _known_from(self, plan: QueryPlan) -> int:
        return max(self.seen_from, *(self.known_from.get(need, self.seen_from) for need in self.plan.needs_of(plan)))


def same_question(before: Query, now: Query) -> bool:
    """Whether it is the same question, wherever its synopses live."""
    return replace(before, placement=now.placement) == now


def members_of(plan: StreamPlan) -> list[Member]:
    s = plan.stream.interval
    return [
        Member(
            query=query.query.name,
            group=query.group,
            window=query.window,
            slide=query.slide,
            priority=query.query.priority,
            until=None if query.query.until is None else query.query.until // s,
            consistent=query.query.consistent,
            output_slide=query.output_slide,
        )
        for query in plan.queries
    ]
