"""A good partition of many sub-groups in milliseconds, where all partitions are too many to try.

Start from the best partition into runs of neighbouring slides, then improve it step by step: move part of a block,
merge two blocks, until nothing helps; then again from shaken-up copies of the best found, while effort is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from scheduler.coincidence import Overlaps
from scheduler.cost import CostTerms

Blocks = tuple[tuple[int, ...], ...]
"""Blocks of positions, ascending in each block: the first has the shortest slide and leads the block."""

EPSILON = 1e-12

EFFORT = 10_000
"""The number of blocks looked at, over all partitions bounded or tried, that keeps a search within some tens of
milliseconds."""

KICKS = 48
"""How often the best partition found is shaken up."""


def search(slides: Sequence[int], terms: CostTerms) -> Blocks:
    """A partition of the positions with low cost per update; ``slides`` ascending and distinct. Deterministic."""
    landscape = _Landscape(slides, terms)
    everything = tuple(range(len(slides)))
    best, cost = _improved(_contiguous(slides, terms), landscape)
    dice = Random(len(slides))
    starts = [(everything,), tuple((position,) for position in everything)]
    for turn in range(len(starts) + KICKS):
        if landscape.effort <= 0:
            break
        found, reached = _improved(starts[turn] if turn < len(starts) else _kicked(best, dice), landscape)
        if reached < cost - EPSILON:
            best, cost = found, reached
    return best


def _kicked(blocks: Blocks, dice: Random) -> Blocks:
    """A copy with a third of the positions, at least two, in other blocks or alone."""
    where = {position: index for index, block in enumerate(blocks) for position in block}
    for position in dice.sample(sorted(where), min(len(where), max(2, len(where) // 3))):
        where[position] = dice.randrange(len(blocks) + 1)
    shaken: dict[int, list[int]] = {}
    for position in sorted(where):
        shaken.setdefault(where[position], []).append(position)
    return tuple(tuple(block) for block in shaken.values())


def cost_of(blocks: Blocks, slides: Sequence[int], terms: CostTerms) -> float:
    """The cost per update of one partition, to the accuracy of ``Overlaps``."""
    return _Landscape(slides, terms).survey(blocks).cost


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
        self.effort = EFFORT
        self._overlaps = Overlaps(slides)
        self._blocks: dict[tuple[int, ...], tuple[float, tuple[float, ...]]] = {}
        self._alone: dict[tuple[int, int], float] = {}

    def survey(self, blocks: Blocks) -> _Survey:
        """Each block pays its scan when none with a longer scan is due with it, and what is its own always."""
        self.effort -= len(blocks)
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


def _improved(blocks: Blocks, landscape: _Landscape) -> tuple[Blocks, float]:
    """Steps to a better neighbour until there is none or no effort is left, the most promising by their bounds first;
    a neighbour whose bound shows that it cannot be better is not looked at. With the cost reached."""
    survey = landscape.survey(blocks)
    while True:
        promising = sorted(
            (bound, neighbour)
            for neighbours in (_merged, _moved)
            for bound, neighbour in neighbours(blocks, survey, landscape)
            if bound < -EPSILON
        )
        landscape.effort -= len(promising)
        for _, neighbour in promising:
            if landscape.effort <= 0:
                return blocks, survey.cost
            surveyed = landscape.survey(neighbour)
            if surveyed.cost < survey.cost - EPSILON:
                blocks, survey = neighbour, surveyed
                break
        else:
            return blocks, survey.cost


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


def _parts(block: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Ways to take a part out of a block (part, rest): its shorter slides, its longer slides, any single one."""
    for cut in range(1, len(block)):
        yield block[:cut], block[cut:]
        yield block[cut:], block[:cut]
    for inner in range(1, len(block) - 1):
        yield block[inner : inner + 1], block[:inner] + block[inner + 1 :]


def _moved(blocks: Blocks, survey: _Survey, landscape: _Landscape) -> Neighbours:
    """Part of a block goes to another block, or becomes one."""
    slides = landscape.slides
    owns = [landscape.own(block) for block in blocks]
    for source, block in enumerate(blocks):
        for part, left in _parts(block):
            own = landscape.own(part)
            gain = -own / slides[block[0]] - landscape.relief(survey, block, source, left)
            gain += (owns[source] - own) * (1 / slides[left[0]] - 1 / slides[block[0]])
            if left[0] == block[0]:
                yield gain + own / slides[part[0]], (*blocks[:source], *blocks[source + 1 :], left, part)
            for target, other in enumerate(blocks):
                if target == source:
                    continue
                leader = min(part[0], other[0])
                bound = gain + own / slides[leader] + owns[target] * (1 / slides[leader] - 1 / slides[other[0]])
                if bound < 0:
                    rest = [kept for index, kept in enumerate(blocks) if index != source and index != target]
                    yield bound, (*rest, left, tuple(sorted(other + part)))
