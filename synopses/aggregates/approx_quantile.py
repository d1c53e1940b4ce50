"""APPROX_QUANTILE(x, q [, precision]): a value of the data whose rank is near q, discrete like QUANTILE.

The bounds are the values one rank error below and above q; they meet while the sketch still holds every value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall
from synopses.aggregates.lowering import FromComponents, States
from synopses.algebra import Component
from synopses.carriers import Array, to_arrow
from synopses.sketches.kll import DEFAULT_K, QuantileSketch, k_for

_SIDES = {"": 0, "low": -1, "high": 1}
_EXACT_INTEGERS = 2.0**53
"""Beyond it doubles are farther apart than integers."""


class _ApproxQuantile(FromComponents):
    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        assert call.argument is not None
        return (QuantileSketch(call.argument, k_for(call.parameters[1]) if len(call.parameters) > 1 else DEFAULT_K),)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        (component,) = self.components(call)
        sketches, nans = states[component]
        side = _SIDES[call.part]
        seen = np.array([sketch is not None and not sketch.is_empty() for sketch in sketches], dtype=bool) | (nans > 0)
        values = np.zeros(len(sketches))
        for group in np.flatnonzero(seen):
            values[group] = _at(sketches[group], int(nans[group]), call.parameters[0], side)
        if call.type.fractional:
            return to_arrow(values, call.type, seen)
        return to_arrow(_whole(values, side), call.type, seen)


def _at(sketch: Any, nans: int, share: float, side: int) -> float:
    """The value at ``share`` of all values, the last ``nans`` of which are NaN; a rank error to one ``side`` of it."""
    if sketch is None or sketch.is_empty():
        return float("nan")
    n = sketch.n
    if sketch.is_estimation_mode():
        share += side * sketch.normalized_rank_error(False) * n / (n + nans)
    share *= (n + nans) / n
    if share > 1 and nans:
        return float("nan")
    return float(sketch.get_quantile(min(max(share, 0.0), 1.0), True))


def _whole(values: Array, side: int) -> Array:
    """Integers carried as doubles; bounds give way by one step where doubles are too coarse to be exact."""
    if side:
        coarse = np.abs(values) >= _EXACT_INTEGERS
        values = np.where(coarse, values + side * np.spacing(np.abs(values)), values)
    fitting: Array = np.clip(values, -(2.0**63), np.nextafter(2.0**63, 0)).astype(np.int64)
    return fitting


APPROX_QUANTILE = _ApproxQuantile()
