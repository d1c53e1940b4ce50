"""Growable columns of (code, states) entries, appended at the young end and dropped at the old one.

Entries of consecutive intervals lie next to each other, so a window is a slice, not a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synopses.carriers import Array, magnitude

_SLACK = 4
"""Free room after growing: one entry per this many live ones, so memory stays near the live entries' own and each
entry is moved about this many times in its life."""


class Arena:
    """Parallel arrays with free room at the end.

    A column of integers widened to Python objects becomes int64 again, when the arena next moves its entries, if
    every magnitude is below ``narrow_below``: the bound under which the owner's sums cannot leave int64.
    """

    def __init__(self, dtypes: Sequence[np.dtype[Any]], narrow_below: int = 2**62) -> None:
        self.columns: list[Array] = [np.empty(0, dtype=dtype) for dtype in dtypes]
        self.start = self.end = 0
        self.narrow_below = narrow_below

    def append(self, columns: Sequence[Array]) -> None:
        count = len(columns[0])
        self._reserve(count)
        for position, (column, new) in enumerate(zip(self.columns, columns, strict=True)):
            if new.dtype == object and column.dtype != object:
                column = self.columns[position] = column.astype(object)
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
            kept = narrowed_below(column[self.start : self.end], self.narrow_below)
            grown = np.empty(room, dtype=kept.dtype)
            grown[:live] = kept
            self.columns[position] = grown
        self.start, self.end = 0, live


def narrowed_below(column: Array, bound: int) -> Array:
    """A widened integer column back to int64 once the large values are gone; other objects unchanged."""
    if column.dtype != object or not column.size or not isinstance(column[0], int):
        return column
    return column.astype(np.int64) if magnitude(column) < bound else column
