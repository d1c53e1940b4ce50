"""One-time queries: which synopses of a plan hold the answer, or what would have to be kept for it."""

from __future__ import annotations

from collections.abc import Iterator

from queries.durations import format_duration
from queries.errors import RunError
from queries.model import Query
from sharing.cost import Cost
from sharing.kept import KeptSynopsis
from sharing.plan import Part, QueryPlan, StreamPlan
from sharing.reading import Reading
from sharing.request import Request, requests_of
from sharing.rules import RULES, Offer
from sharing.shelf import Shelf
from sharing.wording import component_text, grouping_text

ONE_TIME = "one-time"
"""Stands for the task of a query that is in none."""


class Unanswerable(RunError):
    """No synopsis holds the answer; the hint says what would."""


def matching(plan: StreamPlan, query: Query) -> QueryPlan:
    """How the query is answered from the plan's synopses as they are, by the rules of sharing; else ``Unanswerable``.

    Its slide does not matter: it is asked once.
    """
    s = plan.stream.interval
    if query.window % s:
        raise Unanswerable(
            f"the window of {format_duration(query.window)} is not made of whole intervals of {format_duration(s)}",
            hint=f"stream {plan.stream.name} is kept in intervals of {format_duration(s)}: ask for a multiple of it",
        )
    requests = requests_of(query, plan.stream)
    try:
        parts = tuple(Part(request, _reading(plan, request, resident=False)) for request in requests)
    except Unanswerable:
        if not any(kept.need.resident for kept in plan.kept):
            raise
        parts = tuple(Part(request, _reading(plan, request, resident=True)) for request in requests)
    primary = plan.synopsis(parts[0].reading.primary)
    return QueryPlan(query, primary.name, parts)


def _reading(plan: StreamPlan, request: Request, resident: bool) -> Reading:
    placed = (kept for kept in plan.kept if kept.need.resident is resident)
    shelf = Shelf(kept for kept in placed if not any(_shortcomings(plan, kept, request)))
    cost = Cost(plan.statistics)
    offers = [offer for rule in RULES if isinstance(offer := rule.offer(request, shelf, cost), Offer)]
    best = min(offers, key=lambda offer: offer.cost, default=None)
    if best is None:
        raise _unanswerable(plan, request)
    return best.reading


def _shortcomings(plan: StreamPlan, kept: KeptSynopsis, request: Request) -> Iterator[str]:
    s = plan.stream.interval
    if kept.b < request.window:
        yield f"reaches back {format_duration(kept.b * s)} only"
    lacking = [component for component in request.components if component not in kept.need.components]
    if lacking:
        yield f"does not keep {', '.join(component_text(component) for component in lacking)}"


def _unanswerable(plan: StreamPlan, request: Request) -> Unanswerable:
    """Names the nearest synopsis and what it lacks, or what a new one would have to hold."""
    stream, length = plan.stream.name, format_duration(request.window * plan.stream.interval)
    wanted = grouping_text(request.predicate, request.keys)
    kept_as = ", ".join(component_text(component) for component in request.components)
    near = Shelf(plan.kept).exact(request.predicate, request.keys, request.input.listed)
    message = f"no synopsis of stream {stream} holds {kept_as} {wanted} over {length}"
    if near is not None:
        message += f": {near.name} {' and '.join(_shortcomings(plan, near, request))}"
    return Unanswerable(
        message, hint=f"register a query {wanted} with {kept_as} over a window of at least {length}, then ask again"
    )
