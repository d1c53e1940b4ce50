"""The fewest sets whose union is everything wanted: for aggregates that do not mind a record counted twice.

Pieces of one line are chained greedily, which is optimal. Other sets are set cover (NP-hard): a greedy cover
first, then a bounded search for a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterable

from sharing.predicates.segments import bits
from sharing.predicates.signed_search import DEEPEST
from sharing.predicates.tilings import Piece


def chain(components: list[Piece], pieces: Iterable[Piece]) -> tuple[Piece, ...] | None:
    """The fewest pieces, each inside a component, that cover the components (sorted, apart); None if they cannot."""
    ordered = sorted(set(pieces))
    chosen: list[Piece] = []
    index = 0
    for low, high in components:
        reach = low
        while reach < high:
            furthest: Piece | None = None
            while index < len(ordered) and ordered[index][0] <= reach:
                if furthest is None or ordered[index][1] > furthest[1]:
                    furthest = ordered[index]
                index += 1
            if furthest is None or furthest[1] <= reach:
                return None
            chosen.append(furthest)
            reach = furthest[1]
    return tuple(chosen)


def set_cover(wanted: int, sets: Iterable[int], *, budget: int) -> tuple[tuple[int, ...], bool] | None:
    """A smallest cover of ``wanted`` by subsets of it, and whether that is proven; None if there is no cover."""
    usable = _undominated({one for one in sets if one and one & ~wanted == 0})
    union = 0
    for one in usable:
        union |= one
    if union != wanted:
        return None
    forced = _forced(wanted, usable)
    for one in forced:
        wanted &= ~one
    seeker = _Seeker(usable, _greedy(wanted, usable), budget)
    seeker.descend(wanted, ())
    return (*forced, *seeker.best), seeker.budget >= 0


def _forced(wanted: int, sets: list[int]) -> tuple[int, ...]:
    """The sets that alone hold some wanted bit: they are in every cover."""
    once = twice = 0
    for one in sets:
        twice |= once & one
        once |= one
    alone = wanted & ~twice
    return tuple(one for one in sets if one & alone)


def _undominated(sets: set[int]) -> list[int]:
    kept: list[int] = []
    for one in sorted(sets, key=lambda mask: (-mask.bit_count(), mask)):
        if not any(one & ~other == 0 for other in kept):
            kept.append(one)
    return kept


def _greedy(wanted: int, sets: list[int]) -> tuple[int, ...]:
    chosen: list[int] = []
    while wanted:
        best = max(sets, key=lambda one: (one & wanted).bit_count())
        chosen.append(best)
        wanted &= ~best
    return tuple(chosen)


class _Seeker:
    def __init__(self, sets: list[int], best: tuple[int, ...], budget: int) -> None:
        self.sets, self.best, self.budget = sets, best, budget
        self.with_bit: dict[int, list[int]] = {}
        for one in sets:
            for bit in bits(one):
                self.with_bit.setdefault(bit, []).append(one)
        self.largest = max((one.bit_count() for one in sets), default=1)

    def descend(self, missing: int, chosen: tuple[int, ...]) -> None:
        """Branch on the missing bit that the fewest sets hold."""
        if not missing:
            self.best = min(self.best, chosen, key=len)
            return
        self.budget -= 1
        at_least = -(-missing.bit_count() // self.largest)
        if len(chosen) > DEEPEST:
            self.budget = -1
        if self.budget < 0 or len(chosen) + at_least >= len(self.best):
            return
        rarest = min(bits(missing), key=lambda bit: len(self.with_bit[bit]))
        for one in sorted(self.with_bit[rarest], key=lambda mask: -(mask & missing).bit_count()):
            self.descend(missing & ~one, (*chosen, one))
