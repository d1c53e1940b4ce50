"""Growable columns of (code, states) entries, appended at the young end and dropped at the old one.

Entries of consecutive intervals lie next to each other, so a window is a slice, not a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synopses.carriers import Array, fitted, widened

_SLACK = 4
"""Free room after growing: one entry per this many live ones, so memory stays near the live entries' own and each
entry is moved about this many times in its life."""


class Arena:
    """Parallel arrays with free room at the end.

    A column of integers is widened when wider ones come. When the arena next moves its entries, it gets its own type
    back if a sum of ``sums`` of the values that are left cannot leave it.
    """

    def __init__(self, dtypes: Sequence[np.dtype[Any]], sums: int) -> None:
        self.columns: list[Array] = [np.empty(0, dtype=dtype) for dtype in dtypes]
        self.start = self.end = 0
        self.sums = sums
        self._dtypes = tuple(dtypes)

    def append(self, columns: Sequence[Array]) -> None:
        count = len(columns[0])
        self._reserve(count)
        for position, (column, new) in enumerate(zip(self.columns, columns, strict=True)):
            column = self.columns[position] = widened(column, new.dtype)
            column[self.end : self.end + count] = new
        self.end += count

    def drop(self, count: int) -> None:
        for column in self.columns:
            if column.dtype == object:
                column[self.start : self.start + count] = None
        self.start += count

    def slice(self, start: int, end: int) -> list[Array]:
        """Views of entries [start, end), counted from the oldest live one."""
        return [column[self.start + start : self.start + end] for column in self.columns]

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def _reserve(self, count: int) -> None:
        if self.end + count <= len(self.columns[0]):
            return
        live = len(self)
        room = live + count + (live + count) // _SLACK
        for position, column in enumerate(self.columns):
            kept = self._narrowed(column[self.start : self.end], self._dtypes[position])
            grown = np.empty(room, dtype=kept.dtype)
            grown[:live] = kept
            self.columns[position] = grown
        self.start, self.end = 0, live

    def _narrowed(self, column: Array, own: np.dtype[Any]) -> Array:
        return column if column.dtype == own else widened(fitted(column, self.sums), own)
