"""APPROX_COUNT_DISTINCT(x [, precision]): HLL's estimate and its bounds of two standard deviations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.lowering import FromComponents, States
from synopses.algebra import Component
from synopses.carriers import to_arrow
from synopses.sketches.hll import DEFAULT_LG_K, DEVIATIONS, DistinctSketch, lg_k_for


class _ApproxCountDistinct(FromComponents):
    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        assert call.argument is not None
        return (DistinctSketch(call.argument, lg_k_for(call.parameters[0]) if call.parameters else DEFAULT_LG_K),)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        (component,) = self.components(call)
        (sketches,) = states[component]
        read = _READS[call.part]
        found = (0 if sketch is None else read(sketch) for sketch in sketches)
        return to_arrow(np.fromiter(found, dtype=np.int64, count=len(sketches)), Type.BIGINT)


def _estimate(sketch: Any) -> int:
    return round(float(sketch.get_estimate()))


def _low(sketch: Any) -> int:
    return math.floor(float(sketch.get_lower_bound(DEVIATIONS)))


def _high(sketch: Any) -> int:
    return math.ceil(float(sketch.get_upper_bound(DEVIATIONS)))


_READS = {"": _estimate, "low": _low, "high": _high}

APPROX_COUNT_DISTINCT = _ApproxCountDistinct()
