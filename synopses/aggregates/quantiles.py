"""QUANTILE (discrete) and QUANTILE_CONT (interpolated) from counters sorted by group and value.

The n values of a group occupy places 0..n−1; the place asked for is found in the running sum of the counts,
for all groups at once.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.lowering import Counters, FromCounters
from synopses.carriers import Array, to_arrow


class _Places:
    """Looks up the value at a place of each group that has any."""

    def __init__(self, counters: Counters) -> None:
        self._values = counters.values
        self._ends = np.cumsum(counters.counts)
        self.sizes: Array = np.zeros(counters.size, dtype=np.int64)
        np.add.at(self.sizes, counters.groups, counters.counts)
        self.filled = self.sizes > 0
        self._starts = np.cumsum(self.sizes) - self.sizes

    def at(self, places: Array) -> Array:
        found = np.searchsorted(self._ends, self._starts[self.filled] + places[self.filled], side="right")
        values: Array = self._values[found]
        return values


@lru_cache(maxsize=256)
def _decimal(share: float) -> Fraction:
    """The decimal the user wrote, whatever it is in binary."""
    return Fraction(str(share))


class _Discrete(FromCounters):
    """The smallest value whose cumulative share reaches q (SQL's percentile_disc); q is taken as the decimal
    the user wrote, so that 0.9 of 10 values is the 9th, whatever 0.9 is in binary."""

    def places(self, call: AggregateCall, size: int) -> tuple[int]:
        share = _decimal(call.parameters[0])
        return (max(-(-size * share.numerator // share.denominator), 1) - 1,)

    def lower_places(self, call: AggregateCall, size: int, values: Array) -> pa.Array:
        return to_arrow(values, call.type)

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array:
        places = _Places(counters)
        values = np.zeros(counters.size, dtype=counters.values.dtype)
        share = _decimal(call.parameters[0])
        ranks = np.maximum(-(-places.sizes * share.numerator // share.denominator), 1)
        values[places.filled] = places.at(ranks - 1)
        return to_arrow(values, call.type, places.filled)


class _Continuous(FromCounters):
    """Linear interpolation between the two neighbours of place q·(n−1) (SQL's percentile_cont)."""

    def places(self, call: AggregateCall, size: int) -> tuple[int, int]:
        place = call.parameters[0] * (size - 1)
        return floor(place), ceil(place)

    def lower_places(self, call: AggregateCall, size: int, values: Array) -> pa.Array:
        part = np.array(call.parameters[0] * (size - 1) % 1)
        low, high = values.astype(np.float64)
        return to_arrow(self._between(low, high, part).reshape(1), Type.DOUBLE)

    @staticmethod
    def _between(low: Array, high: Array, part: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.where(part == 0, low, low + (high - low) * part)

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array:
        places = _Places(counters)
        place = call.parameters[0] * (places.sizes - 1)
        below, above = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
        low, high = places.at(below).astype(np.float64), places.at(above).astype(np.float64)
        values = np.zeros(counters.size)
        values[places.filled] = self._between(low, high, (place - below)[places.filled])
        return to_arrow(values, Type.DOUBLE, places.filled)


QUANTILE = _Discrete()
QUANTILE_CONT = _Continuous()
