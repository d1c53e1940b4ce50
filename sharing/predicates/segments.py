"""The line of one attribute cut into segments by many domains, and domains as bit masks over the segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from queries.types import Type
from sharing.predicates.domains import HIGH, START, Cut, Domain


@dataclass(frozen=True)
class Segments:
    """Segment i lies between ``cuts[i]`` and ``cuts[i + 1]``; the first begins before NULL, the last ends the line."""

    type: Type
    cuts: tuple[Cut, ...]

    @staticmethod
    def of(type_: Type, domains: Iterable[Domain]) -> Segments:
        cuts = {cut for domain in domains for cut in domain.cuts} | {START, HIGH}
        return Segments(type_, tuple(sorted(cuts)))

    @cached_property
    def place(self) -> dict[Cut, int]:
        return {cut: index for index, cut in enumerate(self.cuts)}

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def runs(self, domain: Domain) -> list[tuple[int, int]]:
        """The domain as half-open runs of segment numbers; its cuts must be among those of the line."""
        return [(self.place[low], self.place[high]) for low, high in domain.pieces()]

    def mask(self, domain: Domain) -> int:
        """The domain as a bit per segment."""
        return sum((1 << high) - (1 << low) for low, high in self.runs(domain))

    def domain(self, mask: int) -> Domain:
        """The domain of a bit mask."""
        cuts = [self.cuts[i] for i in range(len(self) + 1) if (mask >> i & 1) != (mask << 1 >> i & 1)]
        return Domain(self.type, tuple(cuts))


def bits(mask: int) -> list[int]:
    """The numbers of the set bits, ascending."""
    return [index for index, digit in enumerate(bin(mask)[:1:-1]) if digit == "1"]
