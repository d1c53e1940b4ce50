"""The running synopsis: prefixes, of which a window is the difference of two (dissertation 2.3.4, figure 2.5).

A prefix of every group after every interval would be b dense copies of all groups, most of them equal. So the entries
of the intervals are kept, and a whole prefix only now and then: whenever about as many entries have come in as there
are groups. A window is then the difference of two kept prefixes, more or less the few entries between its ends and
them: the two prefix reads of semantics.md 3, at a cost that does not depend on the window's length, in space
proportional to the entries. While the live entries are few compared to the groups no prefix is kept at all: a scan of
the entries is then cheaper than touching every group.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from synopses.accumulator import Accumulator, code_space
from synopses.algebra import Component, State
from synopses.carriers import Array
from synopses.components import Rows
from synopses.interval_entries import IntervalEntries
from synopses.merged import Merged, Partials, ProbeCost
from synopses.prefixes import Column, IntegerPrefix, Prefix, prefix_for

_SPACING = 1
"""Entries per group between two kept prefixes."""

_ENOUGH = 2
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
        self._rows = next((i for i, component in enumerate(components) if isinstance(component, Rows)), None)
        self._parts: list[tuple[int, int]] = []
        """The component and its part that each prefix is of; twins have none of their own."""
        self._prefixes: list[Prefix] = []
        self._kept: list[_Kept] = []
        self._size = self._since = self._rebase_at = 0

    def update(self, partials: Partials) -> None:
        """O(entries of the interval), amortized: the kept prefixes and re-basing included."""
        stored = self._entries.append(partials)
        codes = stored.codes
        if len(codes):
            self._size = max(self._size, int(codes.max()) + 1)
        if self._prefixes and (
            len(self._entries) < _ENOUGH * self._size // 2 or self._parts != self._parts_of_their_own()
        ):
            self._give_up()
        elif self._prefixes:
            self._add(stored)
        elif len(self._entries) >= _ENOUGH * self._size:
            self._begin()

    def _parts_of_their_own(self) -> list[tuple[int, int]]:
        own = (number for number in range(len(self.components)) if number not in self._entries.twins)
        return [(number, part) for number in own for part in range(self.components[number].parts)]

    def _begin(self) -> None:
        """Prefixes from now on: where they begin does not matter. Without COUNT(*) to tell which groups occur in a
        window there is one more, a count of entries."""
        self._parts = self._parts_of_their_own()
        dtypes = [self.components[number].identity(0)[part].dtype for number, part in self._parts]
        self._prefixes = [prefix_for(dtype) for dtype in dtypes]
        if self._rows is None:
            self._prefixes.append(IntegerPrefix())
        self._rebase_at = self._entries.newest + self.b
        self._keep()

    def _give_up(self) -> None:
        self._prefixes, self._kept = [], []

    def _add(self, stored: Partials) -> None:
        values = [stored.states[number][part] for number, part in self._parts]
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
        """What is in the prefixes was made to fit sums over fewer intervals, so they begin anew."""
        if b > self.b:
            self.b = b
            self._entries.extend(b, sums=_sums(b))
            self._give_up()

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
            older = self._nearest(start)
            self.last_probe = ProbeCost(self.last_probe.reads + 2, self.last_probe.merges + 1)
            if older is not None and newer.interval > older.interval and self._worth(start, older, newer, end, reached):
                accumulator = self._from_difference(newer, older, size)
                entries.absorb_into(accumulator, newer.interval, end)
                entries.absorb_into(accumulator, start, older.interval)
            else:
                entries.absorb_into(accumulator, start, reached)
            reached = min(start, reached)
            yield n, accumulator.merged()

    def _accumulator(self, size: int, longest: int, end: int) -> Accumulator:
        codes, _ = self._entries.between(max(end - longest, self._entries.oldest), end)
        entries = self._entries
        return Accumulator(self.components, size, code_space(codes, size), entries.twins, entries.telling)

    def _worth(self, start: int, older: _Kept, newer: _Kept, end: int, reached: int) -> bool:
        """Whether subtracting prefixes touches fewer places than scanning on from the previous window."""
        count = self._entries.count
        edges = count(start, older.interval) + count(older.interval, start) + count(newer.interval, end)
        effort = sum(prefix.effort for prefix in self._prefixes) / len(self._prefixes)
        return edges + self._size * effort < count(start, reached)

    def _newest_before(self, end: int) -> _Kept:
        """The latest prefix that ends at or before ``end``; the current one if that is now."""
        if self._prefixes and end == self._entries.newest:
            return _Kept(end, [prefix.now() for prefix in self._prefixes])
        position = bisect_right(self._kept, end, key=lambda kept: kept.interval)
        return self._kept[position - 1] if position else _Kept(-1, [])

    def _nearest(self, start: int) -> _Kept | None:
        """The kept prefix with the fewest entries between it and ``start``. One before ``start`` has a surplus, which
        is taken away again: exact for integers only, and only if COUNT(*) says which groups are then gone."""
        position = bisect_left(self._kept, start, key=lambda kept: kept.interval)
        may_take_away = self._rows is not None and all(isinstance(prefix, IntegerPrefix) for prefix in self._prefixes)
        around = self._kept[max(position - may_take_away, 0) : position + 1]
        return min(around, key=lambda kept: abs(kept.interval - start), default=None)

    def _from_difference(self, newer: _Kept, older: _Kept, size: int) -> Accumulator:
        """Starts with newer − older of each component that is asked for."""

        @cache
        def sums(at: int) -> tuple[Array, Array | None]:
            steps = newer.interval - older.interval
            return self._prefixes[at].difference(newer.columns[at], older.columns[at], size, steps)

        def seen() -> Array:
            """COUNT(*) may have taken in the entries beside the difference by now: then these are added up anew too."""
            rows = self._parts.index((self._rows, 0)) if self._rows is not None else len(self._prefixes) - 1
            return sums(rows)[0] > 0

        def begin(number: int) -> State:
            of_it = [at for at, (component, _) in enumerate(self._parts) if component == number]
            parts = [sums(at) for at in of_it]
            anew = [None if doubtful is None else doubtful & seen() for _, doubtful in parts]
            return tuple(
                part if doubtful is None else self._summed_anew(at, part, doubtful, older.interval, newer.interval)
                for at, (part, _), doubtful in zip(of_it, parts, anew, strict=True)
            )

        entries = self._entries
        there = seen() if self._rows is None else None
        return Accumulator(self.components, size, None, entries.twins, entries.telling, begin, there)

    def _summed_anew(self, at: int, sums: Array, doubtful: Array, start: int, end: int) -> Array:
        """The sums, those that are doubtful added up from their entries, which are all read for that."""
        if not doubtful.any():
            return sums
        self.last_probe = ProbeCost(self.last_probe.reads + end - start, self.last_probe.merges)
        codes, states = self._entries.between(start, end)
        number, part = self._parts[at]
        chosen = doubtful[codes]
        anew = np.zeros(len(doubtful))
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(anew, codes[chosen].astype(np.intp), states[number][part][chosen])
        return np.where(doubtful, anew, sums)

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
        return len(self._entries) + sum(len(kept.columns[0][0]) for kept in self._kept)

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


def _sums(b: int) -> int:
    """A prefix spans the b intervals before the last re-basing and the b since."""
    return 2 * b + 2
