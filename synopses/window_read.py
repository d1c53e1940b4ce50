"""What one window of one grouping says: merged states and counters, lowered to columns when a query asks.

Queries refreshed together over the same window share one ``WindowRead``, so states are lowered and counters sorted
once, whatever the number of queries (rules CS1 and CS3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from synopses.carriers import Array, to_arrow, to_numpy
from synopses.components import Rows
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


class MergedStates(Mapping[Component, State]):
    """The states of a window's groups by component, taken out when asked for."""

    def __init__(self, components: tuple[Component, ...], merged: Merged) -> None:
        self.components, self._merged = components, merged

    def number(self, component: Component) -> int:
        return self.components.index(component)

    def never_null(self, counts: Sequence[Component]) -> bool:
        """Whether these counts of values that are not NULL are known to be counts of all records."""
        rows = self.components.index(Rows()) if Rows() in self.components else -1
        return all(self._merged.same(self.number(count), rows) for count in counts)

    def __getitem__(self, component: Component) -> State:
        return self._merged.state(self.number(component))

    def __iter__(self) -> Iterator[Component]:
        return iter(self.components)

    def __len__(self) -> int:
        return len(self.components)


@dataclass
class WindowRead:
    """Groups 0..size−1 of one window, in ascending code order."""

    node: KeyNode
    merged: Merged
    states: MergedStates
    counters: Mapping[Value, CounterRead]
    lists: Lists = field(default_factory=dict)
    all_groups: bool = True
    """Whether these are all groups that ``counters`` count for."""
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
        if node.parent is None and not merged.size:
            merged = Merged(np.zeros(1, dtype=np.int64), [component.identity(1) for component in components])
        return WindowRead(node, merged, MergedStates(components, merged), counters, lists or {})

    @property
    def size(self) -> int:
        return self.merged.size

    @property
    def codes(self) -> Array:
        return self.merged.codes

    def sums(self, call: AggregateCall) -> Array | None:
        """An aggregate that is a sum of integers at every place of ``merged``, zero where there is no group. None if it
        is something else, or NULL in some group."""
        aggregate = AGGREGATES[call.function]
        if not aggregate.is_sum or not self.states.never_null(aggregate.components(call)[1:]):
            return None
        sums = self.merged.at_all_places(self.states.number(aggregate.components(call)[0]))
        return sums if sums.dtype.kind == "i" else None

    def only(self, places: Array) -> WindowRead:
        """The groups at these places of ``merged`` alone."""
        merged = self.merged.only(places)
        states = MergedStates(self.states.components, merged)
        return WindowRead(self.node, merged, states, self.counters, self.lists, all_groups=False)

    def aggregate(self, call: AggregateCall) -> pa.Array:
        """The answer column of one aggregate, one value per group."""
        column = self._lowered.get(call)
        if column is None:
            aggregate = AGGREGATES[call.function]
            if aggregate.by_counters:
                assert call.argument is not None
                column = aggregate.lower_counters(call, self._counters(call.argument))
            elif aggregate.is_sum and self.states.never_null(aggregate.components(call)[1:]):
                column = to_arrow(self.states[aggregate.components(call)[0]][0], call.type)
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
            parents = read.node.parents(codes)
            if not self.all_groups:
                ours = np.isin(parents, self.codes)
                values, codes, counts, parents = values.filter(ours), codes[ours], counts[ours], parents[ours]
            groups = np.searchsorted(self.codes, parents)
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
