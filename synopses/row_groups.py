"""The groups of an outer level: rows of an inner answer grouped and aggregated once, with nothing to remember.

The algebra is the synopses' own (components and counters); only the group numbers are found afresh each time, so no
dictionary is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.evaluate import evaluate
from queries.model import AggregateCall, Call, Ref, Scalar, Select, Value
from synopses.aggregates import AGGREGATES, Counters
from synopses.aggregates.lowering import States
from synopses.carriers import Array, to_numpy
from synopses.preaggregate import INTERVAL, Preaggregation, part_name, preaggregate
from synopses.requirements import components_of
from synopses.selection import values_at_but_for
from synopses.window_read import Groups, ItemsRead, WindowRead, sort_keys


class RowGroups:
    """Groups 0..size−1 of the rows of ``inner``; without keys there is always the one group."""

    def __init__(self, select: Select, inner: pa.Table) -> None:
        self._select = select
        self._inner = {name: _flat(inner[name]) for name in inner.column_names}
        self._rows = inner.num_rows
        if select.where is not None:
            kept = inner.filter(self._value(select.where))
            self._inner = {name: _flat(kept[name]) for name in kept.column_names}
            self._rows = kept.num_rows
        self._keys = [self._value(key) for key in select.keys]
        self._groups, self._first = _numbered(self._keys, self._rows)
        self._counted: dict[Value, Counters] = {}

    @property
    def size(self) -> int:
        return len(self._first) if self._keys else 1

    def keys(self, rows: Array | None = None) -> list[pa.Array]:
        places = pa.array(self._first if rows is None else self._first[rows])
        return [key.take(places) for key in self._keys]

    def aggregate(self, call: AggregateCall) -> pa.Array:
        aggregate = AGGREGATES[call.function]
        if not aggregate.by_counters:
            return aggregate.lower(call, self._states)
        assert call.argument is not None
        if call.argument not in self._counted:
            self._counted[call.argument] = self._counters(call.argument)
        return aggregate.lower_counters(call, self._counted[call.argument])

    def items(self, call: AggregateCall) -> ItemsRead:
        """The rows of an aggregate that answers with items; top-k lists are kept of streams only."""
        return ItemsRead(AGGREGATES[call.function].lower_items(call, self._states, {}))

    @cached_property
    def _states(self) -> States:
        """Rows are pre-aggregated like records whose interval is their group."""
        components = components_of(self._select.aggregates)
        if not self._rows:
            return {component: component.identity(self.size) for component in components}
        need = Preaggregation(None, (), components)
        columns = {value: f"v{number}" for number, value in enumerate(need.values)}
        data = {INTERVAL: pa.array(self._groups)} | {name: self._value(value) for value, name in columns.items()}
        table = preaggregate(pa.table(data), columns, need).sort_by(INTERVAL)
        parts = {name: table[name].combine_chunks() for name in table.column_names}
        return {
            component: component.load([parts[part_name(number, part)] for part in range(component.parts)])
            for number, component in enumerate(components)
        }

    def _counters(self, argument: Value) -> Counters:
        values, groups = self._value(argument), self._groups
        if values.null_count:
            groups = groups[values.is_valid().to_numpy(zero_copy_only=False)]
            values = values.drop_null()
        carried, _ = to_numpy(values, argument.type)
        places = self._places(argument, len(carried))
        if self.size == 1 and carried.dtype != object and places is not None:
            return _at_places(carried, len(carried), places, argument)
        if self.size == 1 and carried.dtype != object:
            carried = np.sort(carried)
        else:
            order = np.lexsort((sort_keys(values, argument.type), groups))
            carried, groups = carried[order], groups[order]
        return _run_lengths(carried, groups, self.size, argument)

    def _places(self, argument: Value, count: int) -> Array | None:
        return looked_at(self._select, argument, count)

    def _value(self, value: Value) -> pa.Array:
        if isinstance(value, Scalar):
            raise TypeError(f"a record-level expression above an aggregate: {value.sql}")
        return evaluate(value, self._inner, self._rows)


def _numbered(keys: list[pa.Array], rows: int) -> tuple[Array, Array]:
    """A group number for each row, and one row of each group."""
    groups: Array = np.zeros(rows, dtype=np.int64)
    first: Array = np.zeros(min(rows, 1), dtype=np.int64)
    for key in keys:
        if pa.types.is_floating(key.type):
            key = pc.add(key, 0.0)
        encoded = key.dictionary_encode(null_encoding="encode")
        pairs = groups * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy(zero_copy_only=False)
        _, first, groups = np.unique(pairs, return_index=True, return_inverse=True)
    return groups, first


def _flat(column: pa.ChunkedArray) -> pa.Array:
    """Without the copy that combining a single chunk would make."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class RankedGroups:
    """The one group of an outer level without keys whose aggregates look at a few places of the sorted sums of a
    window's groups: found where the sums lie, without a row for each group.
    """

    size = 1

    def __init__(self, select: Select, read: WindowRead, sums: Mapping[Value, Array]) -> None:
        self._select, self._read, self._sums = select, read, sums

    @staticmethod
    def of(select: Select, groups: Groups) -> RankedGroups | None:
        """None if the level asks for anything else."""
        inner = select.source
        if not isinstance(inner, Select) or not isinstance(groups, WindowRead) or not _all_rows(inner):
            return None
        if select.keys or select.where is not None or not select.aggregates:
            return None
        sums: dict[Value, Array] = {}
        for call in select.aggregates:
            if not AGGREGATES[call.function].by_counters or call.argument is None:
                return None
            inner_call = _aggregate_at(inner, call.argument)
            found = None if inner_call is None else groups.sums(inner_call)
            if found is None or looked_at(select, call.argument, groups.size) is None:
                return None
            sums[call.argument] = found
        return RankedGroups(select, groups, sums)

    def keys(self, rows: Array | None = None) -> list[pa.Array]:
        return []

    def aggregate(self, call: AggregateCall) -> pa.Array:
        assert call.argument is not None
        places = looked_at(self._select, call.argument, self._read.size)
        assert places is not None
        counters = _at_places(self._sums[call.argument], self._read.size, places, call.argument)
        return AGGREGATES[call.function].lower_counters(call, counters)


