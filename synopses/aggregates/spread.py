"""VARIANCE and STDDEV, of a sample (NULL below two values) and of a population."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.lowering import FromComponents, States
from synopses.algebra import Component
from synopses.carriers import to_arrow
from synopses.components import Moments


class _Spread(FromComponents):
    def __init__(self, *, sample: bool, root: bool) -> None:
        self._correction, self._root = int(sample), root

    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        assert call.argument is not None
        return (Moments(call.argument),)

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        (component,) = self.components(call)
        count, _, m2 = states[component]
        spread = m2 / np.maximum(count - self._correction, 1)
        if self._root:
            spread = np.sqrt(spread)
        return to_arrow(spread, Type.DOUBLE, count > self._correction)


VAR_SAMP = _Spread(sample=True, root=False)
VAR_POP = _Spread(sample=False, root=False)
STDDEV_SAMP = _Spread(sample=True, root=True)
STDDEV_POP = _Spread(sample=False, root=True)
