"""Filling synopses with history, and exchanging them while the others go on: recovery, registration, removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from synopses.partials import OpenIntervals, split_states
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import AlignedSynopses, StreamSynopses, SynopsisSpec

History = Mapping[Preaggregation, Sequence[pa.Table]]
"""Partial aggregates by pre-aggregation, of closed and open intervals, in any order and any number of pieces."""


def to_fill(current: Sequence[SynopsisSpec], wanted: Sequence[SynopsisSpec]) -> tuple[SynopsisSpec, ...]:
    """The wanted synopses that no current one can stand in for: new, of another kind, or longer."""
    kept = {spec.need: spec for spec in current}
    return tuple(spec for spec in wanted if not _suffices(kept.get(spec.need), spec))


def exchange(synopses: StreamSynopses, wanted: Sequence[SynopsisSpec], history: History, now: int) -> None:
    """Makes ``wanted`` the synopses kept, as of update ``now``. What can stay stays as it is; the rest is filled
    from ``history``; what nobody wants any more goes."""
    filled = {spec.need: spec for spec in to_fill(synopses.specs, wanted)}
    kept = {spec.need: spec for spec in synopses.specs}
    nodes, opened, closed = {}, {}, {}
    for spec in wanted:
        need = spec.need
        nodes[need] = synopses.tree.node(need.keys)
        if need in filled:
            opened[need], closed[need] = _filled(spec, nodes[need], history.get(need, ()), now)
        else:
            opened[need], closed[need] = synopses._open[need], synopses._synopses[need]
    synopses.specs = tuple(spec if spec.need in filled else kept[spec.need] for spec in wanted)
    synopses._nodes, synopses._open, synopses._synopses = nodes, opened, closed


def _filled(
    spec: SynopsisSpec, node: object, tables: Sequence[pa.Table], now: int
) -> tuple[OpenIntervals, AlignedSynopses]:
    opened = OpenIntervals(spec.need.components)
    for table in tables:
        opened.add(*split_states(table, spec.need, node))  # type: ignore[arg-type]
    synopsis = AlignedSynopses(spec)
    for interval in [number for number in opened._pieces if number < now - spec.b]:
        opened.close(interval)
    for interval in range(now - spec.b, now):
        synopsis.update(opened.close(interval))
    return opened, synopsis


def _suffices(current: SynopsisSpec | None, wanted: SynopsisSpec) -> bool:
    return current is not None and current.kind_of_each == wanted.kind_of_each and current.b >= wanted.b
