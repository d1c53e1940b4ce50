"""Numbers for pairs (parent code, value code): 0, 1, 2 … in the order they are first met.

Where a good part of all possible pairs occurs, a table with a place for each is both faster and smaller than a
dictionary; where it would be mostly empty, a dictionary is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from synopses.carriers import Array

CODE_BITS = 32

_SMALL_TABLE = 1 << 16
"""Places a table may always have."""

_PLACES_PER_PAIR = 16
"""Beyond that, a table may have so many places per pair met (4 bytes each; a dictionary takes about 100 per pair)."""


class Interner(dict[Any, int]):
    """key → code, new keys getting the next code; the loop over keys runs in C."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code

    def codes(self, keys: Any) -> Array:
        return np.fromiter(map(self.__getitem__, keys), dtype=np.int64, count=len(keys))


class PairCodes:
    """Pairs are packed as parent << 32 | value."""

    def __init__(self) -> None:
        self.size = 0
        self._pairs: Array = np.empty(0, dtype=np.int64)  # by code, with room to grow
        self._table: Array | None = np.full((1, 1), -1, dtype=np.int32)
        self._interner = Interner()

    @staticmethod
    def of(pairs: Array) -> PairCodes:
        """These pairs, all distinct, numbered in this order."""
        made = PairCodes()
        made._remember(pairs)
        if len(pairs):
            made._fit(int((pairs >> CODE_BITS).max()) + 1, int((pairs & (2**CODE_BITS - 1)).max()) + 1, 0)
        return made

    def pairs(self, codes: Array) -> Array:
        """The packed pairs of these codes."""
        return self._pairs[codes]

    def encode(self, parents: Array, values: Array) -> Array:
        """The code of each pair, new pairs getting the next ones."""
        if not len(parents):
            return np.empty(0, dtype=np.int64)
        if self._table is not None:
            self._fit(int(parents.max()) + 1, int(values.max()) + 1, len(parents))
        if self._table is None:
            return self._encode_by_dictionary(parents << CODE_BITS | values)
        places = parents * self._table.shape[1] + values
        codes: Array = self._table.ravel().take(places)
        fresh = codes < 0
        if fresh.any():
            new = _distinct(parents[fresh] << CODE_BITS | values[fresh])
            self._table[new >> CODE_BITS, new & (2**CODE_BITS - 1)] = np.arange(self.size, self.size + len(new))
            self._remember(new)
            codes = self._table.ravel().take(places)
        return codes.astype(np.int64)

    def _encode_by_dictionary(self, pairs: Array) -> Array:
        known = self.size
        codes = self._interner.codes(pairs.tolist())
        if len(self._interner) > known:
            fresh = np.flatnonzero(codes >= known)
            new = np.empty(len(self._interner) - known, dtype=np.int64)
            new[codes[fresh] - known] = pairs[fresh]
            self._remember(new)
        return codes

    def _remember(self, new: Array) -> None:
        size = self.size + len(new)
        if size > len(self._pairs):
            room = np.empty(size + size // 4, dtype=np.int64)
            room[: self.size] = self._pairs[: self.size]
            self._pairs = room
        self._pairs[self.size : size] = new
        self.size = size

    def _fit(self, parents: int, values: int, coming: int) -> None:
        """Makes room in the table for so many parents and values, or goes over to the dictionary."""
        assert self._table is not None
        rows, columns = self._table.shape
        if parents <= rows and values <= columns and self.size:
            return
        rows = max(rows, parents + parents // 4) if parents > rows else rows
        columns = max(columns, values + values // 4) if values > columns else columns
        known = self._pairs[: self.size]
        if rows * columns > max(_SMALL_TABLE, _PLACES_PER_PAIR * (self.size + coming)):
            self._table = None
            self._interner = Interner(zip(known.tolist(), range(self.size), strict=True))
            return
        self._table = np.full((rows, columns), -1, dtype=np.int32)
        self._table[known >> CODE_BITS, known & (2**CODE_BITS - 1)] = np.arange(self.size)


def _distinct(pairs: Array) -> Array:
    ordered = np.sort(pairs)
    return ordered[np.r_[True, ordered[1:] != ordered[:-1]]]
