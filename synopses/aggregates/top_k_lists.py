"""TOP_K_LISTS(x, k [, weight]): the items whose global counter exceeds δ (dissertation chapter 6, semantics.md 6).

A counter is a lower bound; the item's true weight exceeds it by at most the δi of the intervals whose list does not
name it.
"""

from __future__ import annotations

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.items import ItemRows, Lists
from synopses.aggregates.lowering import FromItems, States
from synopses.algebra import Component
from synopses.carriers import to_arrow
from synopses.topk_lists import ListedItems


def listed_items_of(call: AggregateCall) -> ListedItems:
    """The lists a TOP_K_LISTS call reads."""
    assert call.argument is not None
    return ListedItems(call.argument, int(call.parameters[0]), call.weight)


class _TopKLists(FromItems):
    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        return ()

    def lower_items(self, call: AggregateCall, states: States, lists: Lists) -> ItemRows:
        read = lists[listed_items_of(call)]
        integer = call.weight is None or call.weight.type.integer
        type_ = Type.BIGINT if integer else Type.DOUBLE
        high = read.counters + (read.delta - read.covered)
        counter = to_arrow(read.counters, type_)
        return ItemRows(
            read.node.last(read.codes), counter, counter, to_arrow(high, type_), to_arrow(read.delta, type_)
        )


TOP_K_LISTS = _TopKLists()
