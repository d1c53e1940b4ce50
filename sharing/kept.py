"""A synopsis of the shared plan: what it is fed with, how long it is, what its cells are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from queries.model import Scalar
from queries.types import Type
from sharing.predicates import OUTSIDE, Cells, Clause, Domain, Predicate
from sharing.reading import Input, Runs, input_of
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import SynopsisSpec


@dataclass(frozen=True)
class CellKey:
    """The last key of a synopsis by cells: the cell of ``attribute``, among records that satisfy ``context``."""

    attribute: str
    context: frozenset[Clause]
    cells: Cells

    @cached_property
    def key(self) -> Scalar:
        return Scalar(self.cells.cell_sql(self.attribute), Type.INT, (self.attribute,))

    def runs_of(self, domain: Domain) -> Runs | None:
        """The cells whose union is the domain, or None if it cuts one or leaves them."""
        line, cell_of = self.cells.line, self.cells.cell_of
        if any(cut not in line.place for cut in domain.cuts):
            return None
        inside = {number for low, high in line.runs(domain) for number in cell_of[low:high]}
        outside = {number for low, high in line.runs(~domain) for number in cell_of[low:high]}
        if OUTSIDE in inside or inside & outside:
            return None
        runs: list[tuple[int, int]] = []
        for number in sorted(inside):
            if runs and runs[-1][1] == number:
                runs[-1] = (runs[-1][0], number + 1)
            else:
                runs.append((number, number + 1))
        return tuple(runs)


@dataclass(frozen=True)
class KeptSynopsis:
    """``b`` intervals of one pre-aggregation; ``kinds`` has one kind of synopsis for each of its components."""

    name: str
    predicate: Predicate
    need: Preaggregation
    b: int = 0
    kinds: tuple[str, ...] = ()
    cells: CellKey | None = None

    @cached_property
    def input(self) -> Input:
        return input_of(self.need)

    @cached_property
    def spec(self) -> SynopsisSpec:
        return SynopsisSpec(self.need, self.b, kinds=self.kinds)
