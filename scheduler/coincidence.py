"""How often periodic blocks fall due together, without walking through a hyperperiod.

A block of period p is due at the multiples of p. Everything the hybrid optimizer asks reduces to the density of a set
of multiples: the share of updates at which at least one block of a set is due.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache


def primitive(periods: Iterable[int]) -> tuple[int, ...]:
    """The periods that are multiples of no other: they have the same multiples."""
    kept: list[int] = []
    for period in sorted(set(periods)):
        if all(period % smaller for smaller in kept):
            kept.append(period)
    return tuple(kept)


def density(periods: Iterable[int]) -> Fraction:
    """The share of updates that are a multiple of at least one period, exactly.

    Time grows exponentially with the number of periods that are tied to each other by common factors; for more than
    some fifteen of them use ``Overlaps``.
    """
    return _density(primitive(periods))


@lru_cache(maxsize=65536)
def _density(periods: tuple[int, ...]) -> Fraction:
    if not periods:
        return Fraction(0)
    components = _tied(periods)
    if len(components) > 1:
        return 1 - math.prod((1 - _density(component) for component in components), start=Fraction(1))
    *others, last = periods
    return _density(tuple(others)) + (1 - _density(_given(last, others))) / last


def _given(period: int, others: Collection[int]) -> tuple[int, ...]:
    """The others' periods as seen on the multiples of ``period`` alone."""
    return primitive(other // math.gcd(other, period) for other in others)


def _tied(periods: Sequence[int]) -> list[tuple[int, ...]]:
    """The periods in classes without a common factor between them; the classes are independent of each other."""
    classes: list[tuple[int, list[int]]] = []
    for period in periods:
        tied = [entry for entry in classes if math.gcd(entry[0], period) > 1]
        classes = [entry for entry in classes if math.gcd(entry[0], period) == 1]
        members = [member for _, group in tied for member in group] + [period]
        classes.append((math.prod(product for product, _ in tied) * period, members))
    return [tuple(sorted(members)) for _, members in classes]


def densities_of_subsets(periods: Sequence[int]) -> list[float]:
    """The density of every subset, at the index whose bits say which periods are in it (2^n values).

    Inclusion and exclusion, summed over subsets of subsets in n·2^n steps; meant for n up to a dozen.
    """
    size = 1 << len(periods)
    multiples, values = [1] * size, [0.0] * size
    for subset in range(1, size):
        lowest = (subset & -subset).bit_length() - 1
        rest = subset & (subset - 1)
        multiples[subset] = math.lcm(multiples[rest], periods[lowest])
        values[subset] = (1 if subset.bit_count() % 2 else -1) / multiples[subset]
    for position in range(len(periods)):
        bit = 1 << position
        for subset in range(size):
            if subset & bit:
                values[subset] += values[subset ^ bit]
    return values


class Overlaps:
    """How often a block is due without any of some others, estimated fast for a fixed list of periods.

    Seen from the updates at which block i is due, block j is due at every q-th, q = p_j / gcd(p_i, p_j). Those are
    marked as bits in a window of ``length`` consecutive ones, so that "any of these" is a bitwise or. The answer is
    exact when the periods' least common multiple is at most ``EXACT_LENGTH`` (the window is then a whole cycle);
    otherwise each q is off by at most 1 / LENGTH, and a q beyond the window is taken as independent of the rest.
    """

    EXACT_LENGTH = 5040
    LENGTH = 2520

    def __init__(self, periods: Sequence[int]) -> None:
        self._periods = tuple(periods)
        cycle = math.lcm(*periods)
        self.exact = cycle <= self.EXACT_LENGTH
        self.length = cycle if self.exact else self.LENGTH
        marks: dict[int, int] = {}
        self._marks: list[list[int]] = []
        self._rare: list[list[float]] = []
        for period in periods:
            steps = [other // math.gcd(other, period) for other in periods]
            for step in set(steps) - marks.keys():
                marks[step] = self._marked(step)
            self._marks.append([marks[step] for step in steps])
            self._rare.append([1 - 1 / step if step > self.length else 1.0 for step in steps])

    def alone(self, position: int, others: int) -> float:
        """The share of the due updates of the period at ``position`` at which none of ``others`` (the positions of
        its bits) is due."""
        row, rare = self._marks[position], self._rare[position]
        met, unmet = 0, 1.0
        while others:
            lowest = others & -others
            other = lowest.bit_length() - 1
            met |= row[other]
            unmet *= rare[other]
            others ^= lowest
        return (1 - met.bit_count() / self.length) * unmet

    def due(self) -> float:
        """The share of updates at which any of the periods is due."""
        shares = (self.alone(position, (1 << position) - 1) / period for position, period in enumerate(self._periods))
        return sum(shares)

    def _marked(self, step: int) -> int:
        """Bits step-1, 2·step-1, … below ``length``."""
        count = self.length // step
        return (((1 << step * count) - 1) // ((1 << step) - 1)) << (step - 1) if count else 0
