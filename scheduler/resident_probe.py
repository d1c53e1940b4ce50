"""One joint probe of synopses that live outside the driver, as tasks that need nothing but files of partials.

*Scan*: a task reads the rows of its slots of one synopsis once, merged over the segments between all window ends and
beginnings that are asked for, and visits every window on the way, as in the driver (rule CS2). A query whose groups
are the synopsis's groups is answered there as far as its own groups go; of all others the merged states are handed
on, cut by the query's groups. *Combine*: whoever gets all states of some groups answers for them; whoever gets all
rows of an answer finishes it. Both run the driver's own code (``synopses``, ``scheduler.execution``), so there is one
algebra and nothing to keep equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa

from queries.model import Value
from scheduler.execution import execute
from scheduler.partial_answers import complete_in_parts, finish, leaf_rows
from sharing.query_plan import QueryPlan
from sharing.reading import input_of
from synopses.answer import answer
from synopses.changes import exchange
from synopses.merged import Merged
from synopses.preaggregate import INTERVAL, Preaggregation, key_name
from synopses.resident_blocks import by_span, covering
from synopses.resident_files import ResidentFile, concatenated, partials_table, read_file
from synopses.slots import SLOTS, slots_of
from synopses.stream_synopses import StreamSynopses, SynopsisSpec
from synopses.window_read import WindowRead

ROWS, STATES, ANSWER, SHELVED = "rows", "states", "answer", "shelved"
_ENTRIES_PER_TASK = 1_500_000
"""Entries a scanning task holds at a time: about 100 MB."""
_WORTH_A_TASK = 10_000
"""Entries that are not cut further for the sake of more tasks."""


class Shelf(Protocol):
    """Where tasks leave the rows of an answer; sent to them."""

    def put(self, part: str, rows: pa.Table) -> None:
        """Some rows; a part that is put again counts once."""
        ...


@dataclass(frozen=True)
class Asked:
    """An answer to compute: of a query's plan as of update ``end``. Where there is a ``shelf``, tasks leave the rows
    of an answer that need not meet there; by default they come back."""

    end: int
    plan: QueryPlan
    shelf: Shelf | None = None

    @property
    def start(self) -> int:
        return self.end - self.plan.window


@dataclass(frozen=True)
class Together:
    """Answers that are put together from states, over one window and the same groups."""

    end: int
    window: int
    keys: tuple[Value, ...]
    asked: tuple[int, ...]


@dataclass(frozen=True)
class Scan:
    """The rows of slots ``[low, high)`` of one synopsis, about ``entries`` of them."""

    need: int
    low: int
    high: int
    entries: int


@dataclass(frozen=True)
class Piece:
    """What one task hands on. ``of`` is the number of an answer asked for (rows, answers) or of a ``Together``
    (states, of ``need`` and of the ``part``-th share of the groups)."""

    kind: str
    of: int
    table: pa.Table
    need: int = 0
    part: int = 0

    @property
    def target(self) -> tuple[str, int, int]:
        """Pieces with the same target must meet."""
        return self.kind, self.of, self.part


class JointProbe:
    """The work, as a value that can be sent to the tasks."""

    def __init__(
        self,
        needs: Sequence[Preaggregation],
        asked: Sequence[Asked],
        files: Mapping[Preaggregation, Sequence[ResidentFile]],
        tasks: int,
    ) -> None:
        """``files`` are all there are; those that no window reaches are passed over. ``tasks``: how many there should
        at least be, given enough to do."""
        self.needs, self.asked = tuple(needs), tuple(asked)
        self._least = max(1, tasks)
        self._place = {input_of(need): number for number, need in enumerate(self.needs)}
        self._cuts = [self._cut_points(number) for number in range(len(self.needs))]
        self._files = [self._wanted_files(number, files.get(need, ())) for number, need in enumerate(self.needs)]

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        found = []
        for number, files in enumerate(self._files):
            entries = sum(file.rows for _, file in files)
            if not entries:
                continue
            wanted = max(1, -(-entries // _ENTRIES_PER_TASK), min(self._least, entries // _WORTH_A_TASK))
            parts = min(SLOTS, wanted)
            bounds = [SLOTS * part // parts for part in range(parts + 1)]
            found += [Scan(number, low, high, entries // parts) for low, high in pairwise(bounds)]
        return tuple(found)

    @cached_property
    def tasks(self) -> tuple[tuple[Scan, ...], ...]:
        """Scans that are worth a task of their own, and small ones together."""
        bundles: list[list[Scan]] = [[] for _ in range(min(self._least, len(self.scans)))]
        alone = [[scan] for scan in self.scans if scan.entries >= _WORTH_A_TASK]
        for number, scan in enumerate(scan for scan in self.scans if scan.entries < _WORTH_A_TASK):
            bundles[number % len(bundles)].append(scan)
        return tuple(tuple(bundle) for bundle in (*alone, *bundles) if bundle)

    @property
    def rounds(self) -> int:
        """How often pieces must meet: once more where states become rows of an answer that is not whole."""
        return 2 if any(together.keys for together in self._together) else 1

    @property
    def parts(self) -> int:
        """Into how many shares the groups of what is put together from states are cut."""
        return self._least

    def scan(self, scan: Scan) -> Iterator[Piece]:
        """One scanning task."""
        need, cuts = self.needs[scan.need], self._cuts[scan.need]
        synopses = self._read(scan, len(cuts) - 1)
        place = {cut: number for number, cut in enumerate(cuts)}
        node = synopses.node(need)
        for end in sorted({self.asked[number].end for number in self._readers[scan.need]}):
            readers = [number for number in self._readers[scan.need] if self.asked[number].end == end]
            starts = {place[self.asked[number].start]: self.asked[number].start for number in readers}
            lengths = {place[end] - start: end - starts[start] for start in starts}
            for length, merged in synopses.probe(need, list(lengths), len(cuts) - 1 - place[end]):
                if not len(merged.codes):
                    continue
                window = lengths[length]
                read = WindowRead.of(node, need.components, merged, {})
                for number in readers:
                    if number in self._local and self.asked[number].plan.window == window:
                        yield from self._answered(number, read, f"{scan.need}-{scan.low}")
                for number, together in enumerate(self._together):
                    if (together.end, together.window) == (end, window) and self._reads(together, scan.need):
                        yield from self._handed_on(number, scan.need, synopses, merged)

    def shelves(self, number: int) -> bool:
        """Whether the rows of this answer are left on its shelf."""
        asked = self.asked[number]
        return asked.shelf is not None and complete_in_parts(asked.plan.query.select)

    def combine(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """One combining task: all pieces of some targets."""
        by_target: dict[tuple[str, int, int], list[Piece]] = {}
        for piece in pieces:
            by_target.setdefault(piece.target, []).append(piece)
        for (kind, number, part), together in by_target.items():
            if kind == ROWS:
                rows = concatenated([piece.table for piece in together])
                yield Piece(ANSWER, number, finish(self.asked[number].plan.query.select, rows))
            elif kind == STATES:
                yield from self._put_together(number, part, together)
            else:
                yield from together

    def nothing(self, number: int) -> pa.Table:
        """What is answered over a window in which there is nothing."""
        plan = self.asked[number].plan
        synopses = StreamSynopses(tuple(SynopsisSpec(need, 1) for need in self.needs))
        return execute(synopses, [plan])[plan.query.name]

    def _cut_points(self, need: int) -> list[int]:
        asked = [self.asked[number] for number in self._readers[need]]
        return sorted({one.start for one in asked} | {one.end for one in asked})

    def _wanted_files(self, need: int, files: Sequence[ResidentFile]) -> list[tuple[int, ResidentFile]]:
        """The files that make up the segments between the windows' ends, each with the number of its segment."""
        index = by_span(files)
        return [
            (segment, file)
            for segment, (start, end) in enumerate(pairwise(self._cuts[need]))
            for file in covering(index, start, end)
        ]

    @cached_property
    def _readers(self) -> list[list[int]]:
        readers: list[list[int]] = [[] for _ in self.needs]
        for number, asked in enumerate(self.asked):
            for source in asked.plan.sources:
                readers[self._place[source]].append(number)
        return readers

    @cached_property
    def _local(self) -> frozenset[int]:
        """Those whose groups are whole in a scanning task."""
        return frozenset(
            number
            for number, asked in enumerate(self.asked)
            if len(asked.plan.parts) == 1 and asked.plan.base.direct and asked.plan.base.keys
        )

    @cached_property
    def _together(self) -> tuple[Together, ...]:
        found: dict[tuple[int, int, tuple[Value, ...]], list[int]] = {}
        for number, asked in enumerate(self.asked):
            if number not in self._local:
                found.setdefault((asked.end, asked.plan.window, asked.plan.base.keys), []).append(number)
        return tuple(Together(*same, tuple(numbers)) for same, numbers in found.items())

    def _reads(self, together: Together, need: int) -> bool:
        source = input_of(self.needs[need])
        return any(source in self.asked[number].plan.sources for number in together.asked)

    def _read(self, scan: Scan, segments: int) -> StreamSynopses:
        need = self.needs[scan.need]
        tables = []
        for segment, file in self._files[scan.need]:
            if file.low < scan.high and scan.low < file.high:
                table = read_file(file, scan.low, scan.high)
                at = pa.array(np.full(table.num_rows, segment, dtype=np.int64))
                tables.append(table.set_column(table.column_names.index(INTERVAL), INTERVAL, at))
        synopses = StreamSynopses(())
        history = {need: [concatenated(tables)] if tables else []}
        exchange(synopses, (SynopsisSpec(need, segments),), history, segments)
        return synopses

    def _answered(self, number: int, read: WindowRead, task: str) -> Iterator[Piece]:
        select = self.asked[number].plan.query.select
        if self.shelves(number):
            yield self._shelved(number, task, answer(select, read))
            return
        rows = answer(leaf_rows(select), read)
        if rows.num_rows:
            yield Piece(ROWS, number, rows)

    def _handed_on(self, number: int, need: int, synopses: StreamSynopses, merged: Merged) -> Iterator[Piece]:
        """The merged states of one window, as copies: the next window overwrites them."""
        together, own = self._together[number], self.needs[need]
        table = partials_table(own, synopses.node(own), 0, merged.codes, merged.states)
        if not together.keys:
            yield Piece(STATES, number, table.take(pa.array(np.arange(table.num_rows))), need)
            return
        columns = [table[key_name(own.keys.index(key))].combine_chunks() for key in together.keys]
        share = slots_of(columns, table.num_rows) * self.parts // SLOTS
        for part in np.unique(share):
            yield Piece(STATES, number, table.filter(pa.array(share == part)), need, int(part))

    def _put_together(self, number: int, part: int, pieces: Sequence[Piece]) -> Iterator[Piece]:
        together = self._together[number]
        tables: dict[int, list[pa.Table]] = {}
        for piece in pieces:
            tables.setdefault(piece.need, []).append(piece.table)
        synopses = StreamSynopses(())
        sources = {source for asked in together.asked for source in self.asked[asked].plan.sources}
        specs = tuple(SynopsisSpec(self.needs[self._place[source]], 1) for source in sources)
        exchange(synopses, specs, {self.needs[need]: found for need, found in tables.items()}, 1)
        for asked in together.asked:
            yield from self._answered_from(asked, synopses, together, part)

    def _answered_from(self, number: int, synopses: StreamSynopses, together: Together, part: int) -> Iterator[Piece]:
        plan = self.asked[number].plan
        if not together.keys:
            yield Piece(ANSWER, number, execute(synopses, [plan])[plan.query.name])
        elif self.shelves(number):
            yield self._shelved(number, f"states-{part}", execute(synopses, [plan])[plan.query.name])
        else:
            rows_only = replace(plan.query, select=leaf_rows(plan.query.select))
            in_part = replace(plan, query=rows_only, shares_output_of=None)
            rows = execute(synopses, [in_part])[plan.query.name]
            if rows.num_rows:
                yield Piece(ROWS, number, rows)

    def _shelved(self, number: int, part: str, rows: pa.Table) -> Piece:
        shelf = self.asked[number].shelf
        assert shelf is not None
        if rows.num_rows:
            shelf.put(part, rows)
        return Piece(SHELVED, number, pa.table({"rows": [rows.num_rows]}))
