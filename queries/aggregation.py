"""Aggregate calls of one level: ``SUM(x) FILTER (WHERE p)`` and its kin to ``AggregateCall``, each kept once."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from queries.aggregate_names import OURS
from queries.approximate import APPROXIMATE, arguments_of, listed_weight
from queries.dialect import HemiolaSQL
from queries.function_names import aggregate_name, refuse_aggregate
from queries.functions import AGGREGATES, Signature
from queries.model import AggregateCall, Ref, Value
from queries.sources import Level
from queries.sql_errors import Refusal
from queries.types import Type


def is_aggregate(node: exp.Expr) -> bool:
    """Whether ``node`` itself calls an aggregate (also one Hemiola refuses), with or without FILTER."""
    return aggregate_name(node.this if isinstance(node, exp.Filter) else node) is not None


def parts_of(node: exp.Expr) -> tuple[str, ...]:
    """The columns beside the answer of the aggregate that ``node`` calls; none for anything else."""
    signature = _signature(node)
    return signature.parts if signature else ()


def gives_items(node: exp.Expr) -> bool:
    """Whether ``node`` calls an aggregate that answers with one row per item."""
    signature = _signature(node)
    return signature is not None and signature.items


def _signature(node: exp.Expr) -> Signature | None:
    name = aggregate_name(node.this if isinstance(node, exp.Filter) else node)
    return AGGREGATES.get(OURS.get(name or "", ""))


def has_aggregate(node: exp.Expr) -> bool:
    return any(aggregate_name(part) is not None for part in node.walk())


class Aggregates:
    """The aggregates met so far; the same one written twice (in SELECT and in ORDER BY) is one."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self.calls: list[AggregateCall] = []

    def ref(self, node: exp.Expr, part: str = "") -> Ref:
        """The column ``a{i}`` that holds the value of the aggregate ``node``, or a part of it such as its bounds."""
        call = self._call(node)
        if part:
            of_item = AGGREGATES[call.function].items
            type_ = Type.BIGINT if call.weight is None else AGGREGATES["SUM"].result(call.weight.type)
            call = replace(call, part=part, type=type_ if of_item else call.type)
        if call not in self.calls:
            self.calls.append(call)
        return Ref(f"a{self.calls.index(call)}", call.type)

    def _call(self, node: exp.Expr) -> AggregateCall:
        predicate = node.expression.this if isinstance(node, exp.Filter) else None
        written = node.this if isinstance(node, exp.Filter) else node
        name = aggregate_name(written) or ""
        if name not in OURS or not isinstance(written, exp.Anonymous):
            raise refuse_aggregate(written, name)
        _check_nesting(written, predicate)
        weight: Value | None = None
        if OURS[name] in APPROXIMATE:
            function, taken = OURS[name], arguments_of(written, OURS[name])
            argument, parameters = _filtered(taken.argument, predicate), taken.parameters
            weight = None if taken.weight is None else self._weight(taken.weight, argument)
        else:
            function, argument, parameters = _arguments(written, OURS[name])
            argument = _filtered(argument, predicate)
        if argument is None:
            return AggregateCall("COUNT", None, (), Type.BIGINT)
        value = self._level.value(argument, f"the argument of {name.upper()}")
        signature = AGGREGATES[function]
        if not signature.accepts(value.type):
            text = argument.sql(dialect=HemiolaSQL)
            raise Refusal(written, f"{name.upper()} takes {signature.takes}, but {text} is {value.type.value}")
        return AggregateCall(function, value, parameters, signature.result(value.type), weight=weight)

    def _weight(self, weight: exp.Expr, item: exp.Expr | None) -> Value:
        assert item is not None
        type_ = self._level.value(weight, "the weight of TOP_K_LISTS").type
        if not type_.numeric:
            text = weight.sql(dialect=HemiolaSQL)
            raise Refusal(weight, f"the weight of TOP_K_LISTS is a number, but {text} is {type_.value}")
        return self._level.value(listed_weight(weight, item), "the weight of TOP_K_LISTS")


