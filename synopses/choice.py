"""Which kind of synopsis to keep: a function of what components declare, of b and of how many queries run together.

Semantics.md 3: running for what can be subtracted; else basic interval when at least b/log2(b) queries are refreshed
together (one scan answers them all), interval otherwise (each reads 2·log2(b) blocks of its own). A query may force a
kind; a pairing that cannot work is refused when the plan is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2

from queries.errors import InputError, Problem
from queries.model import AggregateCall
from synopses.aggregates import AGGREGATES
from synopses.algebra import Component
from synopses.basic_interval import BasicIntervalSynopsis
from synopses.interval import IntervalSynopsis
from synopses.running import RunningSynopsis
from synopses.synopsis import Synopsis
from synopses.topk_lists import Listed, TopKLists

RUNNING, INTERVAL, BASIC_INTERVAL, TOP_K_LISTS = "running", "interval", "basic_interval", "topk_lists"

KINDS: dict[str, Callable[[Sequence[Component], int], Synopsis]] = {
    RUNNING: RunningSynopsis,
    INTERVAL: IntervalSynopsis,
    BASIC_INTERVAL: BasicIntervalSynopsis,
    TOP_K_LISTS: TopKLists,
}
"""Every kind, and how one is made for components and b."""


class IllegalSynopsis(InputError):
    """A kind was asked for that cannot keep the aggregate. ``reason`` says which requirement fails."""

    def __init__(
        self, what: str, kind: str, reason: str, legal: Sequence[str], query: str | None = None, place: str = ""
    ) -> None:
        self.kind, self.reason, self.legal = kind, reason, tuple(legal)
        choices = [name for name in legal if name != TOP_K_LISTS]
        hint = f"use {' or '.join(choices)}, or leave out synopsis:" if choices else "leave out synopsis:"
        message = f"{what} cannot be kept in {_article(kind)} synopsis: {reason}"
        super().__init__((Problem(place or "synopsis", query, message, hint),))


def legal_kinds(component: Component) -> tuple[str, ...]:
    """The kinds that can keep a component, by its declared capabilities alone; lists are a kind of their own."""
    if isinstance(component, Listed):
        return (TOP_K_LISTS,)
    return (RUNNING, INTERVAL, BASIC_INTERVAL) if component.capabilities.subtractable else (INTERVAL, BASIC_INTERVAL)


def choose_kind(
    component: Component, b: int, together: float = 1, forced: str | None = None, query: str | None = None
) -> str:
    """The kind for one component over ``b`` intervals, ``together`` queries being refreshed jointly on average."""
    legal = legal_kinds(component)
    if forced is not None:
        if forced not in legal:
            raise IllegalSynopsis(_named(component), forced, _reason(forced), legal, query)
        return forced
    if legal == (TOP_K_LISTS,):
        return TOP_K_LISTS
    if component.capabilities.subtractable:
        return RUNNING
    return BASIC_INTERVAL if together >= scan_pays_from(b) else INTERVAL


def choose_kinds(
    components: Sequence[Component], b: int, together: float = 1, forced: str | None = None, query: str | None = None
) -> tuple[str, ...]:
    """``choose_kind`` of each; what a ``SynopsisSpec`` takes as ``kinds``."""
    return tuple(choose_kind(component, b, together, forced, query) for component in components)


def legal_kinds_of(call: AggregateCall) -> tuple[str, ...]:
    """The kinds a query may force for an aggregate. Frequency counters are never subtracted (semantics.md 2)."""
    aggregate = AGGREGATES[call.function]
    if aggregate.by_counters:
        return INTERVAL, BASIC_INTERVAL
    if call.function == "TOP_K_LISTS":
        return (TOP_K_LISTS,)
    kinds = [set(legal_kinds(component)) for component in aggregate.components(call)]
    return tuple(kind for kind in KINDS if kind != TOP_K_LISTS and all(kind in legal for legal in kinds))


def check_forced(calls: Sequence[AggregateCall], forced: str, query: str | None = None, place: str = "") -> None:
    """Raises ``IllegalSynopsis`` for the first aggregate that the forced kind cannot keep."""
    for call in calls:
        legal = legal_kinds_of(call)
        if forced not in legal:
            name = "COUNT(DISTINCT x)" if call.function == "COUNT_DISTINCT" else call.function
            raise IllegalSynopsis(name, forced, _reason(forced), legal, query, place)


def scan_pays_from(b: int) -> float:
    """How many queries refreshed together make one scan of b intervals cheaper than their own blocks: b/log2(b)."""
    return b / log2(b) if b > 1 else 1.0


def _reason(kind: str) -> str:
    if kind == RUNNING:
        return "it answers by subtracting prefixes, and this aggregate is not subtractable"
    if kind == TOP_K_LISTS:
        return "it keeps the heaviest items of each interval and nothing else"
    if kind in KINDS:
        return "it keeps an exact state per group, and this aggregate keeps lists"
    return f"there is no such kind (there are {', '.join(KINDS)})"


def _named(component: Component) -> str:
    name = {"Greatest": "MAX", "Least": "MIN", "Moments": "VARIANCE"}.get(type(component).__name__)
    return name or type(component).__name__


def _article(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"
