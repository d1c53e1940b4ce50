"""The aggregate algebra: what may be kept per (interval, group) and merged in any order.

A *component* is one stored quantity (a count, a sum, an extreme, moments). It declares its capabilities, and
planners rely on nothing else. The four operations of the algebra, vectorized over groups:

- identity: ``identity(size)``, the state of ``size`` groups that have seen nothing;
- lift: ``reductions`` and ``lift``, from records to one state per group, through Arrow's hash aggregation;
- combine: ``absorb``, states of later intervals into an accumulator, groups repeated at will;
- lower: the business of ``synopses.aggregates``, from the merged states to the answer's column.

A *state* is a tuple of numpy arrays, one entry per group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from queries.model import Value
from synopses.carriers import Array

State = tuple[Array, ...]


@dataclass(frozen=True)
class Capabilities:
    """What planners may rely on (semantics.md 2).

    ``subtractable``: ``prefix(t) − prefix(t−w)`` is the window's value, so a running synopsis can keep it and a
    surplus can be taken away. ``duplicate_insensitive``: records merged twice do no harm, so overlapping covers do.
    """

    subtractable: bool = False
    duplicate_insensitive: bool = False


@dataclass(frozen=True)
class Reduction:
    """One Arrow hash aggregation over ``column`` (None: over whole rows)."""

    column: str | None
    function: str
    options: Any = None


@runtime_checkable
class Component(Protocol):
    """One stored quantity. Implementations are frozen dataclasses, so that equal needs are one need."""

    @property
    def argument(self) -> Value | None: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def parts(self) -> int:
        """How many arrays its state has."""
        ...

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        """Columns to derive from the argument before grouping, by suffix ("" is the argument itself)."""
        ...

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        """The hash aggregations over the prepared columns, named by suffix."""
        ...

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        """The state's parts, as Arrow columns fit for transport, from the reductions' results."""
        ...

    def load(self, parts: Sequence[pa.Array]) -> State:
        """The state carried by transported parts."""
        ...

    def unload(self, state: State) -> tuple[pa.Array, ...]:
        """The inverse of ``load``: the state's parts as Arrow columns."""
        ...

    def identity(self, size: int) -> State: ...

    def absorb(self, into: State, codes: Array, state: State) -> State:
        """``into[codes] ⊕= state``; codes may repeat. May work in place; returns the accumulator."""
        ...

    def guard(self, state: State, intervals: int) -> State:
        """The state made safe for merging ``intervals`` of its kind: integers as narrow as their sums allow."""
        ...
