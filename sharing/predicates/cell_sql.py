"""The cell of a record as a Spark SQL expression.

A few segments become a balanced CASE, which Spark compiles well. A CASE of a thousand leaves takes many seconds to
compile and is then too long a method for the JVM to optimize, so many segments are found by binary search in a
constant array: ten steps for a thousand cuts, and a plan of a few nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from queries.types import Type
from sharing.predicates.constants import DISCRETE, literal
from sharing.predicates.domains import LOW, START, Cut
from sharing.predicates.segments import Segments
from sharing.predicates.wording import quoted

LARGEST_CASE: Final = 32
"""Segments up to which the expression is a CASE."""


def expression(attribute: str, line: Segments, cell_of: tuple[int, ...]) -> str:
    """An INT expression: ``cell_of`` the segment in which the attribute lies."""
    name = quoted(attribute)
    values = line.cuts[line.cuts.index(LOW if LOW in line.cuts else START) : -1]
    cells, inner = cell_of[len(cell_of) - len(values) :], values[1:]
    if len(set(cell_of)) == 1:
        return str(cell_of[0])
    if len(cells) <= LARGEST_CASE or line.type is Type.DECIMAL:
        found = _case(name, line.type, inner, cells)
    else:
        found = _looked_up(name, line.type, inner, cells)
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


def _looked_up(name: str, type_: Type, inner: tuple[Cut, ...], cells: tuple[int, ...]) -> str:
    """The number of cuts at or below the value, found from the highest power of two down, gives the cell.

    Every cut is written as the least value above it, so that one comparison serves both sides of a key.
    """
    least = [_least_above(cut) for cut in inner]
    value = {Type.DATE: f"UNIX_DATE({name})", Type.TIMESTAMP: f"UNIX_MICROS({name})"}.get(type_, name)
    if type_ is Type.STRING:
        keys = f"ARRAY({', '.join(literal(key, type_) for key in least)})"
    else:
        keys = _constant_array(least, "BIGINT" if type_ in DISCRETE else "DOUBLE")
    highest = 1 << (len(least).bit_length() - 1)
    powers = _constant_array([highest >> shift for shift in range(highest.bit_length())], "INT")
    passed = (
        f"AGGREGATE({powers}, 0, (passed, step) -> "
        f"IF(GET({keys}, passed + step - 1) <= {value}, passed + step, passed))"
    )
    return f"GET({_constant_array(cells, 'INT')}, {passed})"


def _constant_array(values: Sequence[int | float], element: str) -> str:
    """An array of numbers that is one node of Spark's plan: split from a text and cast, both folded away."""
    texts = ("Infinity" if value == math.inf else "NaN" if value != value else repr(value) for value in values)
    return f"CAST(SPLIT('{','.join(texts)}', ',') AS ARRAY<{element}>)"


def _least_above(cut: Cut) -> Any:
    _, key, side = cut
    if side == 0:
        return key
    if isinstance(key, str):
        return key + "\0"
    return math.nan if key == math.inf else math.nextafter(key, math.inf) + 0.0
