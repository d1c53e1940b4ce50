"""AVG reads the SUM and COUNT components, which are aligned by construction (rules SS2 and CS3)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.lowering import FromComponents, States
from synopses.aggregates.sums import SUM
from synopses.algebra import Component
from synopses.carriers import to_arrow


class _Average(FromComponents):
    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        return SUM.components(call)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        total, count = (states[component][0] for component in self.components(call))
        mean = total / np.maximum(count, 1)
        return to_arrow(mean.astype(np.float64), Type.DOUBLE, count > 0)


AVG = _Average()
