"""What one window of one grouping says: merged states and counters, lowered to columns when a query asks.

Queries refreshed together over the same window share one ``WindowRead``, so states are lowered and counters sorted
once, whatever the number of queries (rules CS1 and CS3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.model import AggregateCall, Value
from queries.types import Type
from synopses.aggregates import AGGREGATES, Counters
from synopses.aggregates.items import ItemRows, Lists
from synopses.algebra import Component, State
from synopses.carriers import Array, to_numpy
from synopses.keys import KeyNode
from synopses.merged import Merged


class Groups(Protocol):
    """The rows an answer is made of: groups 0..size−1 with their keys and aggregates."""

    @property
    def size(self) -> int: ...

    def aggregate(self, call: AggregateCall) -> pa.Array: ...

    def keys(self, rows: Array | None = None) -> list[pa.Array]: ...


@dataclass(frozen=True)
class CounterRead:
    """Merged counters of one argument: codes of the node keys + argument, and how often each occurred (NULL too)."""

    node: KeyNode
    codes: Array
    counts: Array


@dataclass
class WindowRead:
    """Groups 0..size−1 of one window, in ascending code order."""

    node: KeyNode
    codes: Array
    states: Mapping[Component, State]
    counters: Mapping[Value, CounterRead]
    lists: Lists = field(default_factory=dict)
    _lowered: dict[AggregateCall, pa.Array] = field(default_factory=dict)
    _sorted: dict[Value, Counters] = field(default_factory=dict)

    @staticmethod
    def of(
        node: KeyNode,
        components: tuple[Component, ...],
        merged: Merged,
        counters: Mapping[Value, CounterRead],
        lists: Lists | None = None,
    ) -> WindowRead:
        """A query without GROUP BY has its one group also when nothing was seen (semantics.md 2)."""
        codes, states = merged.codes, merged.states
        if node.parent is None and not len(codes):
            codes, states = np.zeros(1, dtype=np.int64), tuple(component.identity(1) for component in components)
        return WindowRead(node, codes, dict(zip(components, states, strict=True)), counters, lists or {})

    @property
    def size(self) -> int:
        return len(self.codes)

    def aggregate(self, call: AggregateCall) -> pa.Array:
        """The answer column of one aggregate, one value per group."""
        column = self._lowered.get(call)
        if column is None:
            aggregate = AGGREGATES[call.function]
            if aggregate.by_counters:
                assert call.argument is not None
                column = aggregate.lower_counters(call, self._counters(call.argument))
            else:
                column = aggregate.lower(call, self.states)
            self._lowered[call] = column
        return column

    def items(self, call: AggregateCall) -> ItemsRead:
        """The rows of an aggregate that answers with items."""
        return ItemsRead(AGGREGATES[call.function].lower_items(call, self.states, self.lists))

    def keys(self, rows: Array | None = None) -> list[pa.Array]:
        """The key columns of these rows (all if None)."""
        return self.node.decode(self.codes if rows is None else self.codes[rows])

    def _counters(self, argument: Value) -> Counters:
        counters = self._sorted.get(argument)
        if counters is None:
            read = self.counters[argument]
            values = read.node.last(read.codes)
            codes, counts = read.codes, read.counts
            if values.null_count:
                there = values.is_valid().to_numpy(zero_copy_only=False)
                values, codes, counts = values.drop_null(), codes[there], counts[there]
            groups = np.searchsorted(self.codes, read.node.parents(codes))
            order = np.lexsort((sort_keys(values, argument.type), groups))
            carried = to_numpy(values, argument.type)[0]
            counters = Counters(groups[order], carried[order], counts[order], self.size, argument.type)
            self._sorted[argument] = counters
        return counters


@dataclass(frozen=True)
class ItemsRead:
    """Rows 0..size−1 are the items of the one group of a query that asks for the heaviest."""

    rows: ItemRows

    @property
    def size(self) -> int:
        return len(self.rows.item)

    def aggregate(self, call: AggregateCall) -> pa.Array:
        return self.rows.column(call.part)

    def keys(self, rows: Array | None = None) -> list[pa.Array]:
        return []


def sort_keys(values: pa.Array, type_: Type) -> Array:
    """Numbers that order like the values (strings by their UTF-8 bytes, NaN last)."""
    if type_ is not Type.STRING:
        return to_numpy(values, type_)[0]
    ranks: Array = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False)
    return ranks
