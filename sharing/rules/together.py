"""Computation rules: what queries that are refreshed together do once instead of each for itself (dissertation 8.3).

Each rule is a function of two queries' plans: a sentence if it applies to them, None otherwise. They follow from the
plan; ``scheduler.execution`` carries them out.
"""

from __future__ import annotations

from collections.abc import Callable

from sharing.plan import StreamPlan
from sharing.query_plan import Part, QueryPlan
from sharing.reading import Input
from sharing.rules.averages import SS2, shared_averages
from sharing.wording import scalar_text
from synopses.choice import BASIC_INTERVAL

ComputationRule = Callable[[StreamPlan, QueryPlan, QueryPlan], str | None]


def cs1(plan: StreamPlan, one: QueryPlan, other: QueryPlan) -> str | None:
    """Queries on one running or interval synopsis run together if their windows are equal.

    COUNT(DISTINCT dst) and the median of dst over 5 min post-process the same merged counters; over 5 and 10 min
    they do not.
    """
    if one.window == other.window and _same_kind(plan, one, other, scanned=False):
        return "equal windows: states are merged once for both"
    return None


def cs2(plan: StreamPlan, one: QueryPlan, other: QueryPlan) -> str | None:
    """All queries on one basic interval synopsis run together: one scan meets every window on its way."""
    if _same_kind(plan, one, other, scanned=True):
        return "one scan of the basic intervals answers both windows"
    return None


def ss2_cs3(plan: StreamPlan, one: QueryPlan, other: QueryPlan) -> str | None:
    """AVG divides the SUM and COUNT that others keep (SS2); over the same window they are merged once (CS3)."""
    if one.base.primary != other.base.primary:
        return None
    arguments = shared_averages(one.query, other.query)
    if not arguments:
        return None
    once = ", merged once" if one.window == other.window else ""
    return f"AVG({scalar_text(arguments[0])}) is had from the SUM and COUNT kept for both{once}"


def cs6_cs7(plan: StreamPlan, one: QueryPlan, other: QueryPlan) -> str | None:
    """A query answered from the synopses of other predicates runs after their windows are merged, in one execution."""
    for late, early in ((one, other), (other, one)):
        combined = len(late.base.terms) > 1 and early.base.primary in {term.source for term in late.base.terms}
        if combined and early.window == late.window and early.base.direct:
            return f"{late.query.name} is put together from what was merged for {early.query.name}"
    return None


def cs8(plan: StreamPlan, one: QueryPlan, other: QueryPlan) -> str | None:
    """A query identical but for a longer slide takes the other's answers (``sharing.rules.same_output``)."""
    if one.answered_as == other.answered_as:
        return f"identical but for the slide: both take the answers of {one.answered_as}"
    return None


COMPUTATION_RULES: tuple[tuple[str, ComputationRule], ...] = (
    ("CS1", cs1),
    ("CS2", cs2),
    (f"{SS2}/CS3", ss2_cs3),
    # CS4 and CS5, the same over window joins, belong here.
    ("CS6/CS7", cs6_cs7),
    ("CS8", cs8),
)


def _same_kind(plan: StreamPlan, one: QueryPlan, other: QueryPlan, *, scanned: bool) -> bool:
    """Whether both read a synopsis of which both use components that are (not) kept as basic intervals."""
    for source in one.sources:
        if source in other.sources:
            kept = plan.synopsis(source)
            used = [
                {part for each in query.parts for part in each.request.components if source in _sources(each)}
                for query in (one, other)
            ]
            both = used[0] & used[1]
            kinds = zip(kept.need.components, kept.kinds, strict=True)
            if any((kind == BASIC_INTERVAL) is scanned for component, kind in kinds if component in both):
                return True
    return False


def _sources(part: Part) -> set[Input]:
    return {term.source for term in part.reading.terms}
