"""Partial aggregates on their way from a pre-aggregation to the synopses: decoded, coded, cut by interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from synopses.algebra import Component, State
from synopses.carriers import Array
from synopses.keys import KeyNode
from synopses.merged import Partials
from synopses.preaggregate import INTERVAL, Preaggregation, key_name, part_name


def split_states(table: pa.Table, need: Preaggregation, node: KeyNode) -> tuple[Array, Array, tuple[State, ...]]:
    """Intervals, key codes and states of a table of partial aggregates."""
    keys = [_flat(table[key_name(position)]) for position in range(len(need.keys))]
    codes = node.encode(keys, table.num_rows)
    states = tuple(
        component.load([_flat(table[part_name(number, part)]) for part in range(component.parts)])
        for number, component in enumerate(need.components)
    )
    return _flat(table[INTERVAL]).to_numpy(zero_copy_only=False), codes, states


def _flat(column: pa.ChunkedArray) -> pa.Array:
    """Without the copy that combining a single chunk would make."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class OpenIntervals:
    """Partials of intervals not yet closed by an update. Batches may bring an interval in several pieces."""

    def __init__(self, components: Sequence[Component]) -> None:
        self.components = tuple(components)
        self._pieces: dict[int, list[Partials]] = {}

    def add(self, intervals: Array, codes: Array, states: tuple[State, ...]) -> None:
        if not len(intervals):
            return
        if (intervals[1:] < intervals[:-1]).any():
            order = np.argsort(intervals, kind="stable")
            intervals, codes = intervals[order], codes[order]
            states = tuple(tuple(part[order] for part in state) for state in states)
        starts = np.flatnonzero(np.r_[True, intervals[1:] != intervals[:-1]])
        for start, end in zip(starts, [*starts[1:], len(intervals)], strict=True):
            piece = Partials(codes[start:end], tuple(tuple(part[start:end] for part in state) for state in states))
            self._pieces.setdefault(int(intervals[start]), []).append(piece)

    def close(self, interval: int) -> Partials:
        """The partials of one interval, each code once; they leave the buffer."""
        pieces = self._pieces.pop(interval, [])
        if len(pieces) == 1:
            return pieces[0]
        codes: Array = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(piece.codes for piece in pieces)]))
        states = [component.identity(len(codes)) for component in self.components]
        for piece in pieces:
            at = np.searchsorted(codes, piece.codes)
            for number, component in enumerate(self.components):
                states[number] = component.absorb(
                    states[number], at, component.guard(piece.states[number], len(pieces))
                )
        return Partials(codes, tuple(states))

    def intervals(self) -> list[int]:
        """The intervals of which there is something, ascending."""
        return sorted(self._pieces)

    def codes_in_use(self) -> Array:
        pieces = [piece.codes for parts in self._pieces.values() for piece in parts]
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *pieces]))

    def translate_codes(self, new_codes: Array) -> None:
        for parts in self._pieces.values():
            parts[:] = [Partials(new_codes[piece.codes], piece.states) for piece in parts]