def _all_rows(select: Select) -> bool:
    """Whether a level has one row for each group of a window."""
    return not isinstance(select.source, Select) and select.having is None and select.limit is None


def _aggregate_at(select: Select, value: Value) -> AggregateCall | None:
    """The aggregate that a column of a level is, and nothing more."""
    output = next((o.value for o in select.outputs if isinstance(value, Ref) and o.name == value.name), None)
    is_aggregate = isinstance(output, Ref) and output.name[0] == "a"
    return select.aggregates[int(output.name[1:])] if is_aggregate and isinstance(output, Ref) else None


def looked_at(select: Select, argument: Value, count: int) -> Array | None:
    """The places of the ``count`` sorted values that somebody looks at, where that is few: no need to sort the rest."""
    wanted: list[Array] = []
    for call in select.aggregates:
        if AGGREGATES[call.function].by_counters and call.argument == argument:
            places = AGGREGATES[call.function].places(call, np.array([count]))
            if places is None:
                return None
            wanted.extend(places)
    return np.unique(np.concatenate(wanted))


def _at_places(values: Array, count: int, places: Array, argument: Value) -> Counters:
    """Counters of one group of ``count`` values that are right at these places of the sorted values, and say nothing of
    the others: the value at a place stands for all between it and the place before. Among ``values`` there may be
    zeros too many."""
    if not count:
        return Counters(np.zeros(0, dtype=np.int64), values[:0], np.zeros(0, dtype=np.int64), 1, argument.type)
    chosen = values_at_but_for(values, len(values) - count, places)
    ends = places + 1
    ends[-1] = count
    return Counters(np.zeros(len(places), dtype=np.int64), chosen, np.diff(ends, prepend=0), 1, argument.type)


def _run_lengths(values: Array, groups: Array, size: int, argument: Value) -> Counters:
    """Sorted values with repetitions to distinct values with counts."""
    if not len(values):
        return Counters(groups, values, np.zeros(0, dtype=np.int64), size, argument.type)
    differs = values[1:] != values[:-1]
    if values.dtype == np.float64:
        differs &= ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    starts = np.flatnonzero(np.r_[True, differs | (groups[1:] != groups[:-1])])
    counts = np.diff(np.r_[starts, len(values)])
    return Counters(groups[starts], values[starts], counts, size, argument.type)


def inner_columns(select: Select) -> frozenset[str]:
    """The columns of the inner answer that an outer level looks at."""
    arguments = [call.argument for call in select.aggregates]
    found: set[str] = set()
    stack = [value for value in (select.where, *select.keys, *arguments) if value is not None]
    while stack:
        value = stack.pop()
        if isinstance(value, Ref):
            found.add(value.name)
        elif isinstance(value, Call):
            stack.extend(value.args)
    return frozenset(found)
