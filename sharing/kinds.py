"""Which kind of synopsis each component is kept in, given all that read it (semantics.md 3)."""

from __future__ import annotations

from collections.abc import Sequence

from queries.errors import InputError, Problem
from queries.model import Query
from sharing.request import Request
from synopses.algebra import Component
from synopses.choice import BASIC_INTERVAL, INTERVAL, RUNNING, check_forced, choose_kind, scan_pays_from
from synopses.preaggregate import Preaggregation
from synopses.topk_lists import Listed

TOPK_LISTS = "topk_lists"


def check_forced_kind(query: Query) -> None:
    """Raises ``IllegalSynopsis`` if the query asks for a kind that cannot keep its aggregates."""
    if query.synopsis is not None:
        check_forced(query.select.leaf.aggregates, query.synopsis, query.name, query.place)


def check_placement(query: Query) -> None:
    """Refuses what cannot live in Spark: lists are small wherever they are, and prefixes would be as many as groups
    ever seen, at every interval."""
    if not query.resident:
        return
    if any(call.function == "TOP_K_LISTS" for call in query.select.leaf.aggregates):
        message = "TOP_K_LISTS keeps k items per interval, which is never too much for the driver"
        raise InputError((Problem(query.place or "placement", query.name, message, "leave out placement: spark"),))
    if query.synopsis == RUNNING:
        message = "in Spark intervals and blocks of them are kept, no prefixes"
        raise InputError((Problem(query.place or "placement", query.name, message, "leave out synopsis: running"),))


def choose(need: Preaggregation, b: int, readers: Sequence[tuple[Query, Request]]) -> tuple[str, ...]:
    """A kind for each component. Counters that nobody reads as groups are never subtracted, so never running."""
    if need.resident:
        return (BASIC_INTERVAL,) * len(need.components)
    together = _together([request for _, request in readers])
    forced = _forced(readers)
    counters = all(request.counted is not None for _, request in readers)
    kinds = []
    for component in need.components:
        if isinstance(component, Listed):
            kinds.append(TOPK_LISTS)
        elif component in forced:
            query = forced[component]
            kinds.append(choose_kind(component, b, together, query.synopsis, query.name))
        elif counters:
            kinds.append(BASIC_INTERVAL if together >= scan_pays_from(b) else INTERVAL)
        else:
            kinds.append(choose_kind(component, b, together))
    return tuple(kinds)


def _together(requests: Sequence[Request]) -> float:
    """How many of the readers are refreshed in one run, on average over the runs of the most frequent."""
    shortest = min(request.slide for request in requests)
    return sum(shortest / request.slide for request in requests)


def _forced(readers: Sequence[tuple[Query, Request]]) -> dict[Component, Query]:
    """The query that decides the kind of each component; two that disagree are an error of the user's."""
    forced: dict[Component, Query] = {}
    for query, request in readers:
        if query.synopsis is None:
            continue
        for component in request.components:
            other = forced.setdefault(component, query)
            if other.synopsis != query.synopsis:
                message = f"asks for a {query.synopsis} synopsis where {other.name} asks for {other.synopsis}"
                hint = "they share it: ask for the same kind, or leave the choice of one to the planner"
                raise InputError((Problem(query.place or "synopsis", query.name, message, hint),))
    return forced
