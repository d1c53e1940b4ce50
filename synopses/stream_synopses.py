"""All that is kept of one stream in the driver: key tree, open intervals, synopses, fed by partial aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from synopses.carriers import Array
from synopses.choice import BASIC_INTERVAL, KINDS
from synopses.keys import KeyNode, KeyTree
from synopses.merged import Merged, Partials, ProbeCost
from synopses.partials import OpenIntervals, split_states
from synopses.preaggregate import Preaggregation

_COMPACT_FROM = 4096
"""Codes below which forgetting dead keys is not worth the pass."""


@dataclass(frozen=True)
class SynopsisSpec:
    """A synopsis to keep: the partials of one pre-aggregation, over the last ``b`` intervals.

    ``kinds`` names a kind for each component of ``need`` (``synopses.choice.choose_kinds``); without it all are kept
    as ``kind``. Components of one kind lie in one synopsis.
    """

    need: Preaggregation
    b: int
    kind: str = BASIC_INTERVAL
    kinds: tuple[str, ...] | None = None

    @property
    def kind_of_each(self) -> tuple[str, ...]:
        return self.kinds if self.kinds is not None else (self.kind,) * len(self.need.components)


class AlignedSynopses:
    """The components of one pre-aggregation, those of a kind together, all fed with the same intervals and groups.

    Every entry goes into each of them, so over any window they find the same groups, in the same order.
    """

    def __init__(self, spec: SynopsisSpec) -> None:
        kinds = spec.kind_of_each
        components = spec.need.components
        self._places = {
            kind: [place for place, own in enumerate(kinds) if own == kind] for kind in dict.fromkeys(kinds)
        }
        self.by_kind = {
            kind: KINDS[kind]([components[place] for place in places], spec.b) for kind, places in self._places.items()
        }

    def update(self, partials: Partials) -> None:
        for kind, synopsis in self.by_kind.items():
            synopsis.update(Partials(partials.codes, tuple(partials.states[place] for place in self._places[kind])))

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        probes = [synopsis.probe(windows, size, age) for synopsis in self.by_kind.values()]
        if len(probes) == 1:
            yield from probes[0]
            return
        order = [place for places in self._places.values() for place in places]
        for found in zip(*probes, strict=True):
            n, first = found[0]
            states = [state for _, merged in found for state in merged.states]
            yield (
                n,
                Merged(first.codes, tuple(state for _, state in sorted(zip(order, states, strict=True), key=_place))),
            )

    def extend(self, b: int) -> None:
        for synopsis in self.by_kind.values():
            synopsis.extend(b)

    @property
    def last_probe(self) -> ProbeCost:
        costs = [synopsis.last_probe for synopsis in self.by_kind.values()]
        return ProbeCost(sum(cost.reads for cost in costs), sum(cost.merges for cost in costs))

    @property
    def entries(self) -> int:
        return sum(synopsis.entries for synopsis in self.by_kind.values())

    @property
    def nbytes(self) -> int:
        return sum(synopsis.nbytes for synopsis in self.by_kind.values())

    def codes_in_use(self) -> Array:
        """Of all of them: the interval synopsis, its b rounded up, reaches further back than the others."""
        return np.concatenate([synopsis.codes_in_use() for synopsis in self.by_kind.values()])

    def translate_codes(self, new_codes: Array) -> None:
        for synopsis in self.by_kind.values():
            synopsis.translate_codes(new_codes)


def _place(pair: tuple[int, object]) -> int:
    return pair[0]


class StreamSynopses:
    """The synopses of one stream. ``ingest`` takes partials in any order and any number of pieces; ``close`` moves
    one whole interval into every synopsis, which is what an update is."""

    def __init__(self, specs: Sequence[SynopsisSpec]) -> None:
        self.specs = tuple(specs)
        self.tree = KeyTree()
        self._nodes = {spec.need: self.tree.node(spec.need.keys) for spec in specs}
        self._open = {spec.need: OpenIntervals(spec.need.components) for spec in specs}
        self._synopses = {spec.need: AlignedSynopses(spec) for spec in specs}
        self._compact_at = _COMPACT_FROM

    def ingest(self, need: Preaggregation, table: pa.Table) -> None:
        """Buffers a table of partial aggregates (``synopses.preaggregate``)."""
        self._open[need].add(*split_states(table, need, self._nodes[need]))

    def close(self, interval: int) -> None:
        """Moves an interval that no more records can belong to into the synopses."""
        for need, synopsis in self._synopses.items():
            synopsis.update(self._open[need].close(interval))
        if self.tree.entries() > self._compact_at:
            users = [
                (self._nodes[need], user) for need in self._nodes for user in (self._open[need], self.synopsis(need))
            ]
            self.tree.compact(users)
            self._compact_at = max(_COMPACT_FROM, 2 * self.tree.entries())

    def probe(self, need: Preaggregation, windows: Sequence[int], age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials of all components of ``need`` per window length, shortest first, of windows that end
        ``age`` intervals ago."""
        return self._synopses[need].probe(windows, self._nodes[need].size, age)

    def node(self, need: Preaggregation) -> KeyNode:
        return self._nodes[need]

    def synopsis(self, need: Preaggregation) -> AlignedSynopses:
        return self._synopses[need]

    @property
    def entries(self) -> int:
        return sum(synopsis.entries for synopsis in self._synopses.values())

    @property
    def nbytes(self) -> int:
        return sum(synopsis.nbytes for synopsis in self._synopses.values())
