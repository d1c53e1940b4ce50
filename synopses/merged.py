"""Partials of one interval going into a synopsis, and merged partials of one window coming out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from synopses.algebra import State
from synopses.carriers import Array

NO_TWINS: Mapping[int, int] = {}


@dataclass(frozen=True)
class Partials:
    """One state per component for each code; a code may occur more than once."""

    codes: Array
    states: tuple[State, ...]


class Deferred(Sequence[State]):
    """States that are worked out when asked for."""

    def __init__(self, size: int, state: Callable[[int], State]) -> None:
        self._size, self._state = size, state

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: Any) -> Any:
        return self._state(number)


class Merged:
    """The groups present in a window, ascending codes, and their merged states.

    A probe leaves a state at every *place* a group could be at, most of which may be empty. Taking out the groups that
    occur costs more than finding the few that an answer wants, so it is put off until somebody asks for them all.
    """

    def __init__(
        self,
        codes: Array | None,
        states: Sequence[State],
        seen: Callable[[], Array] | None = None,
        twins: Mapping[int, int] = NO_TWINS,
    ) -> None:
        """``codes`` of the places (None: 0, 1, 2 …). ``seen`` gives something that is not zero at those at which there
        is a group; None: at all. ``twins``: see ``Accumulator``."""
        self._codes, self._states, self._seen, self._twins = codes, states, seen, twins
        self._taken: dict[int, State] = {}

    @property
    def places(self) -> int:
        return len(self._occurring) if self._codes is None else len(self._codes)

    @cached_property
    def size(self) -> int:
        """How many groups there are."""
        return self.places if self._seen is None else int(np.count_nonzero(self._occurring))

    @cached_property
    def codes(self) -> Array:
        return self._codes_at(self._present) if self.size < self.places or self._codes is None else self._codes

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(map(self.state, range(len(self._states))))

    def state(self, number: int) -> State:
        """The state of one component, per group."""
        number = self._twins.get(number, number)
        if self._seen is None or self.size == self.places:
            return self._states[number]
        if number not in self._taken:
            self._taken[number] = tuple(part.take(self._present) for part in self._states[number])
        return self._taken[number]

    def same(self, number: int, other: int) -> bool:
        """Whether two components are known to have equal states."""
        return self._twins.get(number, number) == self._twins.get(other, other)

    def at_all_places(self, number: int) -> Array:
        """The first part of a component's state at every place: where there is no group, what no record adds up to."""
        return self._states[self._twins.get(number, number)][0]

    def only(self, places: Array) -> Merged:
        """The groups at these places, ascending, and nothing else; there must be one at each."""

        @cache
        def at_places(number: int) -> State:
            return tuple(part.take(places) for part in self._states[number])

        return Merged(self._codes_at(places), Deferred(len(self._states), at_places), None, self._twins)

    @cached_property
    def _occurring(self) -> Array:
        assert self._seen is not None
        return self._seen()

    @cached_property
    def _present(self) -> Array:
        seen = self._occurring
        return np.flatnonzero(seen if seen.dtype == bool else seen != 0)  # of booleans: ten times faster

    def _codes_at(self, places: Array) -> Array:
        return places if self._codes is None else self._codes[places]


@dataclass(frozen=True)
class ProbeCost:
    """What the last probe did: intervals (or blocks) read, and merges of two of them (semantics.md 3 and 5)."""

    reads: int = 0
    merges: int = 0
