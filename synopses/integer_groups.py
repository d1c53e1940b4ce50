"""Hash aggregation without hashing, for keys that are integers: the keys of a row make one integer, its *place*.

Where there are few places against rows, a table has an entry for each; where there are many, rows are sorted by
place. Either takes about half the time of Arrow's hash aggregation and gives the same, the groups
in ascending order of their keys. What neither can do (other keys, floats, text, moments) is left to Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synopses.algebra import Reduction
from synopses.carriers import INT64, Array, magnitude

_TABLE = 8
"""Places per row up to which a table of them is faster than sorting."""
_EXACT = 1 << 53
"""Sums of integers below are exact in float64, which numpy adds up fastest."""


class _Groups(Protocol):
    """Rows by group; ``places`` has the groups' places, ascending, ``counts`` how many rows they have."""

    places: Array
    counts: Array

    def reduced(self, ufunc: np.ufunc, values: Array) -> Array:
        """The values of each group's rows under ``ufunc``, in their own type."""
        ...


class _Tabled:
    """One entry for every place there could be."""

    def __init__(self, of_rows: Array, places: int) -> None:
        self._of_rows, self._size = of_rows, places
        counts = np.bincount(of_rows, minlength=places)
        self.places = np.flatnonzero(counts)
        self.counts = counts[self.places]

    def reduced(self, ufunc: np.ufunc, values: Array) -> Array:
        if ufunc is np.add and magnitude(values) * len(values) < _EXACT:
            sums = np.bincount(self._of_rows, values, self._size)
            return sums[self.places].astype(values.dtype)
        neutral: dict[Any, int] = {
            np.add: 0,
            np.minimum: np.iinfo(values.dtype).max,
            np.maximum: np.iinfo(values.dtype).min,
        }
        merged = np.full(self._size, neutral[ufunc], dtype=values.dtype)
        ufunc.at(merged, self._of_rows, values)
        return merged[self.places]


class _Sorted:
    """The rows in the order of their places. Place and row number are sorted as one integer."""

    def __init__(self, of_rows: Array, row_bits: int) -> None:
        together = np.left_shift(of_rows, row_bits, out=of_rows)
        together |= np.arange(len(of_rows))
        together.sort()
        self._order = together & ((1 << row_bits) - 1)
        ordered = np.right_shift(together, row_bits, out=together)
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self.places = ordered[self._starts]
        self.counts = np.diff(np.r_[self._starts, len(self._order)])

    def reduced(self, ufunc: np.ufunc, values: Array) -> Array:
        merged: Array = ufunc.reduceat(values[self._order], self._starts)
        return merged


@dataclass(frozen=True)
class _Key:
    """One key column: its values from ``low`` on are 1, 2, …, NULL is 0."""

    type: pa.DataType
    low: int
    size: int

    def add_to(self, places: Array, column: pa.Array) -> None:
        """Appends this key to the places of the keys before it."""
        if column.null_count:
            column = pc.fill_null(column.cast(pa.int64()), self.low - 1)
        places *= self.size
        places += column.to_numpy()
        places -= self.low - 1

    def column(self, digits: Array) -> pa.Array:
        absent = digits == 0
        values = pa.array(digits + (self.low - 1), mask=absent if absent.any() else None)
        return values.cast(self.type)


def integer_groups(
    table: pa.Table, group_by: Sequence[str], reductions: Sequence[tuple[Reduction, str]]
) -> pa.Table | None:
    """The columns ``group_by`` and one per reduction, in that order, named by number; None if it is not for us."""
    if not table.num_rows or not all(_ours(reduction, table, name) for reduction, name in reductions):
        return None
    columns = [_flat(table[name]) for name in group_by]
    keys = [_key(column) for column in columns]
    if any(key is None for key in keys):
        return None
    known = [key for key in keys if key is not None]
    groups = _grouped(columns, known, table.num_rows)
    if groups is None:
        return None
    out: dict[str, pa.Array] = {}
    rest = groups.places
    for name, key in reversed(list(zip(group_by, known, strict=True))):
        rest, digits = np.divmod(rest, key.size)
        out[name] = key.column(digits)
    out = {name: out[name] for name in group_by}
    for number, (reduction, name) in enumerate(reductions):
        out[str(number)] = pa.array(_reduced(groups, reduction.function, table, name))
    return pa.table(out)


_UFUNCS = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def _ours(reduction: Reduction, table: pa.Table, name: str) -> bool:
    if reduction.options is not None:
        return False
    if reduction.function in ("count", "count_all"):
        return True
    column = table[name]
    if reduction.function == "sum":
        return bool(pa.types.is_int64(column.type))
    return reduction.function in _UFUNCS and bool(pa.types.is_signed_integer(column.type)) and not column.null_count


def _reduced(groups: _Groups, function: str, table: pa.Table, name: str) -> Array:
    if function == "count_all" or (function == "count" and not table[name].null_count):
        return groups.counts
    column = _flat(table[name])
    if function == "count":
        return groups.reduced(np.add, column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64))
    values = pc.fill_null(column, 0) if column.null_count else column
    return groups.reduced(_UFUNCS[function], values.to_numpy())


def _key(column: pa.Array) -> _Key | None:
    if not pa.types.is_signed_integer(column.type):
        return None
    extremes: dict[str, Any] = pc.min_max(column).as_py()
    low, high = extremes["min"], extremes["max"]
    if low is None:
        return _Key(column.type, 0, 1)
    return _Key(column.type, low, high - low + 2)


def _grouped(columns: Sequence[pa.Array], keys: Sequence[_Key], rows: int) -> _Groups | None:
    places, row_bits = 1, rows.bit_length()
    for key in keys:
        places *= key.size
    if places >= 1 << (63 - row_bits) or any(key.low == INT64.min for key in keys):
        return None
    of_rows = np.zeros(rows, dtype=np.int64)
    for column, key in zip(columns, keys, strict=True):
        key.add_to(of_rows, column)
    return _Tabled(of_rows, places) if places <= _TABLE * rows else _Sorted(of_rows, row_bits)


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
