"""The entries (code, states) of the last b intervals, side by side: what basic interval and running are built on."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from synopses.accumulator import Accumulator, merge, repeats
from synopses.algebra import Component, State
from synopses.arena import Arena
from synopses.carriers import Array
from synopses.components import Count, Rows
from synopses.merged import Partials

_CODE = np.dtype(np.int32)


class IntervalEntries:
    """Intervals are numbered 0, 1, … from the first update; the live ones are ``oldest``..``newest``−1.

    COUNT(x) equals COUNT(*) wherever x is never NULL, which is the rule: as long as it holds for all live entries
    the count is not stored and not merged, it is the *twin* of Rows. Integers that add up and are above zero in all
    live entries are *telling*: their sum over a window is zero just where there is no group.

    ``sums`` says how many intervals' values may end up in one sum: integers are widened where that could overflow.
    """

    def __init__(self, components: Sequence[Component], b: int, sums: int) -> None:
        self.components, self.b, self.sums = tuple(components), b, sums
        self.newest = 0
        rows = [number for number, component in enumerate(components) if isinstance(component, Rows)]
        self._rows = rows[0] if rows else None
        self._may_be_twins = [
            number for number, component in enumerate(components) if rows and isinstance(component, Count)
        ]
        self._twin_from = dict.fromkeys(self._may_be_twins, 0)
        additive = (number for number, component in enumerate(components) if component.capabilities.subtractable)
        self._telling_from = {number: 0 for number in additive if components[number].parts == 1}
        self._set_twins(self._may_be_twins)
        self._arena = self._empty_arena()
        self._ends: deque[int] = deque()
        self._dropped = 0

    def append(self, partials: Partials) -> Partials:
        """Takes the newest interval in; returns it as stored: each code once, integers guarded."""
        if repeats(partials.codes):
            wide = tuple(
                self._guarded(state, number, len(partials.codes)) for number, state in enumerate(partials.states)
            )
            partials = merge(self.components, [Partials(partials.codes, wide)])
        states = tuple(self._guarded(state, number) for number, state in enumerate(partials.states))
        stored = Partials(partials.codes, states)
        self._revise_twins(stored)
        self._revise_telling(stored)
        self._arena.append(self._physical(stored.codes, states))
        self.newest += 1
        self._ends.append(self._dropped + len(self._arena))
        while len(self._ends) > self.b:
            self._drop_oldest()
        return stored

    def extend(self, b: int, sums: int) -> None:
        if b <= self.b:
            return
        self.b, self.sums = b, sums
        self._twin_from |= dict.fromkeys(self._twin_from.keys() - self.twins.keys(), self.newest + b)
        self._telling_from |= dict.fromkeys(self._telling_from.keys() - {*self.telling}, self.newest + b)
        codes, states = self.between(self.oldest, self.newest)
        self._refill(codes, [self._guarded(state, number) for number, state in enumerate(states)])

    @property
    def telling(self) -> tuple[int, ...]:
        """The components that are telling now, twins left out."""
        return tuple(
            number for number, since in self._telling_from.items() if since <= self.newest and number not in self.twins
        )

    @property
    def oldest(self) -> int:
        return self.newest - len(self._ends)

    def count(self, start: int, end: int) -> int:
        """How many entries intervals ``start``..``end``−1 have."""
        return self._end(end) - self._end(start) if end > start else 0

    def between(self, start: int, end: int) -> tuple[Array, list[State]]:
        """Codes and states of intervals ``start``..``end``−1, as views."""
        if end <= start:
            start = end = self.oldest
        codes, *columns = self._arena.slice(self._end(start) - self._dropped, self._end(end) - self._dropped)
        states: list[State] = [()] * len(self.components)
        at = 0
        for number, component in enumerate(self.components):
            if number not in self.twins:
                states[number] = tuple(columns[at : at + component.parts])
                at += component.parts
        for number, twin in self.twins.items():
            states[number] = states[twin]
        return codes, states

    def codes(self) -> Array:
        return self._arena.slice(0, len(self._arena))[0]

    def absorb_into(self, accumulator: Accumulator, start: int, end: int) -> None:
        """Adds intervals ``start``..``end``−1; where ``end`` comes first, takes ``end``..``start``−1 away."""
        if end > start:
            accumulator.absorb(*self.between(start, end))
        elif end < start:
            accumulator.absorb(*self.between(end, start), sign=-1)

    def __len__(self) -> int:
        return len(self._arena)

    @property
    def nbytes(self) -> int:
        return self._arena.nbytes

    def _end(self, interval: int) -> int:
        """Where the entries before ``interval`` end, counted from the first entry ever."""
        position = interval - self.oldest
        return self._ends[position - 1] if position > 0 else self._dropped

    def _drop_oldest(self) -> None:
        end = self._ends.popleft()
        self._arena.drop(end - self._dropped)
        self._dropped = end

    def _guarded(self, state: State, number: int, times: int = 1) -> State:
        return self.components[number].guard(state, self.sums * times)

    def _physical(self, codes: Array, states: Sequence[State]) -> list[Array]:
        kept = (state for number, state in enumerate(states) if number not in self.twins)
        return [codes.astype(_CODE, copy=False), *(part for state in kept for part in state)]

    def _empty_arena(self) -> Arena:
        parts = self._physical(np.empty(0, dtype=_CODE), [component.identity(0) for component in self.components])
        return Arena([part.dtype for part in parts], self.sums)

    def _refill(self, codes: Array, states: Sequence[State]) -> None:
        arena = self._empty_arena()
        arena.append(self._physical(codes, states))
        self._arena = arena

    def _set_twins(self, numbers: Sequence[int]) -> None:
        self.twins = {number: self._rows for number in numbers if self._rows is not None}

    def _revise_telling(self, newest: Partials) -> None:
        for number in self._telling_from:
            values = newest.states[number][0]
            if values.dtype.kind != "i" or (len(values) and values.min() <= 0):
                self._telling_from[number] = self.newest + self.b + 1

    def _revise_twins(self, newest: Partials) -> None:
        """A count stops being a twin at the first NULL, and is one again when the NULLs are b intervals old."""
        if self._rows is None:
            return
        rows = newest.states[self._rows][0]
        for number in self._may_be_twins:
            if not np.array_equal(newest.states[number][0], rows):
                self._twin_from[number] = self.newest + self.b
        wanted = [number for number in self._may_be_twins if self._twin_from[number] <= self.newest]
        if wanted != list(self.twins):
            codes, states = self.between(self.oldest, self.newest)
            if self.newest - self.oldest == self.b:
                first = self.count(self.oldest, self.oldest + 1)
                self._drop_oldest()
                codes, states = codes[first:], [tuple(part[first:] for part in state) for state in states]
            self._set_twins(wanted)
            self._refill(codes, states)
