"""Merging many entries into one state per code: what every probe and every block merge comes down to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from synopses.algebra import Component, State
from synopses.carriers import Array
from synopses.components import Rows
from synopses.merged import NO_TWINS, Merged, Partials

_SPARSE = 32
"""Accumulate over the codes that occur instead of all codes when there are this many times fewer entries."""


class Accumulator:
    """One state per component and code, entries absorbed in any order.

    ``codes_of`` lists, ascending, the only codes that can occur (None: all of 0..size−1). ``twins`` maps the
    position of a component to that of another whose states are equal, so that they are merged once.
    """

    def __init__(
        self,
        components: Sequence[Component],
        size: int,
        codes_of: Array | None = None,
        twins: Mapping[int, int] = NO_TWINS,
    ) -> None:
        self.components, self.twins = tuple(components), twins
        self._codes_of = codes_of
        self.size = size if codes_of is None else len(codes_of)
        self._rows = next((i for i, component in enumerate(components) if isinstance(component, Rows)), None)
        self._seen: Array | None = np.zeros(self.size, dtype=bool) if self._rows is None else None
        self._states: list[State] = [
            () if number in twins else component.identity(self.size) for number, component in enumerate(components)
        ]

    def absorb(self, codes: Array, states: Sequence[State]) -> None:
        if not len(codes):
            return
        at = codes.astype(np.intp) if self._codes_of is None else np.searchsorted(self._codes_of, codes)
        if self._seen is not None:
            self._seen[at] = True
        for number, component in enumerate(self.components):
            if number not in self.twins:
                self._states[number] = component.absorb(self._states[number], at, states[number])

    def start_from(self, states: Sequence[State], seen: Array) -> None:
        """Begins with one state for every code instead of nothing."""
        self._states = [() if number in self.twins else state for number, state in enumerate(states)]
        if self._seen is not None:
            self._seen = seen

    def merged(self) -> Merged:
        """What has been absorbed so far, to be used before more is."""
        seen = self._rows if self._rows is not None else self._seen
        return Merged(self._codes_of, tuple(self._states), seen, self.twins)


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
