"""Exact COUNT(DISTINCT x): how many values have a counter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.lowering import Counters, FromCounters
from synopses.carriers import to_arrow


class _CountDistinct(FromCounters):
    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array:
        return to_arrow(np.bincount(counters.groups, minlength=counters.size), Type.BIGINT)


COUNT_DISTINCT = _CountDistinct()
