"""A good partition of many sub-groups in milliseconds, where all partitions are too many to try.

Start from the best partition into runs of neighbouring slides, then improve it step by step: move a sub-group,
merge two blocks, split one, until nothing helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scheduler.coincidence import Overlaps
from scheduler.cost import CostTerms

Blocks = tuple[tuple[int, ...], ...]
"""Blocks of positions, ascending in each block: the first has the shortest slide and leads the block."""

EPSILON = 1e-12
_MANY_STARTS_UP_TO = 12

EFFORT = 12_000
"""The number of blocks looked at, over all partitions tried from one start, that keeps a search within some tens of
milliseconds."""


def search(slides: Sequence[int], terms: CostTerms) -> Blocks:
    """A partition of the positions with low cost per update; ``slides`` ascending and distinct."""
    landscape = _Landscape(slides, terms)
    starts = [_contiguous(slides, terms)]
    if len(slides) <= _MANY_STARTS_UP_TO:
        starts += [(tuple(range(len(slides))),), tuple((position,) for position in range(len(slides)))]
    return min((_improved(start, landscape) for start in starts), key=lambda blocks: landscape.survey(blocks).cost)


@dataclass(frozen=True)
class _Survey:
    """What a partition costs per update, and what each block's scans add to it."""

    cost: float
    scans: list[list[float]]


class _Landscape:
    """Surveys partitions; what depends on one block, or on who is due with it, is computed once."""

    def __init__(self, slides: Sequence[int], terms: CostTerms) -> None:
        self.slides = slides
        self.terms = terms
        self._overlaps = Overlaps(slides)
        self._blocks: dict[tuple[int, ...], tuple[float, tuple[float, ...]]] = {}
        self._alone: dict[tuple[int, int], float] = {}

    def survey(self, blocks: Blocks) -> _Survey:
        """Each block pays its scan when none with a longer scan is due with it, and what is its own always."""
        slides = self.slides
        known = [self.block(block) for block in blocks]
        total = sum([own / slides[block[0]] for block, (own, _) in zip(blocks, known, strict=True)])
        scans: list[list[float]] = []
        for term in range(len(self.terms.shared)):
            paid = [0.0] * len(blocks)
            longer = 0
            for value, index in sorted([(-longest[term], index) for index, (_, longest) in enumerate(known)]):
                leader = blocks[index][0]
                alone = self._alone.get((leader, longer))
                if alone is None:
                    alone = self._alone[leader, longer] = self._overlaps.alone(leader, longer)
                paid[index] = -value / slides[leader] * alone
                longer |= 1 << leader
            total += sum(paid)
            scans.append(paid)
        return _Survey(total, scans)

    def block(self, block: tuple[int, ...]) -> tuple[float, tuple[float, ...]]:
        """What the block pays on its own at each execution, and its longest scan in every term."""
        found = self._blocks.get(block)
        if found is None:
            own = sum([self.terms.own[position] for position in block])
            longest = tuple([max([term[position] for position in block]) for term in self.terms.shared])
            found = self._blocks[block] = (own, longest)
        return found

    def own(self, block: tuple[int, ...]) -> float:
        return self.block(block)[0]

    def relief(self, survey: _Survey, block: tuple[int, ...], index: int, left: tuple[int, ...]) -> float:
        """The most that scans can save when block ``index`` keeps only ``left``: all it pays if it changes leader,
        else the share by which its longest scan shrinks."""
        if not left or left[0] != block[0]:
            return sum(paid[index] for paid in survey.scans)
        before, after = self.block(block)[1], self.block(left)[1]
        return sum(
            paid[index] * (1 - kept / longest)
            for paid, longest, kept in zip(survey.scans, before, after, strict=True)
            if longest
        )


