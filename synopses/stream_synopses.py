"""All that is kept of one stream in the driver: key tree, open intervals, synopses, fed by partial aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from synopses.basic_interval import BasicIntervalSynopsis
from synopses.keys import KeyNode, KeyTree
from synopses.merged import Merged
from synopses.partials import OpenIntervals, split_states
from synopses.preaggregate import Preaggregation

_COMPACT_FROM = 4096
"""Codes below which forgetting dead keys is not worth the pass."""


@dataclass(frozen=True)
class SynopsisSpec:
    """A synopsis to keep: the partials of one pre-aggregation, over the last ``b`` intervals."""

    need: Preaggregation
    b: int
    kind: str = "basic_interval"


class StreamSynopses:
    """The synopses of one stream. ``ingest`` takes partials in any order and any number of pieces; ``close`` moves
    one whole interval into every synopsis, which is what an update is."""

    def __init__(self, specs: Sequence[SynopsisSpec]) -> None:
        self.specs = tuple(specs)
        self.tree = KeyTree()
        self._nodes = {spec.need: self.tree.node(spec.need.keys) for spec in specs}
        self._open = {spec.need: OpenIntervals(spec.need.components) for spec in specs}
        self._synopses = {spec.need: BasicIntervalSynopsis(spec.need.components, spec.b) for spec in specs}
        self._compact_at = _COMPACT_FROM

    def ingest(self, need: Preaggregation, table: pa.Table) -> None:
        """Buffers a table of partial aggregates (``synopses.preaggregate``)."""
        self._open[need].add(*split_states(table, need, self._nodes[need]))

    def close(self, interval: int) -> None:
        """Moves an interval that no more records can belong to into the synopses."""
        for need, synopsis in self._synopses.items():
            synopsis.update(self._open[need].close(interval))
        if self.tree.entries() > self._compact_at:
            users = [(self._nodes[need], user) for need in self._nodes for user in (self._open[need], self.synopsis(need))]
            self.tree.compact(users)
            self._compact_at = max(_COMPACT_FROM, 2 * self.tree.entries())

    def probe(self, need: Preaggregation, windows: Sequence[int], age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials per window length, shortest first, of windows that end ``age`` intervals ago."""
        return self._synopses[need].probe(windows, self._nodes[need].size, age)

    def node(self, need: Preaggregation) -> KeyNode:
        return self._nodes[need]

    def synopsis(self, need: Preaggregation) -> BasicIntervalSynopsis:
        return self._synopses[need]

    @property
    def entries(self) -> int:
        return sum(synopsis.entries for synopsis in self._synopses.values())

    @property
    def nbytes(self) -> int:
        return sum(synopsis.nbytes for synopsis in self._synopses.values())
