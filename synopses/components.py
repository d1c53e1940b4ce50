"""The stored quantities: rows, counts, totals, extremes, moments. One class each; see ``synopses.algebra``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.model import Value
from queries.types import Type
from synopses.algebra import Capabilities, Reduction, State
from synopses.carriers import INT64, WIDE, Array, dtype_of, fitted, narrowed, to_arrow, to_numpy, widened

_LOW_BITS = 0xFFFFFFFF


class _Additive:
    """Common to components whose states add up: combine is +, so they can be subtracted as well."""

    capabilities = Capabilities(subtractable=True)
    parts = 1
    dtype: np.dtype[np.int64] | np.dtype[np.float64] = np.dtype(np.int64)

    def identity(self, size: int) -> State:
        return (np.zeros(size, dtype=np.int32 if self.dtype == np.int64 else self.dtype),)

    def absorb(self, into: State, codes: Array, state: State) -> State:
        (acc,), (values,) = into, state
        acc = widened(acc, values.dtype)
        values = widened(values, acc.dtype)  # adding one type to another is fifty times slower
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(acc, codes, values)
        return (acc,)

    def subtract(self, state: State, surplus: State) -> State:
        return (state[0] - surplus[0],)

    def unload(self, state: State) -> tuple[pa.Array, ...]:
        return (to_arrow(state[0], Type.DOUBLE if self.dtype == np.float64 else Type.BIGINT),)

    def guard(self, state: State, intervals: int) -> State:
        return (fitted(state[0], intervals),)


@dataclass(frozen=True)
class Rows(_Additive):
    """COUNT(*): how many records fell into the group."""

    @property
    def argument(self) -> None:
        return None

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        return {}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction(None, "count_all"),)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        return (reduced[0],)

    def load(self, parts: Sequence[pa.Array]) -> State:
        return (to_numpy(parts[0], Type.BIGINT)[0],)


@dataclass(frozen=True)
class Count(_Additive):
    """COUNT(x): how many records have a value; also what tells SUM over nothing from SUM of zeros."""

    argument: Value

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        return {"": argument}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", "count"),)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        return (reduced[0],)

    def load(self, parts: Sequence[pa.Array]) -> State:
        return (to_numpy(parts[0], Type.BIGINT)[0],)


@dataclass(frozen=True)
class Total(_Additive):
    """SUM(x). Integers are exact: values whose sum could leave int64 are summed as high and low halves."""

    argument: Value

    @property
    def dtype(self) -> np.dtype[np.int64] | np.dtype[np.float64]:  # type: ignore[override]
        return np.dtype(np.float64) if self.argument.type.fractional else np.dtype(np.int64)

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        if self.argument.type.fractional:
            return {"": argument.cast(pa.float64())}
        if pa.types.is_decimal(argument.type):
            return {"": argument}
        whole = argument.cast(pa.int64())
        if self.argument.type is Type.BIGINT:
            extremes = pc.min_max(whole).as_py()
            largest = max(abs(extremes["min"] or 0), abs(extremes["max"] or 0))
            if largest * len(whole) >= 2**63:
                return {"high": pc.shift_right(whole, 32), "low": pc.bit_wise_and(whole, _LOW_BITS)}
        return {"": whole}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return tuple(Reduction(suffix, "sum") for suffix in prepared)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        if len(prepared) == 1:
            return (pc.fill_null(reduced[0], 0),)
        high, low = (to_numpy(part, Type.BIGINT)[0].astype(object) for part in reduced)
        return (to_arrow(high * 2**32 + low, Type.BIGINT),)

    def load(self, parts: Sequence[pa.Array]) -> State:
        return (to_numpy(parts[0], self.argument.type)[0],)


class _Extreme:
    """MIN and MAX: the value and whether there was one. Merging twice does no harm; taking away is impossible."""

    capabilities = Capabilities(duplicate_insensitive=True)
    parts = 2
    argument: Value
    function: str
    ufunc: np.ufunc
    neutral_double: float
    neutral_integer: int

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        return {"": argument}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", self.function),)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        return (reduced[0], reduced[0].is_valid())

    def load(self, parts: Sequence[pa.Array]) -> State:
        values, seen = to_numpy(parts[0], self.argument.type)
        return values, seen

    def unload(self, state: State) -> tuple[pa.Array, ...]:
        values, seen = state
        return to_arrow(values, self.argument.type, seen), pa.array(seen)

    def identity(self, size: int) -> State:
        dtype = dtype_of(self.argument.type)
        return np.full(size, self._neutral(dtype), dtype=dtype), np.zeros(size, dtype=bool)

    def absorb(self, into: State, codes: Array, state: State) -> State:
        (acc, acc_seen), (values, seen) = into, state
        if not seen.all():
            codes, values = codes[seen], values[seen]
        if values.dtype == object and acc.dtype != object:
            acc = _as_objects(acc, acc_seen)
        if acc.dtype == object:
            self._absorb_objects(acc, acc_seen, codes, values)
        else:
            with np.errstate(invalid="ignore"):
                self.ufunc.at(acc, codes, values)
            acc_seen[codes] = True
        return acc, acc_seen

    def _neutral(self, dtype: np.dtype[Any]) -> int | float | None:
        """What leaves every value as it is when merged with it (for objects there is none)."""
        if dtype.hasobject:
            return None
        return self.neutral_double if dtype == np.float64 else self.neutral_integer

    def _absorb_objects(self, acc: Array, acc_seen: Array, codes: Array, values: Array) -> None:
        if not len(codes):
            return
        order = np.argsort(codes, kind="stable")
        codes, values = codes[order], values[order]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        codes, values = codes[starts], self.ufunc.reduceat(values, starts)
        known = acc_seen[codes]
        acc[codes[~known]] = values[~known]
        acc[codes[known]] = self.ufunc(acc[codes[known]], values[known])
        acc_seen[codes] = True

    def guard(self, state: State, intervals: int) -> State:
        return state


@dataclass(frozen=True)
class Least(_Extreme):
    """MIN(x). NaN counts as the greatest value, as in Spark."""

    argument: Value
    function = "min"
    ufunc = np.fmin
    neutral_double = float("nan")
    neutral_integer = int(INT64.max)


@dataclass(frozen=True)
class Greatest(_Extreme):
    """MAX(x). NaN counts as the greatest value, as in Spark; Arrow skips it, so its presence is reduced apart."""

    argument: Value
    function = "max"
    ufunc = np.maximum
    neutral_double = float("-inf")
    neutral_integer = int(INT64.min)

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        if self.argument.type.fractional:
            return {"": argument, "nan": pc.is_nan(argument)}
        return {"": argument}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", "max"), *(Reduction(suffix, "any") for suffix in prepared if suffix))

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        values = reduced[0]
        if len(reduced) == 2:
            values = pc.if_else(pc.fill_null(reduced[1], False), float("nan"), values)
        return (values, values.is_valid())


def _numbered(codes: Array, size: int) -> tuple[Array | slice, Array, int]:
    """The codes that occur, which of them each entry has, and their number: all codes unless few occur."""
    if len(codes) * 8 >= size:
        return slice(None), codes, size
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    at = np.empty(len(codes), dtype=np.intp)
    at[order] = np.cumsum(first) - 1
    present = ordered[first]
    return present, at, len(present)


def _as_objects(values: Array, seen: Array) -> Array:
    widened = values.astype(object)
    widened[~seen] = None
    return widened


@dataclass(frozen=True)
class Moments:
    """Count, mean and M2 (sum of squared distances from the mean): VARIANCE and STDDEV without cancellation.

    Merged by Chan's parallel formula, a whole run of intervals at once.
    """

    argument: Value
    capabilities = Capabilities()
    parts = 3

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        return {"": argument.cast(pa.float64())}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", "count"), Reduction("", "mean"), Reduction("", "variance", pc.VarianceOptions(ddof=0)))

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        count, mean, variance = reduced
        return (count, pc.fill_null(mean, 0.0), pc.fill_null(pc.multiply(variance, count.cast(pa.float64())), 0.0))

    def load(self, parts: Sequence[pa.Array]) -> State:
        types = (Type.BIGINT, Type.DOUBLE, Type.DOUBLE)
        return tuple(to_numpy(part, type_)[0] for part, type_ in zip(parts, types, strict=True))

    def unload(self, state: State) -> tuple[pa.Array, ...]:
        return tuple(pa.array(part) for part in state)

    def identity(self, size: int) -> State:
        return np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size)

    def absorb(self, into: State, codes: Array, state: State) -> State:
        """Each entry's distance from the common mean of its code's entries, then one merge with the accumulator."""
        if not len(codes):
            return into
        count, mean, m2 = state
        present, at, size = _numbered(codes, len(into[0]))
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.zeros(size, dtype=np.int64)
            np.add.at(total, at, count)
            common = np.bincount(at, count * mean, size) / np.maximum(total, 1)
            away = mean - common[at]
            spread = np.bincount(at, m2 + count * away * away, size)
            return self._pairwise(into, present, (total, common, spread))

    @staticmethod
    def _pairwise(into: State, codes: Array | slice, state: State) -> State:
        count, mean, m2 = into
        other, other_mean, other_m2 = state
        before = count[codes]
        both = before + other
        away = other_mean - mean[codes]
        share = other / np.maximum(both, 1)
        mean[codes] = np.where(before == 0, other_mean, mean[codes] + away * share)
        m2[codes] = np.where(before == 0, other_m2, m2[codes] + other_m2 + away * away * before * share)
        count[codes] = both
        return count, mean, m2

    def guard(self, state: State, intervals: int) -> State:
        return state


__all__ = ["WIDE", "Count", "Greatest", "Least", "Moments", "Rows", "Total", "narrowed"]