def _contiguous(slides: Sequence[int], terms: CostTerms) -> Blocks:
    """The best partition into runs of neighbouring slides if blocks never coincided (dynamic programming)."""
    count = len(slides)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, count + 1):
        choices: list[tuple[float, int]] = []
        maxima, own = [0.0] * len(terms.shared), 0.0
        for start in range(end - 1, -1, -1):
            maxima = [max(value, term[start]) for value, term in zip(maxima, terms.shared, strict=True)]
            own += terms.own[start]
            choices.append((best[start][0] + (sum(maxima) + own) / slides[start], start))
        best.append(min(choices))
    blocks: list[tuple[int, ...]] = []
    end = count
    while end:
        start = best[end][1]
        blocks.append(tuple(range(start, end)))
        end = start
    return tuple(reversed(blocks))


def _improved(blocks: Blocks, landscape: _Landscape) -> Blocks:
    """Steps to a better neighbour until there is none, the most promising by their bounds first; a neighbour whose
    bound shows that it cannot be better is not looked at. Ends after ``EFFORT`` at the latest."""
    survey = landscape.survey(blocks)
    effort = EFFORT
    while True:
        promising = sorted(
            (bound, neighbour)
            for neighbours in (_merged, _split, _moved)
            for bound, neighbour in neighbours(blocks, survey, landscape)
            if bound < -EPSILON
        )
        for _, neighbour in promising:
            effort -= len(neighbour)
            if effort < 0:
                return blocks
            surveyed = landscape.survey(neighbour)
            if surveyed.cost < survey.cost - EPSILON:
                blocks, survey = neighbour, surveyed
                break
        else:
            return blocks


Neighbours = Iterator[tuple[float, Blocks]]
"""Neighbours of a partition, each with a lower bound on the change in cost per update."""


def _merged(blocks: Blocks, survey: _Survey, landscape: _Landscape) -> Neighbours:
    """Two blocks become one: the later's queries run at the earlier's period, its scans are saved at most."""
    slides = landscape.slides
    ranked = sorted(range(len(blocks)), key=lambda index: blocks[index][0])
    for place, second in enumerate(ranked):
        block = blocks[second]
        own, saved = landscape.own(block), sum(paid[second] for paid in survey.scans)
        for first in ranked[:place]:
            bound = own * (1 / slides[blocks[first][0]] - 1 / slides[block[0]]) - saved
            if bound < 0:
                rest = [other for index, other in enumerate(blocks) if index != first and index != second]
                yield bound, (*rest, tuple(sorted(blocks[first] + block)))


def _split(blocks: Blocks, survey: _Survey, landscape: _Landscape) -> Neighbours:
    """The longer slides of a block leave it together."""
    slides = landscape.slides
    for chosen, block in enumerate(blocks):
        rest = blocks[:chosen] + blocks[chosen + 1 :]
        for cut in range(1, len(block)):
            left, right = block[:cut], block[cut:]
            bound = landscape.own(right) * (1 / slides[right[0]] - 1 / slides[block[0]])
            yield bound - landscape.relief(survey, block, chosen, left), (*rest, left, right)


def _moved(blocks: Blocks, survey: _Survey, landscape: _Landscape) -> Neighbours:
    """One sub-group goes to another block, or becomes one."""
    slides = landscape.slides
    owns = [landscape.own(block) for block in blocks]
    for source, block in enumerate(blocks):
        for position in block:
            left = tuple([other for other in block if other != position])
            own = landscape.terms.own[position]
            gain = -own / slides[block[0]] - landscape.relief(survey, block, source, left)
            if left:
                gain += (owns[source] - own) * (1 / slides[left[0]] - 1 / slides[block[0]])
                if position != block[-1]:
                    bound = gain + own / slides[position]
                    yield bound, (*blocks[:source], *blocks[source + 1 :], left, (position,))
            for target, other in enumerate(blocks):
                if target == source:
                    continue
                leader = min(position, other[0])
                bound = gain + own / slides[leader] + owns[target] * (1 / slides[leader] - 1 / slides[other[0]])
                if bound < 0:
                    joined = tuple(sorted((*other, position)))
                    rest = [kept for index, kept in enumerate(blocks) if index != source and index != target]
                    yield bound, (*rest, left, joined) if left else (*rest, joined)
