"""The running synopsis: prefixes, of which a window is the difference of two (dissertation 2.3.4, figure 2.5).

A prefix of every group after every interval would be b dense copies of all groups, most of them equal. So the entries
of the intervals are kept, and a whole prefix only now and then: whenever about three times as many entries have come
in as there are groups. A window is then the difference of two kept prefixes plus the few entries between its ends and
them: the two prefix reads of semantics.md 3, at a cost that does not depend on the window's length, in space
proportional to the entries. While the live entries are few compared to the groups no prefix is kept at all: a scan of
the entries is then cheaper than touching every group.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synopses.accumulator import Accumulator, code_space
from synopses.algebra import Component, State
from synopses.carriers import Array
from synopses.components import Rows
from synopses.interval_entries import IntervalEntries
from synopses.merged import Merged, Partials, ProbeCost
from synopses.prefixes import Column, IntegerPrefix, Prefix, prefix_for

_SPACING = 3
"""Entries per group between two kept prefixes."""

_ENOUGH = 4
"""Live entries per group from which prefixes are worth having; below half of it they are given up."""


@dataclass
class _Kept:
    """The prefixes over all intervals before ``interval``, one column per additive quantity."""

    interval: int
    columns: list[Column]


class RunningSynopsis:
    """Subtractable components only; ``synopses.choice`` sees to that when a plan is made."""

    def __init__(self, components: Sequence[Component], b: int) -> None:
        self.components = tuple(components)
        if not all(component.capabilities.subtractable for component in self.components):
            raise ValueError("a running synopsis subtracts: every component must be subtractable")
        self.b = b
        self.last_probe = self.last_update = ProbeCost()
        self._entries = IntervalEntries(components, b, sums=_sums(b))
        self._presence = _place_of_rows(self.components)
        self._prefixes: list[Prefix] = []
        self._kept: list[_Kept] = []
        self._size = self._since = self._rebase_at = 0

    def update(self, partials: Partials) -> None:
        """O(entries of the interval), amortized: the kept prefixes and re-basing included."""
        stored = self._entries.append(partials)
        codes = stored.codes
        if len(codes):
            self._size = max(self._size, int(codes.max()) + 1)
        if self._prefixes and len(self._entries) < _ENOUGH * self._size // 2:
            self._prefixes, self._kept = [], []
        elif self._prefixes:
            self._add(stored)
        elif len(self._entries) >= _ENOUGH * self._size:
            self._begin()

    def _begin(self) -> None:
        """Prefixes from now on: where they begin does not matter."""
        self._prefixes = [prefix_for(part.dtype) for component in self.components for part in component.identity(0)]
        if self._presence == len(self._prefixes):
            self._prefixes.append(IntegerPrefix())
        self._rebase_at = self._entries.newest + self.b
        self._keep()

    def _add(self, stored: Partials) -> None:
        values = [part for state in stored.states for part in state]
        if len(values) < len(self._prefixes):
            values.append(np.ones(len(stored.codes), dtype=np.int64))
        for prefix, part in zip(self._prefixes, values, strict=True):
            prefix.add(stored.codes, part)
        self._since += len(stored.codes)
        if self._since >= _SPACING * self._size:
            self._keep()
        while self._kept and self._kept[0].interval < self._entries.oldest:
            self._kept.pop(0)
        if self._entries.newest >= self._rebase_at:
            self._rebase()

    def extend(self, b: int) -> None:
        self.b = max(self.b, b)
        self._entries.extend(self.b, sums=_sums(self.b))
        self._rebase_at = self._entries.newest + self.b

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials per window length, shortest first (see ``Synopsis.probe``).

        Two prefixes are read for each, and so they are counted; one that is not kept is made of entries.
        """
        entries = self._entries
        end = max(entries.newest - age, entries.oldest)
        self.last_probe = ProbeCost()
        reached, accumulator = end, self._accumulator(size, max([0, *windows]), end)
        newer = self._newest_before(end)
        for n in sorted(set(windows)):
            start = max(end - n, entries.oldest)
            older = self._oldest_from(start)
            reads = 2
            if older is not None and newer.interval > older.interval and self._worth(start, older, newer, end, reached):
                accumulator = Accumulator(self.components, size, None, entries.twins)
                reads += self._start_from_difference(accumulator, newer, older, size)
                entries.absorb_into(accumulator, newer.interval, end)
                entries.absorb_into(accumulator, start, older.interval)
            else:
                entries.absorb_into(accumulator, start, reached)
            reached = min(start, reached)
            self.last_probe = ProbeCost(self.last_probe.reads + reads, self.last_probe.merges + 1)
            yield n, accumulator.merged()

    def _accumulator(self, size: int, longest: int, end: int) -> Accumulator:
        codes, _ = self._entries.between(max(end - longest, self._entries.oldest), end)
        return Accumulator(self.components, size, code_space(codes, size), self._entries.twins)

    def _worth(self, start: int, older: _Kept, newer: _Kept, end: int, reached: int) -> bool:
        """Whether subtracting prefixes touches fewer places than scanning on from the previous window."""
        count = self._entries.count
        edges = count(start, older.interval) + count(newer.interval, end)
        return edges + self._size * len(self._prefixes) // 2 < count(start, reached)

    def _newest_before(self, end: int) -> _Kept:
        """The latest prefix that ends at or before ``end``; the current one if that is now."""
        if self._prefixes and end == self._entries.newest:
            return _Kept(end, [prefix.now() for prefix in self._prefixes])
        position = bisect_right(self._kept, end, key=lambda kept: kept.interval)
        return self._kept[position - 1] if position else _Kept(-1, [])

    def _oldest_from(self, start: int) -> _Kept | None:
        position = bisect_left(self._kept, start, key=lambda kept: kept.interval)
        return self._kept[position] if position < len(self._kept) else None

    def _start_from_difference(self, accumulator: Accumulator, newer: _Kept, older: _Kept, size: int) -> int:
        """Fills the accumulator with newer − older; returns how many intervals had to be read for exactness' sake."""
        steps = newer.interval - older.interval
        parts: list[Array] = []
        anew: dict[int, Array] = {}
        for number, prefix in enumerate(self._prefixes):
            sums, doubtful = prefix.difference(newer.columns[number], older.columns[number], size, steps)
            parts.append(sums)
            if doubtful is not None:
                anew[number] = doubtful
        seen = parts[self._presence] > 0
        anew = {number: doubtful & seen for number, doubtful in anew.items() if (doubtful & seen).any()}
        if anew:
            self._sum_anew(parts, anew, older.interval, newer.interval)
        states: list[State] = []
        at = 0
        for component in self.components:
            states.append(tuple(parts[at : at + component.parts]))
            at += component.parts
        accumulator.start_from(states, seen)
        return steps if anew else 0

    def _sum_anew(self, parts: list[Array], anew: dict[int, Array], start: int, end: int) -> None:
        codes, states = self._entries.between(start, end)
        columns = [part for state in states for part in state]
        for number, doubtful in anew.items():
            chosen = doubtful[codes]
            sums = np.zeros(len(doubtful))
            with np.errstate(invalid="ignore", over="ignore"):
                np.add.at(sums, codes[chosen].astype(np.intp), columns[number][chosen])
            parts[number] = np.where(doubtful, sums, parts[number])

    def prefixes(self) -> list[int]:
        """Before which intervals a prefix is kept, the current one last; empty while none is."""
        return [kept.interval for kept in self._kept] + ([self._entries.newest] if self._prefixes else [])

    def _keep(self) -> None:
        self._kept.append(_Kept(self._entries.newest, [prefix.keep(self._size) for prefix in self._prefixes]))
        self._since = 0

    def _rebase(self) -> None:
        """Moves the beginning of all prefixes up to the oldest kept one (to now, if none is)."""
        self._rebase_at = self._entries.newest + self.b
        base = self._kept[0].columns if self._kept else [prefix.keep(self._size) for prefix in self._prefixes]
        for number, prefix in enumerate(self._prefixes):
            columns = prefix.rebase(base[number], [kept.columns[number] for kept in self._kept])
            for kept, column in zip(self._kept, columns, strict=True):
                kept.columns[number] = column

    @property
    def intervals(self) -> int:
        return self._entries.newest - self._entries.oldest

    @property
    def entries(self) -> int:
        return len(self._entries) + sum(len(kept.columns[self._presence][0]) for kept in self._kept)

    @property
    def nbytes(self) -> int:
        columns = [column for kept in self._kept for column in kept.columns] + [
            prefix.now() for prefix in self._prefixes
        ]
        return self._entries.nbytes + sum(part.nbytes for column in columns for part in column)

    def codes_in_use(self) -> Array:
        return self._entries.codes()

    def translate_codes(self, new_codes: Array) -> None:
        """Codes without a live entry stand equal in all prefixes, so nothing is lost with them."""
        codes = self._entries.codes()
        live = np.zeros(len(new_codes), dtype=bool)
        live[codes] = True
        kept_codes = np.flatnonzero(live)
        codes[:] = new_codes[codes]
        size = int(new_codes[kept_codes].max()) + 1 if len(kept_codes) else 0
        old_codes = np.full(size, len(new_codes), dtype=np.intp)
        old_codes[new_codes[kept_codes]] = kept_codes
        for number, prefix in enumerate(self._prefixes):
            for kept in self._kept:
                kept.columns[number] = prefix.translate(kept.columns[number], old_codes)
            prefix.translate_now(old_codes)
        self._size = size


def _place_of_rows(components: Sequence[Component]) -> int:
    """Which part tells whether a group occurs in a window: COUNT(*), else one more, a count of entries."""
    place = 0
    for component in components:
        if isinstance(component, Rows):
            break
        place += component.parts
    return place


def _sums(b: int) -> int:
    """A prefix spans the b intervals before the last re-basing and the b since."""
    return 2 * b + 2
