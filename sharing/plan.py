"""The shared plan of one stream: which synopses are kept, and how every query is answered from them.

A plan is a value. It is made for a set of queries (``plan_stream``), or from another plan by a query more or less
(``add``, ``remove``), changing as little as possible: what others read stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from queries.model import Microseconds, Query, Stream
from sharing.cost import DEFAULTS, Statistics
from sharing.kept import KeptSynopsis
from sharing.planner import Planner
from sharing.query_plan import Part, QueryPlan
from sharing.reading import Input
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import SynopsisSpec


@dataclass(frozen=True)
class StreamPlan:
    """``kept`` are the synopses, each read by at least one of ``queries``."""

    stream: Stream
    kept: tuple[KeptSynopsis, ...]
    queries: tuple[QueryPlan, ...]
    statistics: Statistics = DEFAULTS
    restore_reach: Microseconds = 0

    @cached_property
    def synopses(self) -> tuple[SynopsisSpec, ...]:
        return tuple(kept.spec for kept in self.kept)

    @cached_property
    def driver_synopses(self) -> tuple[SynopsisSpec, ...]:
        """Those that the driver keeps; the others are resident in Spark."""
        return tuple(spec for spec in self.synopses if not spec.need.resident)

    @property
    def needs(self) -> tuple[Preaggregation, ...]:
        """What the records of a new interval are pre-aggregated to: one need per synopsis."""
        return tuple(kept.need for kept in self.kept)

    def needs_of(self, query: QueryPlan) -> tuple[Preaggregation, ...]:
        """The pre-aggregations that one query's answers depend on."""
        return tuple(self.synopsis(source).need for source in query.sources)

    def query(self, name: str) -> QueryPlan:
        return self._by_name[name]

    def synopsis(self, source: Input) -> KeptSynopsis:
        return self._by_input[source]

    def readers(self, source: Input) -> tuple[QueryPlan, ...]:
        return self._readers.get(source, ())

    @cached_property
    def _by_name(self) -> dict[str, QueryPlan]:
        return {plan.query.name: plan for plan in self.queries}

    @cached_property
    def _by_input(self) -> dict[Input, KeptSynopsis]:
        return {kept.input: kept for kept in self.kept}

    @cached_property
    def _readers(self) -> dict[Input, tuple[QueryPlan, ...]]:
        readers: dict[Input, list[QueryPlan]] = {}
        for plan in self.queries:
            for source in plan.sources:
                readers.setdefault(source, []).append(plan)
        return {source: tuple(plans) for source, plans in readers.items()}


def plan_stream(
    stream: Stream, queries: Iterable[Query], restore_reach: Microseconds = 0, statistics: Statistics = DEFAULTS
) -> StreamPlan:
    """The plan from scratch: attributes are cut into cells for all predicates, then one query after the other. What
    is resident in Spark is planned apart from what is in the driver."""
    queries = tuple(queries)
    plan = StreamPlan(stream, (), (), statistics, restore_reach)
    for resident in sorted({query.resident for query in queries}):
        planner = Planner(stream, statistics, restore_reach)
        mine = [query for query in queries if query.resident is resident]
        planner.cut_cells(mine)
        for query in mine:
            planner.add(query)
        planner.prefer_exact()
        plan = _with(plan, resident, planner)
    return plan


def add(plan: StreamPlan, query: Query) -> StreamPlan:
    """The plan with one query more. Nobody else's way to be answered changes."""
    planner = _planner(plan, query.resident)
    planner.add(query)
    return _with(plan, query.resident, planner)


def remove(plan: StreamPlan, name: str) -> StreamPlan:
    """The plan with one query less. What nobody reads any more is dropped, and nothing else."""
    resident = plan.query(name).resident
    planner = _planner(plan, resident)
    planner.remove(name)
    return _with(plan, resident, planner)


def plan_unshared(stream: Stream, queries: Iterable[Query], restore_reach: Microseconds = 0) -> tuple[StreamPlan, ...]:
    """Every query on its own, for comparison."""
    return tuple(plan_stream(stream, [query], restore_reach) for query in queries)


def _planner(plan: StreamPlan, resident: bool) -> Planner:
    kept, queries = _placed(plan, resident)
    return Planner(plan.stream, plan.statistics, plan.restore_reach, kept, queries)


def _with(plan: StreamPlan, resident: bool, planner: Planner) -> StreamPlan:
    """The plan with all that is in Spark, or all that is in the driver, as the planner has it."""
    planner.settle()
    kept, queries = tuple(planner.shelf.by_name.values()), tuple(planner.plans.values())
    others, other_queries = _placed(plan, not resident)
    return replace(plan, kept=(*others, *kept), queries=(*other_queries, *queries))


def _placed(plan: StreamPlan, resident: bool) -> tuple[tuple[KeptSynopsis, ...], tuple[QueryPlan, ...]]:
    return (
        tuple(kept for kept in plan.kept if kept.need.resident is resident),
        tuple(query for query in plan.queries if query.resident is resident),
    )


__all__ = ["Part", "QueryPlan", "StreamPlan", "add", "plan_stream", "plan_unshared", "remove"]
