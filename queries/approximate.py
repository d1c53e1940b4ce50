"""The arguments of the approximate aggregates, and the columns each of them stands for.

``APPROX_… AS d`` in a SELECT list gives ``d`` and its bounds ``d_low``, ``d_high``; the top-k kind gives one row per
item: the item as ``d``, ``d_count``, the bounds of the count, and for TOP_K_LISTS ``d_delta``. Each column is an
``AggregateCall`` of its own that differs in ``part``.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from queries.dialect import HemiolaSQL
from queries.sql_errors import Refusal

MOST_ROWS = 10_000
"""The largest k of a top-k aggregate."""
_LARGEST_DOUBLE = "1.7976931348623157E308"


@dataclass(frozen=True)
class Precision:
    """What the optional last argument may be: an error (below 1) or a size of the sketch (from 1)."""

    error: str
    least_error: float
    size: str
    most: int


PRECISIONS: dict[str, Precision] = {
    "APPROX_COUNT_DISTINCT": Precision("relative error", 0.0015, "number of registers", 1 << 21),
    "APPROX_QUANTILE": Precision("error of the rank, as a share", 0.0001, "k of the sketch", 65_535),
    "APPROX_TOP_K": Precision("error of the counts, as a share of all records", 0.000001, "size of the table", 1 << 24),
}

_USAGE = {
    "APPROX_COUNT_DISTINCT": "APPROX_COUNT_DISTINCT(x) or APPROX_COUNT_DISTINCT(x, precision)",
    "APPROX_QUANTILE": "APPROX_QUANTILE(x, q) or APPROX_QUANTILE(x, q, precision)",
    "APPROX_TOP_K": "APPROX_TOP_K(x, k) or APPROX_TOP_K(x, k, precision)",
    "TOP_K_LISTS": "TOP_K_LISTS(x, k) or TOP_K_LISTS(x, k, weight)",
}
APPROXIMATE = frozenset(_USAGE)


@dataclass(frozen=True)
class Arguments:
    """A call taken apart; ``weight`` only of TOP_K_LISTS."""

    argument: exp.Expr
    parameters: tuple[float, ...]
    weight: exp.Expr | None = None


def arguments_of(call: exp.Anonymous, function: str) -> Arguments:
    """Checks number and range of what the user wrote."""
    written = list(call.expressions)
    least = 1 if function == "APPROX_COUNT_DISTINCT" else 2
    if not least <= len(written) <= least + 1:
        raise Refusal(
            call, f"{function} takes {least} or {least + 1} arguments, not {len(written)}", f"write {_USAGE[function]}"
        )
    argument, *rest = written
    if isinstance(argument, (exp.Star, exp.Distinct)):
        raise Refusal(call, f"{function} takes one value per record", f"write {_USAGE[function]}")
    parameters: list[float] = []
    if function == "APPROX_QUANTILE":
        parameters.append(_share(rest.pop(0)))
    elif function != "APPROX_COUNT_DISTINCT":
        parameters.append(_rows(function, rest.pop(0)))
    if function == "TOP_K_LISTS":
        return Arguments(argument, tuple(parameters), rest[0] if rest else None)
    return Arguments(argument, (*parameters, *(_precision(function, node) for node in rest)))


def listed_weight(weight: exp.Expr, item: exp.Expr) -> exp.Expr:
    """The weight a record adds to its item: none for a NULL item, a NULL, negative, infinite or NaN weight.

    Lists promise that a counter never exceeds the true weight, which holds only if nothing is ever taken away.
    """
    counts = exp.and_(
        exp.Is(this=item.copy(), expression=exp.Null()).not_(),
        exp.GT(this=weight.copy(), expression=exp.Literal.number(0)),
        exp.LTE(this=weight.copy(), expression=exp.Literal.number(_LARGEST_DOUBLE)),
    )
    return exp.Case(ifs=[exp.If(this=counts, true=weight.copy())], default=exp.Literal.number(0))


def _number(node: exp.Expr) -> float | None:
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


def _text(node: exp.Expr) -> str:
    return node.sql(dialect=HemiolaSQL)


def _share(node: exp.Expr) -> float:
    share = _number(node)
    if share is not None and 0 <= share <= 1:
        return share
    raise Refusal(
        node,
        f"the second argument of APPROX_QUANTILE is a constant between 0 and 1, not {_text(node)}",
        "the 90th percentile is APPROX_QUANTILE(x, 0.9)",
    )


def _rows(function: str, node: exp.Expr) -> float:
    k = _number(node)
    if k is not None and k.is_integer() and 1 <= k <= MOST_ROWS:
        return k
    raise Refusal(
        node,
        f"the second argument of {function} is a whole number from 1 to {MOST_ROWS}, not {_text(node)}",
        f"write {_USAGE[function]}",
    )


def _precision(function: str, node: exp.Expr) -> float:
    allowed = PRECISIONS[function]
    precision = _number(node)
    if precision is not None and (allowed.least_error <= precision < 1 or 1 <= precision <= allowed.most):
        return precision
    raise Refusal(
        node,
        f"the last argument of {function} is the {allowed.error}, from {allowed.least_error:f} to below 1,"
        f" or the {allowed.size}, up to {allowed.most}, not {_text(node)}",
        f"write {_USAGE[function]}",
    )
