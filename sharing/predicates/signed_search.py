"""Bounded search for the smallest exact combination of arbitrary sets: disjoint adds minus disjoint subtracts.

Sets are bit masks. Whatever is wrong is put right at its lowest bit: a bit that is missing needs a set to add, a
bit too many one to subtract. Depth grows by one at a time, so the first combination found is a smallest one. The
problem is exact cover (NP-hard), hence the budget; combinations of one and two sets are always found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DEEPEST: Final = 200
"""Combinations of more sets are not searched for, whatever the budget."""


@dataclass(frozen=True)
class Found:
    adds: tuple[int, ...]
    subtracts: tuple[int, ...]


@dataclass(frozen=True)
class NotFound:
    """``exhausted`` says that there is none of an allowed size; otherwise the budget ran out."""

    exhausted: bool


def search(
    wanted: int, sets: Iterable[int], *, subtractable: bool, budget: int, fewer_than: int | None = None
) -> Found | NotFound:
    """The smallest combination equal to ``wanted``, of fewer than ``fewer_than`` sets if given."""
    usable = sorted((one for one in set(sets) if one and (subtractable or one & ~wanted == 0)), key=int.bit_count)
    seeker = _Seeker(wanted, usable[::-1], subtractable, budget)
    size = 1
    while fewer_than is None or size < fewer_than:
        seeker.cut_off = False
        found = _pair(wanted, seeker.known, subtractable) if size == 2 else seeker.descend(0, 0, size, (), ())
        if found is not None:
            return found
        if seeker.budget < 0 or size == DEEPEST:
            return NotFound(exhausted=False)
        if size > 2 and not seeker.cut_off:
            return NotFound(exhausted=True)
        size += 1
    return NotFound(exhausted=True)


def _pair(wanted: int, known: set[int], subtractable: bool) -> Found | None:
    for one in sorted(known):
        if one & ~wanted == 0 and wanted & ~one in known:
            return Found((one, wanted & ~one), ())
    if subtractable:
        for one in sorted(known):
            if wanted & ~one == 0 and one & ~wanted in known:
                return Found((one,), (one & ~wanted,))
    return None


class _Seeker:
    def __init__(self, wanted: int, sets: list[int], subtractable: bool, budget: int) -> None:
        self.wanted, self.sets, self.known = wanted, sets, set(sets)
        self.subtractable, self.budget = subtractable, budget
        self.cut_off = False
        self._with_bit: dict[int, list[int]] = {}

    def with_bit(self, bit: int) -> list[int]:
        if bit not in self._with_bit:
            self._with_bit[bit] = [one for one in self.sets if one & bit]
        return self._with_bit[bit]

    def descend(
        self, added: int, taken: int, left: int, adds: tuple[int, ...], subtracts: tuple[int, ...]
    ) -> Found | None:
        """``added`` and ``taken`` are the unions so far; ``left`` more sets may be used."""
        self.budget -= 1
        if self.budget < 0:
            return None
        target = self.wanted | taken
        missing, surplus = target & ~added, added & ~target
        if not missing and not surplus:
            return Found(adds, subtracts)
        lowest = (missing | surplus) & -(missing | surplus)
        blocked = added if lowest & missing else target
        if lowest & surplus and not self.subtractable:
            return None
        fitting = (one for one in self.with_bit(lowest) if not one & blocked)
        if left == 1:
            if missing and not surplus and missing in self.known:
                return Found((*adds, missing), subtracts)
            if surplus and not missing and surplus in self.known:
                return Found(adds, (*subtracts, surplus))
            self.cut_off = self.cut_off or next(fitting, None) is not None
            return None
        for one in fitting:
            if lowest & missing:
                found = self.descend(added | one, taken, left - 1, (*adds, one), subtracts)
            else:
                found = self.descend(added, taken | one, left - 1, adds, (*subtracts, one))
            if found is not None or self.budget < 0:
                return found
        return None
