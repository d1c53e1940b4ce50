"""MIN and MAX."""

from __future__ import annotations

import pyarrow as pa

from queries.model import AggregateCall
from synopses.aggregates.lowering import FromComponents, States
from synopses.algebra import Component
from synopses.carriers import to_arrow
from synopses.components import Greatest, Least


class _Extreme(FromComponents):
    def __init__(self, component: type[Least] | type[Greatest]) -> None:
        self._component = component

    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        assert call.argument is not None
        return (self._component(call.argument),)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        (component,) = self.components(call)
        values, seen = states[component]
        return to_arrow(values, call.type, seen)


MIN = _Extreme(Least)
MAX = _Extreme(Greatest)
