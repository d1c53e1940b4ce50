"""SUM: NULL where no record had a value, exact for integers."""

from __future__ import annotations

import pyarrow as pa

from queries.model import AggregateCall
from synopses.aggregates.lowering import FromComponents, States
from synopses.algebra import Component
from synopses.carriers import to_arrow
from synopses.components import Count, Total


class _Sum(FromComponents):
    is_sum = True

    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        assert call.argument is not None
        return Total(call.argument), Count(call.argument)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        total, count = (states[component][0] for component in self.components(call))
        return to_arrow(total, call.type, count > 0)


SUM = _Sum()