def _check_nesting(call: exp.Expr, predicate: exp.Expr | None) -> None:
    for part in call.walk():
        if part is not call and aggregate_name(part):
            raise Refusal(
                part, "an aggregate may not stand inside an aggregate", "put the inner one into a sub-query in FROM"
            )
    if predicate is not None and has_aggregate(predicate):
        raise Refusal(predicate, "FILTER looks at single records and may not contain an aggregate")


def _arguments(call: exp.Anonymous, function: str) -> tuple[str, exp.Expr | None, tuple[float, ...]]:
    name, arguments = call.name.upper(), list(call.expressions)
    if function == "MEDIAN":
        function, arguments = "QUANTILE_CONT", [*arguments, exp.Literal.number("0.5")]
        usage, wanted = "MEDIAN(x)", 2
    else:
        wanted = 1 + AGGREGATES[function].parameters
        usage = f"{name}(x, q)" if wanted == 2 else f"{name}(x)"
    if len(arguments) != wanted:
        counts = (wanted - 1, len(arguments) - 1) if name == "MEDIAN" else (wanted, len(arguments))
        raise Refusal(
            call, f"{name} takes {counts[0]} argument{'s'[: counts[0] - 1]}, not {counts[1]}", f"write {usage}"
        )
    argument = arguments[0]
    if isinstance(argument, exp.Distinct):
        function, argument = _distinct(call, function, argument), argument.expressions[0]
    elif isinstance(argument, exp.Star):
        if function != "COUNT":
            raise Refusal(argument, f"{name}(*) makes no sense", f"write {usage}")
        return function, None, ()
    elif function == "COUNT" and isinstance(argument, (exp.Literal, exp.Boolean)):
        return function, None, ()
    return function, argument, tuple(_share(name, parameter) for parameter in arguments[1:])


def _distinct(call: exp.Anonymous, function: str, distinct: exp.Distinct) -> str:
    name = call.name.upper()
    if function != "COUNT":
        hint = f"write {name}(x): repeats do not change it" if name in ("MIN", "MAX") else "only COUNT takes DISTINCT"
        raise Refusal(call, f"{name}(DISTINCT x) is not supported", hint)
    if len(distinct.expressions) != 1:
        raise Refusal(
            call,
            "COUNT(DISTINCT a, b) is not supported",
            "count one value made of both, as in COUNT(DISTINCT CONCAT(a, '|', b))",
        )
    return "COUNT_DISTINCT"


def _share(name: str, parameter: exp.Expr) -> float:
    if isinstance(parameter, exp.Literal) and not parameter.is_string:
        share = float(parameter.this)
        if 0 <= share <= 1:
            return share
    raise Refusal(
        parameter,
        f"the second argument of {name} is a constant between 0 and 1, not {parameter.sql(dialect=HemiolaSQL)}",
        f"the 90th percentile is {name}(x, 0.9)",
    )


def _filtered(argument: exp.Expr | None, predicate: exp.Expr | None) -> exp.Expr | None:
    """``agg(x) FILTER (WHERE p)`` is ``agg(CASE WHEN p THEN x END)``: aggregates pass over NULLs."""
    if predicate is None:
        return argument
    value = exp.Literal.number(1) if argument is None else argument.copy()
    return exp.Case(ifs=[exp.If(this=predicate.copy(), true=value)])


def default_name(node: exp.Expr) -> str | None:
    """The column name of an aggregate without alias (``sum_length``, ``count``, ``count_distinct_dst``)."""
    if not isinstance(node, exp.Anonymous):
        return None
    words = [node.name]
    for argument in node.expressions:
        if isinstance(argument, exp.Distinct):
            words += ["distinct", *(part.sql(dialect=HemiolaSQL) for part in argument.expressions)]
        elif not (
            isinstance(argument, exp.Star) or (node.name.lower() == "count" and isinstance(argument, exp.Literal))
        ):
            words.append(argument.name if isinstance(argument, exp.Column) else argument.sql(dialect=HemiolaSQL))
    return re.sub(r"[^a-z0-9]+", "_", " ".join(words).lower()).strip("_")[:60]
