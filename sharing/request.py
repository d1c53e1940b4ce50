"""What a query asks of the synopses: the states of its groups, and the counters of every counted argument."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from queries.model import Query, Stream, Value
from sharing.predicates import Predicate, normalize
from sharing.reading import Input
from sharing.wording import scalar_text
from synopses.aggregates import AGGREGATES
from synopses.algebra import Component
from synopses.components import Count, Rows, Total
from synopses.requirements import components_of, counted_arguments, listed_items
from synopses.topk_lists import ListedItems

GROUPS = "groups"
_REACH_IN_SPARK = 64
"""Intervals that restore may look back in Spark at the least: who falls behind answers so many window ends in one job
instead of one in each of so many."""


@dataclass(frozen=True)
class Request:
    """One grouping that a query reads.

    ``components`` are what the reading must bring, ``used`` those of which the values matter: Rows is always read,
    to know which groups exist, also by a query that does not count them. Lengths are in intervals; ``reach`` is how
    far beyond the window restore may need to look back.
    """

    where: Value | None
    predicate: Predicate
    keys: tuple[Value, ...]
    components: tuple[Component, ...]
    used: tuple[Component, ...]
    window: int
    slide: int
    reach: int = 0
    counted: Value | None = None
    listed: ListedItems | None = None
    resident: bool = False

    @property
    def length(self) -> int:
        """How many intervals must be kept."""
        return self.window + self.reach

    @property
    def input(self) -> Input:
        """The synopsis that would be its own."""
        return Input(self.where, self.keys, None if self.listed is None else self.components[0], self.resident)

    @cached_property
    def duplicate_insensitive(self) -> bool:
        """Whether a record merged twice does no harm to any value that matters."""
        return bool(self.used) and all(component.capabilities.duplicate_insensitive for component in self.used)

    @cached_property
    def inexact(self) -> Component | None:
        """The first component that cannot be had as a difference. Doubles add up, but differences lose digits."""
        for component in self.used:
            whole = isinstance(component, Total) and component.argument.type.integer
            if not (whole or isinstance(component, (Rows, Count))):
                return component
        return None

    @property
    def what(self) -> str:
        """What it is to its query."""
        if self.counted is not None:
            return f"counters of {scalar_text(self.counted)}"
        return f"lists of {scalar_text(self.listed.item)}" if self.listed is not None else GROUPS


def requests_of(query: Query, stream: Stream, restore_reach: int = 0) -> tuple[Request, ...]:
    """The query's groups first, then for each counted argument x the grouping keys + x, then its top-k lists."""
    leaf = query.select.leaf
    s = stream.interval
    window, slide = query.window // s, query.slide // s
    least = _REACH_IN_SPARK if query.resident else slide
    reach = max(slide, least, restore_reach // s) if query.semantics == "restore" else 0
    predicate = normalize(getattr(leaf.where, "sql", None), stream.types)
    used = dict.fromkeys(part for call in leaf.aggregates for part in AGGREGATES[call.function].components(call))
    times = (window, slide, reach)
    components = components_of(leaf.aggregates)
    requests = [Request(leaf.where, predicate, leaf.keys, components, tuple(used) or (Rows(),), *times)]
    for argument in counted_arguments(leaf.aggregates):
        keys = (*leaf.keys, argument)
        requests.append(Request(leaf.where, predicate, keys, (Rows(),), (Rows(),), *times, counted=argument))
    for items in listed_items(leaf.aggregates):
        need = items.need(leaf.where)
        components = need.components
        requests.append(Request(leaf.where, predicate, need.keys, components, components, *times, listed=items))
    return tuple(replace(request, resident=True) for request in requests) if query.resident else tuple(requests)
