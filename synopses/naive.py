"""Recompute from scratch: every aggregate over the raw records of a window, in plain Python.

The simplest code that is right, and the oracle of the synopses' tests; it shares nothing with them. Sums and spreads
are exact (rational numbers) and rounded once, at the end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Record:
    """One record: the interval it falls into, its group and its value (None is NULL)."""

    interval: int
    group: Hashable
    value: Any


def window(records: Iterable[Record], end: int, n: int) -> dict[Hashable, list[Any]]:
    """The values of each group in intervals end−n..end−1, in the order of the records."""
    groups: dict[Hashable, list[Any]] = {}
    for record in records:
        if end - n <= record.interval < end:
            groups.setdefault(record.group, []).append(record.value)
    return groups


def recompute(function: str, values: Sequence[Any], parameter: float | None = None) -> Any:
    """An aggregate of one group's values; None is SQL's NULL, on both sides. ROWS is COUNT(*)."""
    if function == "ROWS":
        return len(values)
    present = [value for value in values if value is not None]
    if function == "COUNT":
        return len(present)
    if function == "COUNT_DISTINCT":
        return len({"NaN" if _nan(value) else value for value in present})
    if not present:
        return None
    if parameter is not None:
        return _QUANTILES[function](sorted(present, key=_in_order), Fraction(str(parameter)))
    return _AGGREGATES[function](present)


def top(values: dict[Hashable, Any], k: int) -> list[tuple[Hashable, Any]]:
    """The k groups with the largest values; ties by group, ascending."""
    ordered = sorted(values.items(), key=lambda pair: (_negated(pair[1]), pair[0]))
    return ordered[:k]


def frequencies(values: Sequence[Any]) -> Counter[Any]:
    """How often each value that is not NULL occurs."""
    return Counter(value for value in values if value is not None)


def _total(values: Sequence[Any]) -> Any:
    special = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if special:
        return sum(special)
    exact = sum(map(Fraction, values), Fraction(0))
    return int(exact) if all(isinstance(value, int) for value in values) else float(exact)


def _mean(values: Sequence[Any]) -> float:
    if any(not math.isfinite(value) for value in values):
        return float(_total(values)) / len(values)
    return float(sum(map(Fraction, values), Fraction(0)) / len(values))


def _squares(values: Sequence[Any]) -> Fraction | None:
    """The sum of squared distances from the mean; None if a value is not finite."""
    if any(not math.isfinite(value) for value in values):
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    return sum(((value - mean) ** 2 for value in exact), Fraction(0))


def _variance(values: Sequence[Any], correction: int) -> float | None:
    if len(values) <= correction:
        return None
    squares = _squares(values)
    return math.nan if squares is None else float(squares / (len(values) - correction))


def _deviation(values: Sequence[Any], correction: int) -> float | None:
    variance = _variance(values, correction)
    return None if variance is None else math.sqrt(variance)


def _discrete(ordered: Sequence[Any], share: Fraction) -> Any:
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def _continuous(ordered: Sequence[Any], share: Fraction) -> float:
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    if below == above or not (math.isfinite(below) and math.isfinite(above)):
        return float(below + (above - below) * float(place % 1)) if place % 1 else float(below)
    return float(Fraction(below) + (Fraction(above) - Fraction(below)) * (place % 1))


def _nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _in_order(value: Any) -> tuple[bool, Any]:
    """NaN is the greatest value, as in Spark."""
    return (True, 0.0) if _nan(value) else (False, value)


def _negated(value: Any) -> tuple[bool, Any]:
    return (not _nan(value), 0.0 if _nan(value) else -value)


_AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "SUM": _total,
    "AVG": _mean,
    "MIN": lambda values: min(values, key=_in_order),
    "MAX": lambda values: max(values, key=_in_order),
    "VAR_SAMP": lambda values: _variance(values, 1),
    "VAR_POP": lambda values: _variance(values, 0),
    "STDDEV_SAMP": lambda values: _deviation(values, 1),
    "STDDEV_POP": lambda values: _deviation(values, 0),
}

_QUANTILES: dict[str, Callable[[Sequence[Any], Fraction], Any]] = {"QUANTILE": _discrete, "QUANTILE_CONT": _continuous}
