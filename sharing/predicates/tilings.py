"""The smallest signed tiling of a domain by pieces of its line, in polynomial time.

A domain is wanted as pairwise disjoint pieces to add, minus pairwise disjoint pieces to subtract. Seen from left
to right the added pieces form runs that tile without a hole; within a run, every stretch outside the wanted domain
must be tiled by subtracted pieces. So a run may begin left of a wanted component, pass over the gaps between
components and end right of one, and a shortest path over the positions of the line finds the cheapest choice.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Piece = tuple[int, int]
"""A stretch of the line between two positions."""

Tiles = tuple[Piece, ...]
_IDLE, _FRESH, _THROUGH = 0, 1, 2
"""Between runs; in a run that began in this gap (its overhang is paid); in a run that came through a component."""

_Node = tuple[int, int]


@dataclass(frozen=True)
class Tiling:
    adds: Tiles
    subtracts: Tiles

    @property
    def cost(self) -> tuple[int, int]:
        """Fewest pieces first, then fewest subtractions."""
        return len(self.adds) + len(self.subtracts), len(self.subtracts)

    def __add__(self, other: Tiling) -> Tiling:
        return Tiling(self.adds + other.adds, self.subtracts + other.subtracts)


@dataclass
class _Line:
    """The pieces by their left and right ends, and shortest tilings by subtracted pieces from and to a position."""

    starting: dict[int, list[int]] = field(default_factory=dict)
    ending: dict[int, list[int]] = field(default_factory=dict)

    @staticmethod
    def of(pieces: Iterable[Piece]) -> _Line:
        line = _Line()
        for low, high in sorted(set(pieces)):
            line.starting.setdefault(low, []).append(high)
            line.ending.setdefault(high, []).append(low)
        return line

    def tiled_from(self, origin: int, limit: int) -> dict[int, Tiles]:
        return _shortest(origin, self.starting, lambda position: position <= limit)

    def tiled_to(self, origin: int, limit: int) -> dict[int, Tiles]:
        return _shortest(origin, self.ending, lambda position: position >= limit)


def _shortest(origin: int, steps: Mapping[int, list[int]], allowed: Callable[[int], bool]) -> dict[int, Tiles]:
    """Breadth first: the fewest pieces that tile exactly between the origin and each position."""
    reached: dict[int, Tiles] = {origin: ()}
    frontier = [origin]
    while frontier:
        following = []
        for position in frontier:
            for target in steps.get(position, ()):
                if target not in reached and allowed(target):
                    reached[target] = (*reached[position], (min(position, target), max(position, target)))
                    following.append(target)
        frontier = following
    return reached


def tile(components: list[Piece], pieces: Iterable[Piece], length: int, *, subtractable: bool) -> Tiling | None:
    """The smallest signed tiling of the components (sorted, apart), or None if there is none.

    Positions run from 0 to ``length``. Without subtraction every component is tiled from inside.
    """
    if not subtractable:
        return _tile_inside(components, pieces)
    line = _Line.of(pieces)
    walk = _Walk(components, line, length)
    return walk.shortest()


def _tile_inside(components: list[Piece], pieces: Iterable[Piece]) -> Tiling | None:
    line = _Line.of(pieces)
    adds: Tiles = ()
    for low, high in components:
        tiles = line.tiled_from(low, high).get(high)
        if tiles is None:
            return None
        adds += tiles
    return Tiling(adds, ())


class _Walk:
    """The shortest path; gap k lies before component k, the last gap after all components."""

    def __init__(self, components: list[Piece], line: _Line, length: int) -> None:
        self.line = line
        self.begins = [0] + [high for _, high in components]
        self.ends = [low for low, _ in components] + [length]
        self.overhang_left = [
            line.tiled_to(low, begin) for (low, _), begin in zip(components, self.begins[:-1], strict=True)
        ]
        self.overhang_right: list[dict[int, Tiles]] = [{}] + [
            line.tiled_from(high, end) for (_, high), end in zip(components, self.ends[1:], strict=True)
        ]
        self.gap_of = [-1] * (length + 1)
        for gap, (begin, end) in enumerate(zip(self.begins, self.ends, strict=True)):
            self.gap_of[begin : end + 1] = [gap] * (end + 1 - begin)
        self.last = len(components)

    def shortest(self) -> Tiling | None:
        start: _Node = (_IDLE, 0)
        best: dict[_Node, tuple[int, int]] = {start: (0, 0)}
        arrived: dict[_Node, tuple[_Node, Tiling]] = {}
        queue: list[tuple[tuple[int, int], _Node]] = [((0, 0), start)]
        while queue:
            cost, node = heapq.heappop(queue)
            if cost > best[node]:
                continue
            if node[0] == _IDLE and self.gap_of[node[1]] == self.last:
                return _collect(node, start, arrived)
            for target, step in self.steps(node):
                total = (cost[0] + step.cost[0], cost[1] + step.cost[1])
                if target not in best or total < best[target]:
                    best[target] = total
                    arrived[target] = (node, step)
                    heapq.heappush(queue, (total, target))
        return None

    def steps(self, node: _Node) -> Iterator[tuple[_Node, Tiling]]:
        state, position = node
        gap = self.gap_of[position]
        if state == _IDLE:
            if position < self.ends[gap]:
                yield (_IDLE, position + 1), Tiling((), ())
            if gap < self.last and position in self.overhang_left[gap]:
                yield (_FRESH, position), Tiling((), self.overhang_left[gap][position])
            return
        may_end = state == _THROUGH and gap > 0 and (position < self.ends[gap] or gap == self.last)
        if may_end and position in self.overhang_right[gap]:
            yield (_IDLE, position), Tiling((), self.overhang_right[gap][position])
        for target in self.line.starting.get(position, ()):
            surplus = self.crossed(state, position, target)
            if surplus is not None:
                still_fresh = state == _FRESH and target <= self.ends[gap]
                yield (_FRESH if still_fresh else _THROUGH, target), Tiling(((position, target),), surplus)

    def crossed(self, state: int, position: int, target: int) -> Tiles | None:
        """What must be subtracted for the gaps whose end this step reaches, None if that cannot be tiled."""
        first = bisect_right(self.ends, position)
        if state == _FRESH and position < self.ends[self.gap_of[position]]:
            first += 1
        surplus: Tiles = ()
        for gap in range(first, self.last):
            end = self.ends[gap]
            if end > target:
                break
            tiles = self.overhang_right[gap].get(end)
            if tiles is None:
                return None
            surplus += tiles
        return surplus


def _collect(node: _Node, start: _Node, arrived: Mapping[_Node, tuple[_Node, Tiling]]) -> Tiling:
    tiling = Tiling((), ())
    while node != start:
        node, step = arrived[node]
        tiling = step + tiling
    return tiling
