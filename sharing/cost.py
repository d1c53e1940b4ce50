"""What keeping and reading synopses costs per update, in merges of one stored entry; guessed until it is measured.

An entry is one (interval, group) of a synopsis. A synopsis costs a pass over the new interval's records (filter,
then grouping), one entry per new group, and a little for every entry it holds. Reading is one scan of the longest
window for all queries refreshed together (semantics.md 3), then each query's own pass over the groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import log2

from queries.model import Value
from queries.types import Type
from sharing.kept import KeptSynopsis
from sharing.predicates import Predicate
from sharing.reading import Reading
from sharing.request import Request
from sharing.wording import scalar_text

GROUPING = 1.0
"""Grouping one record, against merging one entry."""
FILTERING = 0.2
"""Evaluating one condition (or one step of finding a cell) on one record."""
HOLDING = 0.01
"""Holding one entry for one update: what memory is worth."""


@dataclass(frozen=True)
class Statistics:
    """Records per interval, distinct values of key expressions (by their text), and guesses for what is not known.

    ``selectivity`` is the share of records that pass one condition.
    """

    rows: float = 10_000
    distinct: tuple[tuple[str, int], ...] = ()
    otherwise: int = 1_000
    selectivity: float = 1 / 3

    @cached_property
    def _known(self) -> dict[str, int]:
        return dict(self.distinct)

    def values(self, key: Value) -> int:
        """How many distinct values a key has, NULL among them."""
        return self._known.get(scalar_text(key), 3 if key.type is Type.BOOLEAN else self.otherwise)

    def records(self, predicate: Predicate) -> float:
        """How many records of an interval satisfy a predicate."""
        return 0.0 if predicate.never else self.rows * self.selectivity ** len(predicate.clauses)


DEFAULTS = Statistics()


@dataclass(frozen=True)
class Cost:
    """The cost model over given statistics."""

    statistics: Statistics = DEFAULTS

    def entries(self, predicate: Predicate, keys: Iterable[Value], cells: int = 1) -> float:
        """Groups of one interval: at most one per record, at most one per combination of values."""
        combinations = float(cells)
        for key in keys:
            combinations *= self.statistics.values(key)
        return min(combinations, max(self.statistics.records(predicate), 1.0))

    def held(self, kept: KeptSynopsis) -> float:
        """Entries of one interval of a synopsis."""
        if kept.cells is None:
            return self.entries(kept.predicate, kept.need.keys)
        return self.entries(kept.predicate, kept.need.keys[:-1], kept.cells.cells.count)

    def keeping(self, predicate: Predicate, entries: float, b: int, cells: int = 1) -> float:
        """Per update: the records that must be looked at, the new entries, the entries held."""
        steps = len(predicate.clauses) + (log2(cells) if cells > 1 else 0)
        looked_at = self.statistics.rows * FILTERING * steps
        return looked_at + GROUPING * self.statistics.records(predicate) + entries * (1 + HOLDING * b)

    def keeping_kept(self, kept: KeptSynopsis) -> float:
        cells = kept.cells.cells.count if kept.cells is not None else 1
        return self.keeping(kept.predicate, self.held(kept), kept.b, cells)

    def own(self, request: Request) -> float:
        """A synopsis for this request alone, and reading it."""
        entries = self.entries(request.predicate, request.keys)
        return self.keeping(request.predicate, entries, request.length) + self.reading(entries, [request])

    def reading(self, entries: float, requests: Iterable[Request]) -> float:
        """Per update: for each slide one scan of its longest window, and a pass over the groups for every query."""
        longest: dict[int, int] = {}
        passes = 0.0
        for request in requests:
            longest[request.slide] = max(longest.get(request.slide, 0), request.window)
            passes += 1 / request.slide
        return entries * (sum(window / slide for slide, window in longest.items()) + passes)

    def joining(self, request: Request, kept: KeptSynopsis) -> float:
        """One reader more of a synopsis that is scanned for others: its own pass, and more length if it needs it."""
        return self.held(kept) * (1 / request.slide + HOLDING * max(request.length - kept.b, 0))

    def through(self, reading: Reading, request: Request, sources: Iterable[KeptSynopsis]) -> float:
        """Reading these synopses, and making them longer where they are too short."""
        total = 0.0
        for kept in sources:
            entries = self.held(kept)
            total += self.reading(entries, [request])
            total += entries * HOLDING * max(request.length - kept.b, 0)
        return total
