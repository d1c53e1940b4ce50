"""APPROX_TOP_K(x, k [, precision]): the items the frequent-items sketch still knows, with their bounds.

Ordering and cutting at k is the query's ORDER BY and LIMIT, which the language adds.
"""

from __future__ import annotations

import datasketches
import pyarrow as pa

from queries.model import AggregateCall
from synopses.aggregates.items import ItemRows, Lists
from synopses.aggregates.lowering import FromItems, States
from synopses.algebra import Component
from synopses.sketches.frequent_items import DEFAULT_LG_SIZE, FrequentItemsSketch, lg_size_for

_PLACES_PER_ROW = 4
"""A sketch for k rows has at least so many places for each."""


class _ApproxTopK(FromItems):
    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        return (self._component(call),)

    def _component(self, call: AggregateCall) -> FrequentItemsSketch:
        assert call.argument is not None
        k, *precision = call.parameters
        wanted = lg_size_for(precision[0]) if precision else DEFAULT_LG_SIZE
        return FrequentItemsSketch(call.argument, max(wanted, lg_size_for(_PLACES_PER_ROW * k)))

    def lower_items(self, call: AggregateCall, states: States, lists: Lists) -> ItemRows:
        """The items of the one group there is."""
        component = self._component(call)
        (sketch,) = states[component][0]
        kind = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES
        found = [] if sketch is None else sketch.get_frequent_items(kind)
        texts, *counts = zip(*found, strict=True) if found else ((), (), (), ())
        count, low, high = (pa.array(column, type=pa.int64()) for column in counts)
        return ItemRows(component.items(texts), count, low, high)


APPROX_TOP_K = _ApproxTopK()
