"""Cells: the disjoint parts into which many predicates on one attribute cut its domain.

Two values belong to one cell if no predicate tells them apart (the data fragments of Krishnamurthy, Wu and
Franklin, on one attribute). A synopsis keyed by (group, cell) holds a disjoint cover of every one of the
predicates: each is the union of its cells. 1,000 predicates ``p < c`` make 1,000 cells and one outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from operator import xor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sharing.predicates.cell_sql import expression
from sharing.predicates.constants import Key
from sharing.predicates.cuts_numpy import segment_numbers
from sharing.predicates.domains import Domain
from sharing.predicates.segments import Segments

OUTSIDE: Final = -1
"""The cell number of records that satisfy none of the predicates: nobody asks for them."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """``cell_of[i]`` is the cell of segment i of the line, or OUTSIDE; cells are numbered along the line.

    ``runs[j]`` are the cells of the j-th input domain as half-open runs of cell numbers, ascending: a range
    predicate is mostly one run, so that a prefix over the cells answers it in two reads.
    """

    line: Segments
    cell_of: tuple[int, ...]
    runs: tuple[tuple[tuple[int, int], ...], ...]

    @cached_property
    def count(self) -> int:
        """How many cells there are, the outside not counted."""
        return max(self.cell_of, default=OUTSIDE) + 1

    @property
    def has_outside(self) -> bool:
        return OUTSIDE in self.cell_of

    def members(self, index: int) -> Numbers:
        """The cells whose union is the input domain with that index, ascending."""
        runs = [np.arange(low, high, dtype=np.int64) for low, high in self.runs[index]]
        return np.concatenate(runs) if runs else np.empty(0, dtype=np.int64)

    def domain(self, cell: int) -> Domain:
        """The values of one cell (or of OUTSIDE)."""
        return self.line.domain(sum(1 << i for i, number in enumerate(self.cell_of) if number == cell))

    def cell_sql(self, attribute: str) -> str:
        """Spark SQL that gives a record's cell number as an INT, OUTSIDE where no predicate holds."""
        return expression(attribute, self.line, self.cell_of)

    def assign(self, values: Iterable[Key | None] | npt.NDArray[Any]) -> Numbers:
        """The cell of each value, given by its key (dates as days, timestamps as microseconds; None is NULL)."""
        return np.asarray(self.cell_of, dtype=np.int64)[segment_numbers(self.line, values)]


def cut(domains: Sequence[Domain]) -> Cells:
    """The cells induced by domains of one attribute (at least one)."""
    line = Segments.of(domains[0].type, domains)
    toggled = [0] * len(line.cuts)
    for index, domain in enumerate(domains):
        for place in domain.cuts:
            toggled[line.place[place]] ^= 1 << index
    signatures = list(accumulate(toggled[:-1], xor))
    numbers: dict[int, int] = {0: OUTSIDE}
    for signature in signatures:
        numbers.setdefault(signature, len(numbers) - 1)
    cell_of = tuple(numbers[signature] for signature in signatures)
    # Segments after which the numbering does not simply go on; a stretch without one is a run as it stands.
    breaks = list(accumulate((b != a + 1 for a, b in pairwise(cell_of)), initial=0))
    runs = []
    for domain in domains:
        stretches = line.runs(domain)
        if all(breaks[low] == breaks[high - 1] for low, high in stretches):
            runs.append(_joined(sorted((cell_of[low], cell_of[high - 1] + 1) for low, high in stretches)))
        else:
            cells = {cell for low, high in stretches for cell in cell_of[low:high]}
            runs.append(_joined((cell, cell + 1) for cell in sorted(cells)))
    return Cells(line, cell_of, tuple(runs))


def _joined(stretches: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted stretches of cell numbers as runs: what touches or overlaps becomes one."""
    runs: list[tuple[int, int]] = []
    for low, high in stretches:
        if runs and low <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(high, runs[-1][1]))
        else:
            runs.append((low, high))
    return tuple(runs)
