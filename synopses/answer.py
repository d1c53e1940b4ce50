"""From a window's groups to the rows of an answer: HAVING, ORDER BY, LIMIT, output columns, outer levels.

Keys are decoded for the surviving rows only: a top 10 of 200,000 groups turns 10 codes back into strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.evaluate import evaluate
from queries.model import Literal, Order, Select, Value
from synopses.aggregates import AGGREGATES
from synopses.carriers import Array
from synopses.ranked import RankedGroups
from synopses.row_groups import RowGroups, inner_columns
from synopses.window_read import Groups, WindowRead

_PRUNE_FROM = 64
"""Below so many groups a full sort is cheaper than finding the k-th value first."""
_CHUNKS = 512
_WORTH_A_SLICE = 1 << 13
"""Values that are looked at in the time that looking at a slice takes by itself."""


def answer(select: Select, read: Groups) -> pa.Table:
    """The rows of ``select``, whose innermost level's groups are ``read``; in rank order if it is ordered.

    The table owns its memory: a probe's states are views that its next window overwrites. Rows that were chosen or
    aggregated anew are copies already.
    """
    table = _answer(select, read)
    if isinstance(select.source, Select) or select.order or select.having is not None:
        return table
    return table.take(pa.array(np.arange(table.num_rows)))


def _answer(select: Select, groups: Groups, wanted: frozenset[str] | None = None) -> pa.Table:
    """``wanted`` names the output columns that are looked at; None: all."""
    if isinstance(select.source, Select):
        ranked = RankedGroups.of(select, groups)
        groups = ranked or RowGroups(select, _answer(select.source, groups, inner_columns(select)))
    read = _leading(select, _rows_read(select, groups))
    columns = _Columns(select, read)
    if select.having is not None:
        mask = pc.fill_null(evaluate(select.having, columns, read.size), False)
        columns = columns.only(np.flatnonzero(mask.to_numpy(zero_copy_only=False)))
    if select.order:
        columns = _ordered(select, columns)
    size = columns.size
    outputs = [output for output in select.outputs if wanted is None or output.name in wanted]
    if not outputs:
        return pa.table({"": pa.nulls(size)})
    return pa.table({output.name: evaluate(output.value, columns, size) for output in outputs})


def _rows_read(select: Select, groups: Groups) -> Groups:
    """What the rows of the answer are: the groups, or the items of a query that asks for the heaviest."""
    for call in select.aggregates:
        if AGGREGATES[call.function].by_items:
            assert isinstance(groups, WindowRead | RowGroups)
            return groups.items(call)
    return groups


def _leading(select: Select, read: Groups) -> Groups:
    """The groups that can be among the first of an order by a sum, where they are found without looking at keys."""
    if select.limit is None or not select.order or select.having is not None or not isinstance(read, WindowRead):
        return read
    call = select.aggregate_at(select.order[0].value)
    sums = None if call is None or not select.order[0].descending or not select.limit else read.sums(call)
    if sums is None or len(sums) < max(_PRUNE_FROM, 2 * select.limit):
        return read
    bound, rows = _reaching_kth(sums, select.limit, descending=True)
    return read.only(rows) if bound > 0 else read


class _Columns(Mapping[str, pa.Array]):
    """``k0…`` and ``a0…`` of some rows, computed when an expression asks for them: keys of all these rows at once."""

    def __init__(self, select: Select, read: Groups) -> None:
        self._select, self._read = select, read
        self._rows: Array | None = None
        self._keys: list[pa.Array] | None = None
        self.size = read.size

    def only(self, rows: Array) -> _Columns:
        """Some of these rows, in another order. What is known of these columns is known of theirs."""
        some = _Columns(self._select, self._read)
        some._rows = rows if self._rows is None else self._rows[rows]
        if self._keys is not None:
            some._keys = [column.take(pa.array(rows)) for column in self._keys]
        some.size = len(rows)
        return some

    def __getitem__(self, name: str) -> pa.Array:
        position = int(name[1:])
        if name[0] == "k":
            if self._keys is None:
                self._keys = self._read.keys(self._rows)
            return self._keys[position]
        column = self._read.aggregate(self._select.aggregates[position])
        return column if self._rows is None else column.take(pa.array(self._rows))

    def __iter__(self) -> Iterator[str]:
        yield from (f"k{i}" for i in range(len(self._select.keys)))
        yield from (f"a{i}" for i in range(len(self._select.aggregates)))

    def __len__(self) -> int:
        return len(self._select.keys) + len(self._select.aggregates)


def _ordered(select: Select, columns: _Columns) -> _Columns:
    """The rows in the order asked for; ties by the group keys, ascending (semantics.md 2)."""
    first = select.order[0]
    if select.limit is not None and columns.size >= max(_PRUNE_FROM, 2 * select.limit):
        values = evaluate(first.value, columns, columns.size)
        kept = _at_least_kth(values, first.descending, select.limit)
        if kept is not None:
            columns = columns.only(kept)
    terms = [(evaluate(term.value, columns, columns.size), term) for term in select.order]
    order = _sort_indices(terms)
    if not _decided(terms, order, select.limit):
        by_key = [(columns[f"k{i}"], _key_order(value)) for i, value in enumerate(select.keys)]
        order = _sort_indices(terms + by_key)
    return columns.only(order[: select.limit])


def _decided(terms: list[tuple[pa.Array, Order]], order: Array, limit: int | None) -> bool:
    """Whether no two of the rows asked for, nor the last and the next, are equal, so that keys need not be looked at.
    Told of integers only, and where few are asked for."""
    values = terms[0][0]
    if limit is None or not pa.types.is_signed_integer(values.type) or values.null_count:
        return False
    first = values.to_numpy(zero_copy_only=False)[order[: limit + 1]]
    return bool((first[1:] != first[:-1]).all())


def _key_order(value: Value) -> Order:
    """Ascending, NULLs first; the expression is not looked at, the key's column is at hand."""
    return Order(Literal(None, value.type), descending=False, nulls_first=True)


