"""The interval synopsis: disjoint dyadic blocks of 1, 2, 4 … b intervals (dissertation 2.3.4, figure 2.5).

Block j of level l covers intervals [j·2^l, (j+1)·2^l). A window is put together from at most 2·log2(b) of them; an
update completes on average one block above level 0, so it costs one merge, amortized. Blocks longer than b, or reaching
further back, serve no window and are not kept: with b = 100 there are 197 at most, the largest of 64 intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from synopses.accumulator import Accumulator, code_space, merge, repeats
from synopses.algebra import Component
from synopses.carriers import Array
from synopses.dyadic_blocks import DyadicBlocks, compact
from synopses.merged import Merged, Partials, ProbeCost


def power_of_two(b: int) -> int:
    """The least power of two that is at least ``b``."""
    return 1 << max(b - 1, 0).bit_length()


def dyadic_cover(start: int, end: int, top: int) -> Iterator[tuple[int, int]]:
    """Blocks (level, index) of at most level ``top`` that make up intervals [start, end), oldest first."""
    while start < end:
        aligned = (start & -start).bit_length() - 1 if start else top
        level = min(aligned, (end - start).bit_length() - 1, top)
        yield level, start >> level
        start += 1 << level


class IntervalSynopsis:
    """Dyadic blocks of the last ``b`` intervals of several components."""

    def __init__(self, components: Sequence[Component], b: int) -> None:
        self.components = tuple(components)
        self.b = b
        self.last_probe = self.last_update = ProbeCost()
        self._newest = self._intervals = 0
        self._blocks = DyadicBlocks(components, b.bit_length())

    @property
    def top(self) -> int:
        """The level of the largest block: log2 of b rounded down."""
        return len(self._blocks.levels) - 1

    def update(self, partials: Partials) -> None:
        """Appends the newest interval and merges the pairs of blocks it completes."""
        times = len(partials.codes) if repeats(partials.codes) else 1
        self._blocks.put(self._newest, merge(self.components, [self._guarded(partials, times)]))
        merges = 0
        for level in range(1, self.top + 1):
            if (self._newest + 1) % (1 << level) or not self._blocks.complete(level, self._newest >> level):
                break
            merges += 1
        self._newest += 1
        self._intervals = min(self._intervals + 1, self.b)
        self._blocks.expire(self._newest - self.b)
        self.last_update = ProbeCost(2 * merges, merges)

    def _guarded(self, partials: Partials, times: int = 1) -> Partials:
        """Integers widened where a sum over the largest block, or over a window, could overflow."""
        intervals = (2 << self.top) * times
        states = zip(self.components, partials.states, strict=True)
        return Partials(partials.codes, tuple(component.guard(state, intervals) for component, state in states))

    def extend(self, b: int) -> None:
        """Larger blocks come into being as their halves are completed from now on."""
        self.b = max(self.b, b)
        self._blocks.levels += [{} for _ in range(self.top + 1, self.b.bit_length())]
        self._blocks.change(self._guarded)

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials per window length, shortest first (see ``Synopsis.probe``)."""
        oldest = self._newest - self._intervals
        end = max(self._newest - age, oldest)
        self.last_probe = ProbeCost()
        for n in sorted(set(windows)):
            blocks = [*self._cover(max(end - n, oldest), end)]
            reads, merges = self.last_probe.reads + len(blocks), self.last_probe.merges + max(len(blocks) - 1, 0)
            self.last_probe = ProbeCost(reads, merges)
            unique = len(blocks) == 1 and not self._blocks.is_joined(*blocks[0])
            yield n, self._merged([self._blocks.levels[level][index] for level, index in blocks], size, unique)

    def _cover(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        for level, index in dyadic_cover(start, end, self.top):
            yield from self._block(level, index)

    def _block(self, level: int, index: int) -> Iterator[tuple[int, int]]:
        """The block, or the halves it would have been made of had they been kept when it was completed."""
        if index in self._blocks.levels[level]:
            yield level, index
        else:
            yield from self._block(level - 1, 2 * index)
            yield from self._block(level - 1, 2 * index + 1)

    def blocks(self) -> list[tuple[int, int]]:
        """The blocks kept, as (first interval, length), shortest and oldest first."""
        levels = enumerate(self._blocks.levels)
        return [(index << level, 1 << level) for level, blocks in levels for index in blocks]

    def _merged(self, blocks: Sequence[Partials], size: int, unique: bool) -> Merged:
        if unique:
            return Merged(blocks[0].codes.astype(np.int64), blocks[0].states)
        codes = np.concatenate([np.empty(0, dtype=np.int32), *(block.codes for block in blocks)])
        accumulator = Accumulator(self.components, size, code_space(codes, size))
        for block in blocks:
            accumulator.absorb(block.codes, block.states)
        return accumulator.merged()

    @property
    def intervals(self) -> int:
        return self._intervals

    @property
    def entries(self) -> int:
        return sum(len(block.codes) for block in self._blocks.stored())

    @property
    def nbytes(self) -> int:
        arrays = [[block.codes, *(part for state in block.states for part in state)] for block in self._blocks.stored()]
        return sum(array.nbytes for columns in arrays for array in columns)

    def codes_in_use(self) -> Array:
        return np.concatenate([np.empty(0, dtype=np.int32), *(block.codes for block in self._blocks.stored())])

    def translate_codes(self, new_codes: Array) -> None:
        """Renumbering keeps the order of codes, so blocks stay sorted."""
        self._blocks.change(lambda block: compact(Partials(new_codes[block.codes], block.states)))
