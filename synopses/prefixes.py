"""Prefix sums per code for the running synopsis: exact for integers, double-double for doubles.

A prefix is a sum since some common beginning; only differences of two prefixes mean anything, so the beginning may
be moved (*re-basing*): all prefixes lose what the oldest one holds. Done every b updates, no prefix ever spans more
than 2b intervals, however long the stream.

A *column* is what one kept prefix holds of one additive quantity: a tuple of arrays, one place per code known when it
was kept; a code that came later stands at zero.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from synopses.carriers import Array, fitted, widened

Column = tuple[Array, ...]

_HUGE = 1e290
"""Doubles beyond it could overflow a sum of finite values; like infinities and NaN they stay out of prefixes."""

_STEP_ERROR = 2.0**-104
"""Bound of the relative error of one double-double addition, generously."""

_TRUSTED = 2.0**-46
"""A difference is trusted if its error is below this share of it (1.4e-14); else it is summed anew."""


class Prefix(Protocol):
    """The prefix sums of one additive quantity up to now."""

    effort: float
    """What a difference costs per code, as a share of what adding an entry costs."""

    def add(self, codes: Array, values: Array) -> None:
        """Adds one interval: each code at most once."""
        ...

    def keep(self, size: int) -> Column:
        """A copy of the prefixes of codes 0..size−1 as they are now."""
        ...

    def now(self) -> Column: ...

    def difference(self, newer: Column, older: Column, size: int, steps: int) -> tuple[Array, Array | None]:
        """Sums between two prefixes ``steps`` intervals apart, and which codes must be summed anew (None: none)."""
        ...

    def rebase(self, base: Column, kept: list[Column]) -> list[Column]:
        """Takes ``base`` away from the current and from all kept prefixes; returns the latter."""
        ...

    def translate(self, column: Column, kept_codes: Array) -> Column:
        """A column with only these codes left, renumbered in this order."""
        ...

    def translate_now(self, kept_codes: Array) -> None: ...


class IntegerPrefix:
    """Exact. As wide as the values, which must fit a sum over twice b intervals; narrowed by re-basing."""

    effort = 0.1

    def __init__(self) -> None:
        self._sums: Array = np.zeros(0, dtype=np.int32)

    def add(self, codes: Array, values: Array) -> None:
        self._sums = grown(widened(self._sums, values.dtype), codes)
        self._sums[codes] += values

    def keep(self, size: int) -> Column:
        return (padded(self._sums, size).copy(),)

    def now(self) -> Column:
        return (self._sums,)

    def difference(self, newer: Column, older: Column, size: int, steps: int) -> tuple[Array, Array | None]:
        new, old = newer[0][:size], older[0][:size]
        if len(new) == size == len(old):
            return new - old, None
        both = min(len(new), len(old))
        sums = np.empty(size, dtype=np.promote_types(new.dtype, old.dtype))
        np.subtract(new[:both], old[:both], out=sums[:both])
        sums[both : len(new)] = new[both:]
        sums[len(new) :] = 0
        if len(old) > both:
            sums[both : len(old)] -= old[both:]
        return sums, None

    def rebase(self, base: Column, kept: list[Column]) -> list[Column]:
        self._sums = self._less(self._sums, base)
        return [(self._less(column[0], base),) for column in kept]

    @staticmethod
    def _less(sums: Array, base: Column) -> Array:
        return fitted(sums - padded(base[0], len(sums)), 2)

    def translate(self, column: Column, kept_codes: Array) -> Column:
        return (taken(column[0], kept_codes),)

    def translate_now(self, kept_codes: Array) -> None:
        self._sums = taken(self._sums, kept_codes)


class DoublePrefix:
    """Sums as unevaluated pairs high + low (Dekker's double-double), some 106 bits.

    What a difference may be off by is known: every addition errs by at most 2^-104 of the prefix it was made at, so
    the largest prefix since the re-basing before last bounds it. A window much smaller than that is summed anew from
    its entries, as is one with values that cannot be subtracted (NaN, ±infinity, beyond 1e290): they are counted
    apart and never enter a sum, so they poison nothing once they have left the window.
    """

    effort = 1.0

    def __init__(self) -> None:
        self._high: Array = np.zeros(0)
        self._low: Array = np.zeros(0)
        self._apart: Array = np.zeros(0, dtype=np.int64)
        self._peak: Array = np.zeros(0)
        self._peak_before: Array = np.zeros(0)

    def add(self, codes: Array, values: Array) -> None:
        self._high, self._low, self._peak = (grown(a, codes) for a in (self._high, self._low, self._peak))
        summable = np.abs(values) <= _HUGE
        if not summable.all():
            self._apart = grown(self._apart, codes)
            self._apart[codes] += ~summable
            values = np.where(summable, values, 0.0)
        high, low = _double_double(self._high[codes], self._low[codes], values, 0.0)
        self._high[codes], self._low[codes] = high, low
        self._peak[codes] = np.maximum(self._peak[codes], np.abs(high))

    def keep(self, size: int) -> Column:
        apart = padded(self._apart, size) if self._apart.any() else np.zeros(0, dtype=np.int64)
        return padded(self._high, size).copy(), padded(self._low, size).copy(), apart.copy()

    def now(self) -> Column:
        return self._high, self._low, self._apart

    def difference(self, newer: Column, older: Column, size: int, steps: int) -> tuple[Array, Array | None]:
        high, low = _double_double(*(padded(part, size) for part in newer[:2]), *(-padded(p, size) for p in older[:2]))
        sums = high + low
        peak = np.maximum(padded(self._peak, size), padded(self._peak_before, size))
        anew = np.abs(sums) < peak * ((steps + 4) * _STEP_ERROR / _TRUSTED)
        if len(newer[2]) or len(older[2]):
            anew |= padded(newer[2], size) != padded(older[2], size)
        return sums, anew if anew.any() else None

    def rebase(self, base: Column, kept: list[Column]) -> list[Column]:
        kept = [self._less(column, base) for column in kept]
        self._high, self._low, self._apart = self._less(self.now(), base)
        self._peak_before, self._peak = self._peak, np.abs(self._high)
        return kept

    @staticmethod
    def _less(column: Column, base: Column) -> Column:
        size = len(column[0])
        high, low = _double_double(column[0], column[1], *(-padded(part, size) for part in base[:2]))
        apart = padded(column[2], size) - padded(base[2], size)
        return high, low, apart if apart.any() else np.zeros(0, dtype=np.int64)

    def translate(self, column: Column, kept_codes: Array) -> Column:
        return tuple(taken(part, kept_codes) if len(part) else part for part in column)

    def translate_now(self, kept_codes: Array) -> None:
        self._high, self._low, self._apart = self.translate(self.now(), kept_codes)
        self._peak, self._peak_before = (taken(part, kept_codes) for part in (self._peak, self._peak_before))


def _double_double(high: Array, low: Array, other_high: Array, other_low: Array | float) -> tuple[Array, Array]:
    """The sum of two unevaluated pairs, as a pair (Knuth's exact two-sum, then renormalized)."""
    total = high + other_high
    part = total - high
    error = (high - (total - part)) + (other_high - part)
    error = error + low + other_low
    result = total + error
    return result, error - (result - total)


def grown(values: Array, codes: Array) -> Array:
    """Room for every code, a quarter more than needed when it has to grow."""
    size = int(codes.max()) + 1 if len(codes) else 0
    return values if size <= len(values) else padded(values, size + size // 4)


def padded(values: Array, size: int) -> Array:
    """Exactly ``size`` places: cut, or continued with zeros."""
    if len(values) >= size:
        return values[:size]
    longer = np.zeros(size, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


def taken(values: Array, kept_codes: Array) -> Array:
    """The values of these codes, zero for a code beyond the end."""
    last = int(kept_codes.max()) + 1 if len(kept_codes) else 0
    return padded(values, max(last, len(values)))[kept_codes]


def prefix_for(dtype: np.dtype[Any]) -> Prefix:
    return DoublePrefix() if dtype == np.float64 else IntegerPrefix()
