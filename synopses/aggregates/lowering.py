"""The protocol of an aggregate: which components it reads, and how they become the answer's column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.algebra import Component, State
from synopses.carriers import Array

States = Mapping[Component, State]


@dataclass(frozen=True)
class Counters:
    """Merged frequency counters of one argument: value → count in each group, sorted by group, then by value.

    Groups are numbered 0..size−1 in the order of the answer's rows; NULLs are not counted.
    """

    groups: Array
    values: Array
    counts: Array
    size: int
    type: Type


class Aggregate(Protocol):
    """An aggregate reads components, or, if it is holistic (``by_counters``), the counters of its argument."""

    @property
    def by_counters(self) -> bool: ...

    def components(self, call: AggregateCall) -> tuple[Component, ...]: ...

    def lower(self, call: AggregateCall, states: States) -> pa.Array: ...

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array: ...


class FromComponents:
    """An aggregate that is a function of components (distributive or algebraic)."""

    by_counters = False

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array:
        raise TypeError(f"{call.function} does not read counters")


class FromCounters:
    """A holistic aggregate: it needs every value's frequency."""

    by_counters = True

    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        return ()

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        raise TypeError(f"{call.function} reads counters")