def _at_least_kth(values: pa.Array, descending: bool, k: int) -> Array | None:
    """Rows that can be among the first k (ties with the k-th included), or None where that is not cheap to tell."""
    if values.null_count or not (pa.types.is_int64(values.type) or pa.types.is_float64(values.type)):
        return None
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.float64 and np.isnan(numbers).any():
        return None
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    return _reaching_kth(numbers, k, descending)[1]


def _reaching_kth(numbers: Array, k: int, descending: bool) -> tuple[Any, Array]:
    """A bound that at least the first k values reach, the k-th best of the best values of many chunks, and the rows
    that reach it, ascending.

    The bound is rarely worse than the k-th value itself, and many times cheaper to find; and few chunks have rows that
    reach it.
    """
    chunks = min(len(numbers), max(_CHUNKS, 4 * k))
    starts = np.arange(chunks) * len(numbers) // chunks
    best = (np.maximum if descending else np.minimum).reduceat(numbers, starts)
    place = chunks - k if descending else k - 1
    bound = np.partition(best, place)[place]
    reaches = np.greater_equal if descending else np.less_equal
    some = np.flatnonzero(reaches(best, bound))
    if len(some) * _WORTH_A_SLICE > len(numbers):
        return bound, np.flatnonzero(reaches(numbers, bound))
    slices = zip(starts[some].tolist(), np.append(starts[1:], len(numbers))[some].tolist(), strict=True)
    return bound, np.concatenate([start + np.flatnonzero(reaches(numbers[start:end], bound)) for start, end in slices])


def _sort_indices(terms: list[tuple[pa.Array, Order]]) -> Array:
    """NULLs where the order says, NaN as the greatest value."""
    if all(pa.types.is_signed_integer(values.type) and not values.null_count for values, _ in terms):
        numbers = [(values.to_numpy(zero_copy_only=False), order.descending) for values, order in terms]
        order: Array = np.lexsort([~number if descending else number for number, descending in reversed(numbers)])
        return order
    table: dict[str, pa.Array] = {}
    keys: list[tuple[str, str]] = []
    for number, (values, term) in enumerate(terms):
        direction = "descending" if term.descending else "ascending"
        if values.null_count:
            table[f"null{number}"] = values.is_null().cast(pa.int8())
            keys.append((f"null{number}", "descending" if term.nulls_first else "ascending"))
        if pa.types.is_floating(values.type):
            table[f"nan{number}"] = pc.fill_null(pc.is_nan(values), False).cast(pa.int8())
            keys.append((f"nan{number}", direction))
        table[f"value{number}"] = values
        keys.append((f"value{number}", direction))
    indices: Array = pc.sort_indices(pa.table(table), sort_keys=keys).to_numpy()
    return indices
