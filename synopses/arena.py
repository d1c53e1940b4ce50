"""Growable columns of (code, states) entries, appended at the young end and dropped at the old one.

Entries of consecutive intervals lie next to each other, so a window is a slice, not a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synopses.carriers import Array, narrowed


class Arena:
    """Parallel arrays with free room at the end; at most twice the live entries, plus a little."""

    def __init__(self, dtypes: Sequence[np.dtype[Any]]) -> None:
        self.columns: list[Array] = [np.empty(0, dtype=dtype) for dtype in dtypes]
        self.start = self.end = 0

    def append(self, columns: Sequence[Array]) -> None:
        count = len(columns[0])
        self._reserve(count)
        for position, (column, new) in enumerate(zip(self.columns, columns, strict=True)):
            if new.dtype == object and column.dtype != object:
                column = self.columns[position] = column.astype(object)
            column[self.end : self.end + count] = new
        self.end += count

    def drop(self, count: int) -> None:
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
        capacity = len(self.columns[0])
        if self.end + count <= capacity:
            return
        live = len(self)
        room = max(capacity, 16) if live + count <= capacity // 2 else (live + count) * 3 // 2
        for position, column in enumerate(self.columns):
            kept = narrowed_numbers(column[self.start : self.end])
            grown = np.empty(max(room, live + count), dtype=kept.dtype)
            grown[:live] = kept
            self.columns[position] = grown
        self.start, self.end = 0, live


def narrowed_numbers(column: Array) -> Array:
    """A widened integer column back to int64 once the large values are gone; other objects unchanged."""
    if column.dtype != object or not column.size or not isinstance(column[0], int):
        return column
    return narrowed(column)
