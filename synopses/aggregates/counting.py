"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.lowering import FromComponents, States
from synopses.algebra import Component
from synopses.carriers import to_arrow
from synopses.components import Count, Rows


class _Count(FromComponents):
    is_sum = True

    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        return (Rows() if call.argument is None else Count(call.argument),)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        (component,) = self.components(call)
        return to_arrow(states[component][0], Type.BIGINT)


COUNT = _Count()
