"""Merging many entries into one state per code: what every probe and every block merge comes down to.

A component is merged when somebody asks for its state. Most answers look at one or two of those that a synopsis keeps
for all its queries; the others cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synopses.algebra import Component, State
from synopses.carriers import Array
from synopses.components import Rows
from synopses.merged import NO_TWINS, Deferred, Merged, Partials

_SPARSE = 32
"""Accumulate over the codes that occur instead of all codes when there are this many times fewer entries."""


@dataclass
class _Run:
    """Entries that have been absorbed, or taken away again (``sign`` −1)."""

    codes: Array
    states: Sequence[State]
    sign: int
    codes_of: Array | None

    @cached_property
    def at(self) -> Array:
        return self.codes.astype(np.intp) if self.codes_of is None else np.searchsorted(self.codes_of, self.codes)

    def state(self, number: int) -> State:
        state = self.states[number]
        return state if self.sign > 0 else tuple(-part for part in state)


class Accumulator:
    """One state per component and code, entries absorbed in any order.

    ``codes_of`` lists, ascending, the only codes that can occur (None: all of 0..size−1). ``twins`` maps the
    position of a component to that of another whose states are equal, so that they are merged once. ``telling`` names
    components that are above zero in every entry, as COUNT(*) is: where one of them is zero there is no group.
    ``begin`` gives the state a component starts from, and ``seen`` at which codes there is something then.
    """

    def __init__(
        self,
        components: Sequence[Component],
        size: int,
        codes_of: Array | None = None,
        twins: Mapping[int, int] = NO_TWINS,
        telling: Collection[int] = (),
        begin: Callable[[int], State] | None = None,
        seen: Array | None = None,
    ) -> None:
        self.components, self.twins = tuple(components), twins
        self._codes_of = codes_of
        self.size = size if codes_of is None else len(codes_of)
        rows = (number for number, component in enumerate(components) if isinstance(component, Rows))
        self._telling = tuple(dict.fromkeys((*rows, *telling)))
        self._seen = None if self._telling else seen if seen is not None else np.zeros(self.size, dtype=bool)
        self._begin = begin
        self._runs: list[_Run] = []
        self._states: dict[int, State] = {}
        self._absorbed: dict[int, int] = {}
        """How many runs are in each state."""

    def absorb(self, codes: Array, states: Sequence[State], sign: int = 1) -> None:
        """States taken away (``sign`` −1) must be ones that can be."""
        if len(codes):
            self._runs.append(_Run(codes, states, sign, self._codes_of))
            if self._seen is not None:
                self._seen[self._runs[-1].at] = True

    def state(self, number: int) -> State:
        """Of a component that is nobody's twin: what has been absorbed so far."""
        component = self.components[number]
        if number not in self._states:
            self._states[number] = component.identity(self.size) if self._begin is None else self._begin(number)
        for run in self._runs[self._absorbed.get(number, 0) :]:
            self._states[number] = component.absorb(self._states[number], run.at, run.state(number))
        self._absorbed[number] = len(self._runs)
        return self._states[number]

    def occurring(self) -> Array:
        """Not zero at the codes at which there is a group. Something that has been merged already tells it for free."""
        if self._seen is not None:
            return self._seen
        return self.state(next((number for number in self._telling if number in self._states), self._telling[0]))[0]

    def merged(self) -> Merged:
        """What has been absorbed so far, to be used before more is."""
        return Merged(self._codes_of, Deferred(len(self.components), self.state), self.occurring, self.twins)


def code_space(codes: Array, size: int) -> Array | None:
    """The distinct codes, ascending, if going by them is cheaper than going by all ``size`` codes; else None."""
    return distinct(codes) if len(codes) * _SPARSE < size else None


def distinct(codes: Array) -> Array:
    """Ascending, each once."""
    ordered = np.sort(codes)
    return ordered[np.r_[True, ordered[1:] != ordered[:-1]]] if len(ordered) else ordered


def repeats(codes: Array) -> bool:
    """Whether any code occurs twice."""
    return distinct_count(codes) < len(codes)


def distinct_count(codes: Array) -> int:
    """How many different codes there are."""
    size = int(codes.max()) + 1 if len(codes) else 0
    if len(codes) * _SPARSE < size:
        return len(distinct(codes))
    seen = np.zeros(size, dtype=bool)
    seen[codes] = True
    return int(np.count_nonzero(seen))


def merge(components: Sequence[Component], pieces: Sequence[Partials]) -> Partials:
    """The pieces as one, each code once, ascending."""
    codes = np.concatenate([piece.codes for piece in pieces])
    size = int(codes.max()) + 1 if len(codes) else 0
    accumulator = Accumulator(components, size, code_space(codes, size))
    for piece in pieces:
        accumulator.absorb(piece.codes, piece.states)
    merged = accumulator.merged()
    return Partials(merged.codes, merged.states)
