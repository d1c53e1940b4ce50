"""The groups of an outer level: rows of an inner answer grouped and aggregated once, with nothing to remember.

The algebra is the synopses' own (components and counters); only the group numbers are found afresh each time, so no
dictionary is kept.
"""

from __future__ import annotations

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
from synopses.ranked import lower_at_places
from synopses.requirements import components_of
from synopses.window_read import ItemsRead, sort_keys


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
        if self.size == 1 and aggregate.places(call, 1) is not None:
            values = to_numpy(self._value(call.argument).drop_null(), call.argument.type)[0]
            if len(values) and values.dtype != object:
                return lower_at_places(call, values)
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
        if self.size == 1 and carried.dtype != object:
            carried = np.sort(carried)
        else:
            order = np.lexsort((sort_keys(values, argument.type), groups))
            carried, groups = carried[order], groups[order]
        return _run_lengths(carried, groups, self.size, argument)

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
