"""How merged states are read from synopses: which of them, added or taken away, and which cells of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from queries.model import Value
from synopses.algebra import Component
from synopses.preaggregate import Preaggregation
from synopses.topk_lists import Listed


@dataclass(frozen=True)
class Input:
    """What a synopsis is fed with, and what tells it from all others of its stream: which records, grouped how.

    Components are not part of it: a synopsis takes in more of them as queries come. ``listed`` is set for top-k
    lists, which keep only the heaviest groups and so serve nobody else. What is ``resident`` in Spark and what is
    in the driver share nothing.
    """

    where: Value | None
    keys: tuple[Value, ...]
    listed: Component | None = None
    resident: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.where, self.keys, self.listed, self.resident))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Input], tuple[object, ...]]:
        """Hashes differ from process to process: a remembered one must not travel."""
        return Input, (self.where, self.keys, self.listed, self.resident)


@lru_cache(maxsize=4096)
def input_of(need: Preaggregation) -> Input:
    listed = next((component for component in need.components if isinstance(component, Listed)), None)
    return Input(need.where, need.keys, listed, need.resident)


Runs = tuple[tuple[int, int], ...]
"""Half-open runs of cell numbers, ascending."""


@dataclass(frozen=True)
class Term:
    """One synopsis of a reading: its states are added (``sign`` +1) or taken away (−1).

    Of a synopsis keyed by (…, cell) only the groups of ``cells`` count. Keys the reading does not have are merged
    away.
    """

    source: Input
    sign: int = 1
    cells: Runs | None = None


@dataclass(frozen=True)
class Reading:
    """Merged states per group of ``keys``, assembled from ``terms``; ``rule`` is what allows it."""

    keys: tuple[Value, ...]
    terms: tuple[Term, ...]
    rule: str

    @property
    def primary(self) -> Input:
        """The synopsis whose readers can be computed together with this one."""
        return self.terms[0].source

    @property
    def direct(self) -> bool:
        """Whether the synopsis is read just as it stands."""
        (term, *others) = self.terms
        return not others and term.sign > 0 and term.cells is None and term.source.keys == self.keys
