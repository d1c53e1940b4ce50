"""What a level's aggregates need kept: components, counters, top-k lists. Each once, however many calls ask."""

from __future__ import annotations

from queries.model import AggregateCall, Value
from synopses.aggregates import AGGREGATES
from synopses.aggregates.top_k_lists import listed_items_of
from synopses.algebra import Component
from synopses.components import Rows
from synopses.topk_lists import ListedItems


def components_of(aggregates: tuple[AggregateCall, ...]) -> tuple[Component, ...]:
    """The components a grouping keeps for these aggregates, each once; Rows always, to know which groups exist."""
    wanted: list[Component] = [Rows()]
    for call in aggregates:
        wanted.extend(AGGREGATES[call.function].components(call))
    return tuple(dict.fromkeys(wanted))


def counted_arguments(aggregates: tuple[AggregateCall, ...]) -> tuple[Value, ...]:
    """The arguments whose frequency counters these aggregates read, each once."""
    return tuple(
        dict.fromkeys(
            call.argument for call in aggregates if AGGREGATES[call.function].by_counters and call.argument is not None
        )
    )


def listed_items(aggregates: tuple[AggregateCall, ...]) -> tuple[ListedItems, ...]:
    """The top-k lists these aggregates read, each once."""
    return tuple(dict.fromkeys(listed_items_of(call) for call in aggregates if call.function == "TOP_K_LISTS"))
