"""What sharing saves: cost per update and memory of a plan, of its queries on their own, and of each query in it.

Costs are in merges of one stored entry per update, memory in entries (``sharing.cost``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharing.cost import Cost
from sharing.kept import KeptSynopsis
from sharing.plan import StreamPlan
from sharing.query_plan import QueryPlan
from sharing.reading import Input
from sharing.request import Request


@dataclass(frozen=True)
class Load:
    """``cost`` per update, ``entries`` held, ``synopses`` kept."""

    cost: float
    entries: float
    synopses: int

    def __sub__(self, other: Load) -> Load:
        return Load(self.cost - other.cost, self.entries - other.entries, self.synopses - other.synopses)


def shared_load(plan: StreamPlan) -> Load:
    loads = [_load(kept, _requests(plan, kept.input), Cost(plan.statistics)) for kept in plan.kept]
    return Load(sum(load.cost for load in loads), sum(load.entries for load in loads), len(loads))


def unshared_load(plan: StreamPlan) -> Load:
    """The same queries, each with synopses of its own."""
    cost = Cost(plan.statistics)
    requests = [part.request for query in plan.queries for part in query.parts]
    held = sum(cost.entries(request.predicate, request.keys) * request.length for request in requests)
    return Load(sum(cost.own(request) for request in requests), held, len(requests))


def marginal_load(plan: StreamPlan, query: QueryPlan) -> Load:
    """What the query adds to the plan, which is what removing it would save."""
    cost = Cost(plan.statistics)
    total = Load(0, 0, 0)
    for source in query.sources:
        kept = plan.synopsis(source)
        everyone = _requests(plan, source)
        others = _requests(plan, source, without=query.query.name)
        added = _load(kept, everyone, cost) - _load(kept, others, cost)
        total = Load(total.cost + added.cost, total.entries + added.entries, total.synopses + added.synopses)
    return total


def _requests(plan: StreamPlan, source: Input, without: str | None = None) -> list[Request]:
    return [
        part.request
        for reader in plan.readers(source)
        if reader.query.name != without
        for part in reader.parts
        if any(term.source == source for term in part.reading.terms)
    ]


def _load(kept: KeptSynopsis, requests: Sequence[Request], cost: Cost) -> Load:
    """A synopsis as long as these readers need it, and their reading of it."""
    if not requests:
        return Load(0, 0, 0)
    entries = cost.held(kept)
    b = max(request.length for request in requests)
    cells = 1 if kept.cells is None else kept.cells.cells.count
    return Load(cost.keeping(kept.predicate, entries, b, cells) + cost.reading(entries, requests), entries * b, 1)
