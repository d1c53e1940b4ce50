"""The cell of a record as a Spark SQL expression.

A few segments become a balanced CASE, which Spark compiles. Many become a binary search over a constant array, as
a fold over the powers of two: ten steps for a thousand segments and a text that stays small, where a CASE of that
size no longer compiles to one method and is interpreted leaf by leaf.
"""

from __future__ import annotations

import math
from typing import Final

from queries.types import Type
from sharing.predicates.constants import literal
from sharing.predicates.domains import LOW, START, Cut
from sharing.predicates.segments import Segments
from sharing.predicates.wording import quoted

LARGEST_CASE: Final = 64
"""Segments up to which the expression is a CASE."""


def expression(attribute: str, line: Segments, cell_of: tuple[int, ...]) -> str:
    """An INT expression: ``cell_of`` the segment in which the attribute lies."""
    name = quoted(attribute)
    values = line.cuts[line.cuts.index(LOW) if LOW in line.cuts else line.cuts.index(START) : -1]
    cells = cell_of[len(cell_of) - len(values) :]
    if len(set(cell_of)) == 1:
        return str(cell_of[0])
    inner = values[1:]
    if len(cells) <= LARGEST_CASE or line.type is Type.DECIMAL:
        found = _case(name, line.type, inner, cells)
    else:
        found = _binary_search(name, line.type, inner, cells)
    return f"CASE WHEN {name} IS NULL THEN {cell_of[0]} ELSE {found} END"


def _case(name: str, type_: Type, inner: tuple[Cut, ...], cells: tuple[int, ...]) -> str:
    """A balanced tree: left of the middle cut or right of it."""
    if len(set(cells)) == 1:
        return str(cells[0])
    middle = len(inner) // 2
    left = _case(name, type_, inner[:middle], cells[: middle + 1])
    right = _case(name, type_, inner[middle + 1 :], cells[middle + 1 :])
    _, key, side = inner[middle]
    return f"CASE WHEN {name} {'<=' if side else '<'} {literal(key, type_)} THEN {left} ELSE {right} END"


def _binary_search(name: str, type_: Type, inner: tuple[Cut, ...], cells: tuple[int, ...]) -> str:
    """The number of cuts at or below the value, found from the highest power of two down, looked up among the cells.

    Every cut is written as the least value above it, so that one comparison serves both sides of a key.
    """
    least = f"ARRAY({', '.join(_least_above(cut, type_) for cut in inner)})"
    highest = 1 << (len(inner).bit_length() - 1)
    powers = ", ".join(str(highest >> shift) for shift in range(highest.bit_length()))
    passed = (
        f"AGGREGATE(ARRAY({powers}), 0, (passed, step) -> "
        f"IF(GET({least}, passed + step - 1) <= {name}, passed + step, passed))"
    )
    return f"GET(ARRAY({', '.join(map(str, cells))}), {passed})"


def _least_above(cut: Cut, type_: Type) -> str:
    _, key, side = cut
    if side == 0:
        return literal(key, type_)
    if isinstance(key, str):
        return literal(key + "\0", type_)
    assert isinstance(key, float)
    return "CAST('NaN' AS DOUBLE)" if key == math.inf else literal(math.nextafter(key, math.inf) + 0.0, type_)
