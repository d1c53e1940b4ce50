"""The aggregates of the language and the operators allowed above them: names, arity, types. Data, no algorithm.

Adding an aggregate is one line here (its signature) and one file in ``synopses/aggregates/`` (its algebra).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from queries.types import Type


def _same(argument: Type) -> Type:
    return argument


def _sum(argument: Type) -> Type:
    return Type.BIGINT if argument.integer else Type.DOUBLE


def _double(_: Type) -> Type:
    return Type.DOUBLE


def _bigint(_: Type) -> Type:
    return Type.BIGINT


def _numeric(argument: Type) -> bool:
    return argument.numeric


def _ordered(argument: Type) -> bool:
    return argument.ordered


def _measured(argument: Type) -> bool:
    return argument.numeric or argument in (Type.DATE, Type.TIMESTAMP)


def _any(_: Type) -> bool:
    return True


@dataclass(frozen=True)
class Signature:
    """``parameters`` counts the literal arguments after the first (the q of QUANTILE, between 0 and 1).

    ``parts`` are the columns an approximate aggregate has beside its answer; ``items`` says that it gives one row per
    item instead of one per group (``queries.approximate``).
    """

    accepts: Callable[[Type], bool]
    result: Callable[[Type], Type]
    takes: str
    parameters: int = 0
    parts: tuple[str, ...] = ()
    items: bool = False


AGGREGATES: dict[str, Signature] = {
    "COUNT": Signature(_any, _bigint, "anything"),
    "SUM": Signature(_numeric, _sum, "a number"),
    "AVG": Signature(_numeric, _double, "a number"),
    "MIN": Signature(_ordered, _same, "a value with an order"),
    "MAX": Signature(_ordered, _same, "a value with an order"),
    "VAR_SAMP": Signature(_numeric, _double, "a number"),
    "VAR_POP": Signature(_numeric, _double, "a number"),
    "STDDEV_SAMP": Signature(_numeric, _double, "a number"),
    "STDDEV_POP": Signature(_numeric, _double, "a number"),
    "COUNT_DISTINCT": Signature(_ordered, _bigint, "a value with an order"),
    "QUANTILE": Signature(_ordered, _same, "a value with an order", parameters=1),
    "QUANTILE_CONT": Signature(_numeric, _double, "a number", parameters=1),
    "APPROX_COUNT_DISTINCT": Signature(_ordered, _bigint, "a value with an order", parts=("low", "high")),
    "APPROX_QUANTILE": Signature(_measured, _same, "a number, a date or a time", 1, parts=("low", "high")),
    "APPROX_TOP_K": Signature(_ordered, _same, "a value with an order", 1, parts=("count", "low", "high"), items=True),
    "TOP_K_LISTS": Signature(
        _ordered, _same, "a value with an order", 1, parts=("count", "low", "high", "delta"), items=True
    ),
}

ALIASES: dict[str, str] = {
    "VARIANCE": "VAR_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "MEAN": "AVG",
}
"""Other names of the same aggregate. MEDIAN(x) is QUANTILE_CONT(x, 0.5), COUNT(DISTINCT x) is COUNT_DISTINCT(x)."""

OPERATORS: tuple[str, ...] = (
    # arithmetic; DIV truncates, / is always a double and NULL on a zero divisor
    "+", "-", "*", "/", "%", "DIV", "NEG",
    # comparison and logic, with SQL's NULLs
    "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IS NULL", "IN", "LIKE",
    # CASE has args (condition, value)*, else
    "CASE", "COALESCE", "NULLIF", "GREATEST", "LEAST", "CAST",
    "ABS", "ROUND", "FLOOR", "CEIL", "SQRT", "EXP", "LN", "LOG10", "POWER",
    "LOWER", "UPPER", "LENGTH", "CONCAT",
)  # fmt: skip
"""What may stand above an aggregate. ``x BETWEEN a AND b`` is parsed as ``x >= a AND x <= b``, IF as CASE.
CAST's target is the Call's own type; ROUND takes (x) or (x, literal digits)."""
