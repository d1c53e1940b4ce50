"""Dyadic blocks, stored so that they take at most twice what the live intervals' own entries take.

Block ``index`` of ``level`` covers intervals [index·2^level, (index+1)·2^level) and is made of its two halves. Where
groups recur it is *merged*: one entry per group, stored beside its halves. Where that would not halve the entries it
is *joined* instead: the halves' entries side by side, a group occurring more than once, and the halves become views of
it, so that it costs nothing. Hence

- space: what is stored at one merge's remove is at most half of what it was made from, 1 + 1/2 + 1/4 … < 2 in all;
- reading: a joined block has fewer than two entries per group, so a probe reads less than twice as many entries as
  it would of merged blocks, and as many blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from synopses.accumulator import distinct_count, merge
from synopses.algebra import Component
from synopses.carriers import Array
from synopses.merged import Partials


class DyadicBlocks:
    """Blocks by level and index, oldest first within a level."""

    def __init__(self, components: Sequence[Component], levels: int) -> None:
        self.components = tuple(components)
        self.levels: list[dict[int, Partials]] = [{} for _ in range(levels)]
        self._joined: set[tuple[int, int]] = set()

    def put(self, index: int, interval: Partials) -> None:
        """A block of level 0, each code once."""
        self.levels[0][index] = compact(interval)

    def complete(self, level: int, index: int) -> bool:
        """Makes the block from its halves; False if one is missing."""
        left, right = (self.levels[level - 1].get(half) for half in (2 * index, 2 * index + 1))
        if left is None or right is None:
            return False
        codes = np.concatenate([left.codes, right.codes])
        if 2 * distinct_count(codes) <= len(codes):
            self.levels[level][index] = compact(merge(self.components, [left, right]))
        else:
            self._joined.add((level, index))
            self._place(level, index, _concatenated(codes, left, right))
        return True

    def expire(self, oldest: int) -> None:
        """Drops the blocks that begin before interval ``oldest``; a live half of a joined one gets its own arrays."""
        for level in range(len(self.levels) - 1, -1, -1):
            blocks = self.levels[level]
            while blocks and (first := next(iter(blocks))) << level < oldest:
                del blocks[first]
                if (level, first) in self._joined:
                    self._joined.remove((level, first))
                    half = 2 * first + 1
                    if half << (level - 1) >= oldest:
                        self._place(level - 1, half, _copied(self.levels[level - 1][half]))

    def change(self, changed: Callable[[Partials], Partials]) -> None:
        """Replaces what is stored; ``changed`` keeps the number and order of entries."""
        for level, index in list(self._stored()):
            self._place(level, index, changed(self.levels[level][index]))

    def stored(self) -> Iterator[Partials]:
        """Every array held, once: the blocks that are not views of a joined one."""
        return (self.levels[level][index] for level, index in self._stored())

    def is_joined(self, level: int, index: int) -> bool:
        """Whether a code may occur in the block more than once."""
        return (level, index) in self._joined

    def _stored(self) -> Iterator[tuple[int, int]]:
        for level, blocks in enumerate(self.levels):
            for index in blocks:
                if (level + 1, index // 2) not in self._joined:
                    yield level, index

    def _place(self, level: int, index: int, block: Partials) -> None:
        """Stores the block; the halves of a joined one become views of it."""
        self.levels[level][index] = block
        if (level, index) in self._joined:
            middle = len(self.levels[level - 1][2 * index].codes)
            self._place(level - 1, 2 * index, _part(block, slice(None, middle)))
            self._place(level - 1, 2 * index + 1, _part(block, slice(middle, None)))


def compact(block: Partials) -> Partials:
    return Partials(block.codes.astype(np.int32), block.states)


def _part(block: Partials, part: slice) -> Partials:
    return Partials(block.codes[part], tuple(tuple(array[part] for array in state) for state in block.states))


def _copied(block: Partials) -> Partials:
    return Partials(block.codes.copy(), tuple(tuple(array.copy() for array in state) for state in block.states))


def _concatenated(codes: Array, left: Partials, right: Partials) -> Partials:
    states = zip(left.states, right.states, strict=True)
    return Partials(codes, tuple(tuple(map(np.concatenate, zip(*pair, strict=True))) for pair in states))
