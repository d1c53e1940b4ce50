"""Exact sets of values of one attribute, closed under union, intersection, difference and complement.

The values of an attribute lie on a line: NULL first, then the non-null values in Spark's order (NaN greatest,
strings by their UTF-8 bytes). A cut is a place between values; a domain is an even number of cuts at which
membership turns on and off. Whole-number types have one cut per gap, so ``p < 5`` and ``p <= 4`` are the same
domain; so have the ends of every type (no string lies below ''), so ``p <= 127`` on TINYINT is ``IS NOT NULL``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from queries.types import Type
from sharing.predicates.constants import DISCRETE, Key

Cut = tuple[Any, ...]
"""``(0, key, 0)`` lies just below a key and ``(0, key, 1)`` just above; the three others are named here."""

START: Final[Cut] = (-2,)
LOW: Final[Cut] = (-1,)
HIGH: Final[Cut] = (1,)


def below(type_: Type, key: Key) -> Cut:
    """The cut between the values less than ``key`` and the rest."""
    if isinstance(key, float) and math.isnan(key):
        return HIGH if type_ in DISCRETE else (0, math.inf, 1)
    if type_ in DISCRETE:
        return _whole(type_, key, math.ceil)
    if key == -math.inf or key == "":
        return LOW
    return (0, key, 0)


def above(type_: Type, key: Key) -> Cut:
    """The cut between the values up to ``key`` and the rest."""
    if isinstance(key, float) and math.isnan(key):
        return HIGH
    if type_ in DISCRETE:
        return _whole(type_, key, lambda value: math.floor(value) + 1)
    return (0, key, 1)


def _whole(type_: Type, key: Key, rounding: Any) -> Cut:
    least, greatest = DISCRETE[type_]
    if isinstance(key, float) and math.isinf(key):
        return LOW if key < 0 else HIGH
    value: int = rounding(key)
    if least is not None and value <= least:
        return LOW
    if greatest is not None and value > greatest:
        return HIGH
    return (0, value, 0)


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of values of an attribute, as sorted cuts: in from the first to the second, the third to the fourth, …"""

    type: Type
    cuts: tuple[Cut, ...]

    @staticmethod
    def nothing(type_: Type) -> Domain:
        return Domain(type_, ())

    @staticmethod
    def everything(type_: Type) -> Domain:
        """All values and NULL."""
        return Domain(type_, (START, HIGH))

    @staticmethod
    def null(type_: Type) -> Domain:
        return Domain(type_, (START, LOW))

    @staticmethod
    def not_null(type_: Type) -> Domain:
        return Domain(type_, (LOW, HIGH))

    @staticmethod
    def compare(type_: Type, op: str, key: Key) -> Domain:
        """Where ``attribute op key`` is true; op is one of =, <>, <, <=, >, >=."""
        low, high = below(type_, key), above(type_, key)
        cuts = {
            "=": (low, high),
            "<>": (LOW, low, high, HIGH),
            "<": (LOW, low),
            "<=": (LOW, high),
            ">": (high, HIGH),
            ">=": (low, HIGH),
        }[op]
        return _from_pairs(type_, cuts)

    @staticmethod
    def points(type_: Type, keys: Iterable[Key]) -> Domain:
        """Where the attribute equals one of the keys (IN)."""
        return union_all(type_, [Domain.compare(type_, "=", key) for key in keys])

    @property
    def empty(self) -> bool:
        return not self.cuts

    @property
    def full(self) -> bool:
        return self.cuts == (START, HIGH)

    @property
    def has_null(self) -> bool:
        return bool(self.cuts) and self.cuts[0] == START

    @property
    def contiguous(self) -> bool:
        """Whether it is one piece of the line."""
        return len(self.cuts) == 2

    def pieces(self) -> Iterator[tuple[Cut, Cut]]:
        return zip(self.cuts[::2], self.cuts[1::2], strict=True)

    def __or__(self, other: Domain) -> Domain:
        return union_all(self.type, (self, other))

    def __and__(self, other: Domain) -> Domain:
        return ~(~self | ~other)

    def __invert__(self) -> Domain:
        """Everything else, NULL included."""
        cuts = self.cuts[1:] if self.has_null else (START, *self.cuts)
        cuts = cuts[:-1] if cuts and cuts[-1] == HIGH else (*cuts, HIGH)
        return Domain(self.type, cuts)

    def __sub__(self, other: Domain) -> Domain:
        return ~(~self | other)

    def complement_non_null(self) -> Domain:
        """The non-null values outside: where the negation of a comparison is true."""
        return Domain.not_null(self.type) - self

    def issubset(self, other: Domain) -> bool:
        cuts = other.cuts
        for low, high in self.pieces():
            place = bisect_right(cuts, low)
            if place % 2 == 0 or cuts[place] < high:
                return False
        return True

    def isdisjoint(self, other: Domain) -> bool:
        return (self & other).empty

    def contains(self, value: Key | None) -> bool:
        """Whether a value, given by its key (see ``constants``; a float may be NaN), is in the set."""
        if value is None:
            return self.has_null
        if isinstance(value, float) and math.isnan(value):
            return bool(self.cuts) and self.cuts[-1] == HIGH
        if self.type is Type.DECIMAL and isinstance(value, int):
            value = Decimal(value)
        # The place of the value itself: after the cut below it, before the cut above it.
        return bisect_right(self.cuts, (0, value, 0.5)) % 2 == 1


def union_all(type_: Type, domains: Iterable[Domain]) -> Domain:
    """The union of many domains in one sweep."""
    pieces = sorted(piece for domain in domains for piece in domain.pieces())
    cuts: list[Cut] = []
    for low, high in pieces:
        if cuts and low <= cuts[-1]:
            cuts[-1] = max(cuts[-1], high)
        else:
            cuts += (low, high)
    return Domain(type_, tuple(cuts))


def _from_pairs(type_: Type, cuts: tuple[Cut, ...]) -> Domain:
    """A domain from pairs of cuts of which some may be empty or touch."""
    pairs = [pair for pair in zip(cuts[::2], cuts[1::2], strict=True) if pair[0] < pair[1]]
    return union_all(type_, [Domain(type_, pair) for pair in pairs])
