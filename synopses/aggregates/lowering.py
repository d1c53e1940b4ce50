"""The protocol of an aggregate: which components it reads, and how they become the answer's column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from queries.model import AggregateCall
from queries.types import Type
from synopses.aggregates.items import ItemRows, Lists
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
    """An aggregate reads components, or, if it is holistic (``by_counters``), the counters of its argument.

    One that answers with items (``by_items``) gives rows instead of a column, from its components or from lists.
    """

    @property
    def by_counters(self) -> bool: ...

    @property
    def by_items(self) -> bool: ...

    @property
    def is_sum(self) -> bool:
        """Whether the answer is the value of its first component wherever the others, counts, are not zero."""
        ...

    def components(self, call: AggregateCall) -> tuple[Component, ...]: ...

    def lower(self, call: AggregateCall, states: States) -> pa.Array: ...

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array: ...

    def lower_items(self, call: AggregateCall, states: States, lists: Lists) -> ItemRows: ...

    def places(self, call: AggregateCall, size: int) -> tuple[int, ...] | None:
        """Which places of a group's ``size`` sorted values it looks at, ascending; None: at all of them."""
        ...

    def lower_places(self, call: AggregateCall, size: int, values: Array) -> pa.Array:
        """The answer for one group of ``size`` values, at least one, from those at ``places``."""
        ...


class FromComponents:
    """An aggregate that is a function of components (distributive or algebraic)."""

    by_counters = False
    by_items = False
    is_sum = False

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array:
        raise TypeError(f"{call.function} does not read counters")

    def places(self, call: AggregateCall, size: int) -> tuple[int, ...] | None:
        return None

    def lower_places(self, call: AggregateCall, size: int, values: Array) -> pa.Array:
        raise TypeError(f"{call.function} does not look at places")

    def lower_items(self, call: AggregateCall, states: States, lists: Lists) -> ItemRows:
        raise TypeError(f"{call.function} has no items")


class FromCounters:
    """A holistic aggregate: it needs every value's frequency."""

    by_counters = True
    by_items = False
    is_sum = False

    def components(self, call: AggregateCall) -> tuple[Component, ...]:
        return ()

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        raise TypeError(f"{call.function} reads counters")

    def places(self, call: AggregateCall, size: int) -> tuple[int, ...] | None:
        return None

    def lower_places(self, call: AggregateCall, size: int, values: Array) -> pa.Array:
        raise TypeError(f"{call.function} does not look at places")

    def lower_items(self, call: AggregateCall, states: States, lists: Lists) -> ItemRows:
        raise TypeError(f"{call.function} has no items")


class FromItems:
    """An aggregate that answers with items, one row each (``synopses.aggregates.items``)."""

    by_counters = False
    by_items = True
    is_sum = False

    def lower(self, call: AggregateCall, states: States) -> pa.Array:
        raise TypeError(f"{call.function} answers with several rows")

    def lower_counters(self, call: AggregateCall, counters: Counters) -> pa.Array:
        raise TypeError(f"{call.function} does not read counters")

    def places(self, call: AggregateCall, size: int) -> tuple[int, ...] | None:
        return None

    def lower_places(self, call: AggregateCall, size: int, values: Array) -> pa.Array:
        raise TypeError(f"{call.function} does not look at places")
