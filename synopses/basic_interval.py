"""The basic interval synopsis: the b short intervals, nothing else (dissertation 2.3.4, figure 2.5).

One scan from youngest to oldest answers every window length on the way, so any number of queries refreshed
together costs at most b reads (rule CS2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from synopses.algebra import Component, State
from synopses.arena import Arena
from synopses.carriers import Array
from synopses.merged import Merged, Partials, ProbeCost

_SPARSE = 8
"""Accumulate over the codes present instead of all codes when there are this many times fewer entries."""


class BasicIntervalSynopsis:
    """Partials of the last ``b`` intervals of several components over one grouping."""

    def __init__(self, components: Sequence[Component], b: int) -> None:
        self.components = tuple(components)
        self.b = b
        self.last_probe = ProbeCost()
        dtypes = [part.dtype for component in components for part in component.identity(0)]
        self._arena = Arena([np.dtype(np.int64), *dtypes])
        self._lengths: deque[int] = deque()

    def update(self, partials: Partials) -> None:
        """Appends the newest interval and drops what is older than ``b`` intervals."""
        parts: list[Array] = []
        for component, state in zip(self.components, partials.states, strict=True):
            parts.extend(component.guard(state, self.b))
        self._arena.append([partials.codes, *parts])
        self._lengths.append(len(partials.codes))
        while len(self._lengths) > self.b:
            self._arena.drop(self._lengths.popleft())

    def extend(self, b: int) -> None:
        """Keeps ``b`` intervals from now on, for a longer window."""
        self.b = max(self.b, b)

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials of each window length (in intervals), shortest first; ``size`` is the number of codes.

        Windows end ``age`` intervals before the newest update. States are views of one accumulator: use them before
        asking for the next window.
        """
        lengths = sorted(set(windows))
        kept = np.fromiter(reversed(self._lengths), dtype=np.int64, count=len(self._lengths))
        entries = np.r_[0, np.cumsum(kept)]
        skipped = int(entries[min(age, len(kept))])
        reached = [int(entries[min(n + age, len(kept))]) for n in lengths]
        young = len(self._arena) - skipped
        codes_of, size = self._code_space(reached[-1] - skipped if reached else 0, young, size)
        seen = np.zeros(size, dtype=bool)
        states = [component.identity(size) for component in self.components]
        before = skipped
        self.last_probe = ProbeCost()
        for n, entry in zip(lengths, reached, strict=True):
            if entry > before:
                self._absorb(codes_of, seen, states, len(self._arena) - entry, len(self._arena) - before)
            before = entry
            reads = max(min(n, len(kept) - age), 0)
            self.last_probe = ProbeCost(reads, max(reads - 1, 0))
            present = np.flatnonzero(seen)
            found = present if codes_of is None else codes_of[present]
            yield n, Merged(found, tuple(_taken(state, present, size) for state in states))

    def _code_space(self, entries: int, end: int, size: int) -> tuple[Array | None, int]:
        if entries * _SPARSE >= size:
            return None, size
        codes = np.unique(self._arena.slice(end - entries, end)[0])
        return codes, len(codes)

    def _absorb(self, codes_of: Array | None, seen: Array, states: list[State], start: int, end: int) -> None:
        codes, *parts = self._arena.slice(start, end)
        if codes_of is not None:
            codes = np.searchsorted(codes_of, codes)
        seen[codes] = True
        at = 0
        for position, component in enumerate(self.components):
            state = tuple(parts[at : at + component.parts])
            at += component.parts
            states[position] = component.absorb(states[position], codes, state)

    @property
    def intervals(self) -> int:
        return len(self._lengths)

    @property
    def entries(self) -> int:
        return len(self._arena)

    @property
    def nbytes(self) -> int:
        return self._arena.nbytes

    def codes_in_use(self) -> Array:
        return np.unique(self._arena.slice(0, len(self._arena))[0])

    def translate_codes(self, new_codes: Array) -> None:
        codes = self._arena.slice(0, len(self._arena))[0]
        codes[:] = new_codes[codes]


def _taken(state: State, present: Array, size: int) -> State:
    return state if len(present) == size else tuple(part[present] for part in state)
