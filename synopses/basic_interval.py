"""The basic interval synopsis: the b short intervals, nothing else (dissertation 2.3.4, figure 2.5).

One scan from youngest to oldest answers every window length on the way, so any number of queries refreshed
together costs at most b reads (rule CS2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synopses.accumulator import Accumulator, code_space
from synopses.algebra import Component
from synopses.carriers import Array
from synopses.interval_entries import IntervalEntries
from synopses.merged import Merged, Partials, ProbeCost


class BasicIntervalSynopsis:
    """Partials of the last ``b`` intervals of several components over one grouping."""

    def __init__(self, components: Sequence[Component], b: int) -> None:
        self.components = tuple(components)
        self.b = b
        self.last_probe = self.last_update = ProbeCost()
        self._entries = IntervalEntries(components, b, sums=b)

    def update(self, partials: Partials) -> None:
        """Appends the newest interval and drops what is older than ``b`` intervals."""
        self._entries.append(partials)

    def extend(self, b: int) -> None:
        """Keeps ``b`` intervals from now on, for a longer window."""
        self.b = max(self.b, b)
        self._entries.extend(self.b, sums=self.b)

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials per window length, shortest first: one scan for all (see ``Synopsis.probe``)."""
        entries = self._entries
        lengths = sorted(set(windows))
        end = max(entries.newest - age, entries.oldest)
        reached = end
        self.last_probe = ProbeCost()
        if not lengths:
            return
        codes, _ = entries.between(max(end - lengths[-1], entries.oldest), end)
        accumulator = Accumulator(self.components, size, code_space(codes, size), entries.twins, entries.telling)
        for n in lengths:
            start = max(end - n, entries.oldest)
            entries.absorb_into(accumulator, start, reached)
            reached = min(start, reached)
            self.last_probe = ProbeCost(end - reached, max(end - reached - 1, 0))
            yield n, accumulator.merged()

    @property
    def intervals(self) -> int:
        return self._entries.newest - self._entries.oldest

    @property
    def entries(self) -> int:
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        return self._entries.nbytes

    def codes_in_use(self) -> Array:
        return self._entries.codes()

    def translate_codes(self, new_codes: Array) -> None:
        codes = self._entries.codes()
        codes[:] = new_codes[codes]
