"""What stands above an aggregate: sqlglot trees to ``Call``/``Ref``/``Literal``, evaluated in the driver.

The caller's ``leaf`` function decides what a column or an aggregate means on its level; everything else is one of
``queries.functions.OPERATORS`` or is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from queries.dialect import HemiolaSQL
from queries.expression_types import (
    NULL,
    arithmetic,
    call,
    cast,
    common_type,
    comparison,
    condition,
    is_null,
    retyped,
    timed,
)
from queries.functions import OPERATORS
from queries.model import Call, Expression, Literal
from queries.scalar import check_arguments, check_part
from queries.scalar_types import type_of
from queries.sql_errors import Refusal
from queries.types import Type

Leaf = Callable[[exp.Expr], Expression | None]
_Rule = Callable[["_Binder", exp.Expr], Expression]

_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV"}
_COMPARISON = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_TO_DOUBLE: dict[type[exp.Expr], str] = {exp.Sqrt: "SQRT", exp.Exp: "EXP", exp.Ln: "LN"}
_TO_STRING: dict[type[exp.Expr], str] = {exp.Lower: "LOWER", exp.Upper: "UPPER"}


def bind_expression(node: exp.Expr, leaf: Leaf) -> Expression:
    """The typed tree of ``node``; raises ``Refusal`` at the part that cannot stand above an aggregate."""
    return _Binder(leaf).bind(node)


def shown(node: exp.Expr) -> str:
    return node.sql(dialect=HemiolaSQL, comments=False)


class _Binder:
    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf

    def bind(self, node: exp.Expr) -> Expression:
        found = self._leaf(node)
        if found is not None:
            return found
        check_arguments(node)
        kind = type(node)
        if kind in _ARITHMETIC:
            op = _ARITHMETIC[kind]
            return arithmetic(node, op, self.number(node.this, op), self.number(node.expression, op))
        if kind in _COMPARISON:
            return self.compare(node, _COMPARISON[kind], node.this, node.expression)
        rule = _RULES.get(kind)
        if rule is None:
            raise refused(node)
        return rule(self, node)

    def compare(self, node: exp.Expr, op: str, left: exp.Expr, right: exp.Expr) -> Call:
        return comparison(node, op, self.bind(left), self.bind(right), (shown(left), shown(right)))

    def number(self, node: exp.Expr, op: str) -> Expression:
        return self.of_kind(node, op, lambda kind: kind.numeric, "a number", Type.BIGINT)

    def string(self, node: exp.Expr, op: str) -> Expression:
        return self.of_kind(node, op, lambda kind: kind is Type.STRING, "a STRING", Type.STRING)

    def of_kind(self, node: exp.Expr, op: str, accepts: Callable[[Type], bool], wanted: str, null: Type) -> Expression:
        value = self.bind(node)
        if is_null(value):
            return retyped(value, null)
        if not accepts(value.type):
            raise Refusal(node, f"{op} takes {wanted}, but {shown(node)} is {value.type.value}")
        return value

    def alike(self, node: exp.Expr, op: str, parts: list[exp.Expr]) -> Expression:
        """An operator whose arguments and result have one common type."""
        values = [self.bind(part) for part in parts]
        kind = common_type(node, op, values)
        return call(op, kind, *(retyped(value, kind) for value in values))


def refused(node: exp.Expr) -> Refusal:
    """Why ``node`` has no rule: wrong anywhere, or known to Spark but not to the driver."""
    check_part(node)
    name = node.name.upper() if isinstance(node, exp.Anonymous) else shown(node)
    return Refusal(node, f"{name} may not stand above keys and aggregates", f"allowed: {', '.join(OPERATORS)}")


def _literal(_: _Binder, node: exp.Expr) -> Expression:
    if node.args.get("is_string"):
        return Literal(str(node.this), Type.STRING)
    check_part(node)
    text = str(node.this)
    return Literal(int(text), Type.BIGINT) if text.isdigit() else Literal(float(text), Type.DOUBLE)


def _neg(binder: _Binder, node: exp.Expr) -> Expression:
    value = binder.number(node.this, "-")
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return Literal(-value.value, value.type)
    return call("NEG", Type.BIGINT if value.type.integer else Type.DOUBLE, value)


def _connector(op: str) -> _Rule:
    def rule(binder: _Binder, node: exp.Expr) -> Expression:
        sides = (node.this, node.expression)
        return call(op, Type.BOOLEAN, *(condition(side, op, binder.bind(side)) for side in sides))

    return rule


def _is(binder: _Binder, node: exp.Expr) -> Expression:
    if not isinstance(node.expression, exp.Null):
        raise Refusal(node, "IS takes NULL here", "write IS NULL or IS NOT NULL")
    return call("IS NULL", Type.BOOLEAN, binder.bind(node.this))


def _in(binder: _Binder, node: exp.Expr) -> Expression:
    if not node.expressions:
        raise Refusal(node, "a sub-query may stand only in FROM", "write the list of values")
    value = binder.bind(node.this)
    items = []
    for item in node.expressions:
        bound = timed(item, binder.bind(item), value.type)
        if not isinstance(bound, Literal):
            raise Refusal(item, "above an aggregate, IN takes a list of constants")
        items.append(bound)
        if not is_null(bound):
            comparison(node, "=", value, bound, (shown(node.this), shown(item)))
    return call("IN", Type.BOOLEAN, value, *(retyped(item, value.type) for item in items))


def _between(binder: _Binder, node: exp.Expr) -> Expression:
    low = binder.compare(node, ">=", node.this, node.args["low"])
    return call("AND", Type.BOOLEAN, low, binder.compare(node, "<=", node.this, node.args["high"]))


def _like(binder: _Binder, node: exp.Expr) -> Expression:
    return call("LIKE", Type.BOOLEAN, binder.string(node.this, "LIKE"), binder.string(node.expression, "LIKE"))


def _case(binder: _Binder, node: exp.Expr) -> Expression:
    conditions: list[Expression] = []
    values: list[Expression] = []
    for branch in node.args["ifs"]:
        if node.this:
            conditions.append(binder.compare(branch, "=", node.this, branch.this))
        else:
            conditions.append(condition(branch.this, "WHEN", binder.bind(branch.this)))
        values.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    return _cases(node, conditions, [*values, binder.bind(default) if default else NULL])


def _if(binder: _Binder, node: exp.Expr) -> Expression:
    test = condition(node.this, "IF", binder.bind(node.this))
    otherwise = node.args.get("false")
    return _cases(node, [test], [binder.bind(node.args["true"]), binder.bind(otherwise) if otherwise else NULL])


def _cases(node: exp.Expr, conditions: list[Expression], values: list[Expression]) -> Expression:
    kind = common_type(node, "CASE", values)
    values = [retyped(value, kind) for value in values]
    args = [part for pair in zip(conditions, values, strict=False) for part in pair]
    return call("CASE", kind, *args, values[-1])


def _cast(binder: _Binder, node: exp.Expr) -> Expression:
    if node.args.get("safe"):
        raise Refusal(node, "TRY_CAST may not stand above an aggregate", "use CAST")
    typed = exp.Null()
    typed.type = node.args["to"]
    return cast(node, binder.bind(node.this), type_of(typed))


def _to_double(binder: _Binder, node: exp.Expr) -> Expression:
    return call(_TO_DOUBLE[type(node)], Type.DOUBLE, binder.number(node.this, _TO_DOUBLE[type(node)]))


def _to_string(binder: _Binder, node: exp.Expr) -> Expression:
    return call(_TO_STRING[type(node)], Type.STRING, binder.string(node.this, _TO_STRING[type(node)]))


def _log(binder: _Binder, node: exp.Expr) -> Expression:
    base = node.this
    if node.expression is None or not (isinstance(base, exp.Literal) and base.this == "10"):
        raise Refusal(node, "above an aggregate there are LN(x) and LOG10(x)", "LOG(b, x) is LN(x) / LN(b)")
    return call("LOG10", Type.DOUBLE, binder.number(node.expression, "LOG10"))


def _power(binder: _Binder, node: exp.Expr) -> Expression:
    sides = (node.this, node.expression)
    return call("POWER", Type.DOUBLE, *(binder.number(side, "POWER") for side in sides))


def _abs(binder: _Binder, node: exp.Expr) -> Expression:
    value = binder.number(node.this, "ABS")
    return call("ABS", Type.BIGINT if value.type.integer else Type.DOUBLE, value)


def _whole(op: str) -> _Rule:
    def rule(binder: _Binder, node: exp.Expr) -> Expression:
        if node.args.get("decimals") or node.args.get("to"):
            raise Refusal(node, f"above an aggregate {op} takes one number")
        return call(op, Type.BIGINT, binder.number(node.this, op))

    return rule


def _round(binder: _Binder, node: exp.Expr) -> Expression:
    value = binder.number(node.this, "ROUND")
    kind = Type.BIGINT if value.type.integer else Type.DOUBLE
    if not node.args.get("decimals"):
        return call("ROUND", kind, value)
    digits = binder.bind(node.args["decimals"])
    if not (isinstance(digits, Literal) and digits.type is Type.BIGINT):
        raise Refusal(node, "ROUND takes a constant whole number of digits")
    return call("ROUND", kind, value, digits)


def _length(binder: _Binder, node: exp.Expr) -> Expression:
    return call("LENGTH", Type.BIGINT, binder.string(node.this, "LENGTH"))


def _concat(binder: _Binder, node: exp.Expr) -> Expression:
    return call("CONCAT", Type.STRING, *(binder.string(part, "CONCAT") for part in node.expressions))


def _pipe(binder: _Binder, node: exp.Expr) -> Expression:
    return call("CONCAT", Type.STRING, binder.string(node.this, "||"), binder.string(node.expression, "||"))


def _nullif(binder: _Binder, node: exp.Expr) -> Expression:
    equal = binder.compare(node, "=", node.this, node.expression)
    return call("NULLIF", equal.args[0].type, *equal.args)


def _alike(op: str) -> _Rule:
    return lambda binder, node: binder.alike(node, op, [node.this, *node.expressions])


_RULES: dict[type[exp.Expr], _Rule] = {
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Literal: _literal,
    exp.Boolean: lambda _, node: Literal(bool(node.this), Type.BOOLEAN),
    exp.Null: lambda _, node: NULL,
    exp.Neg: _neg,
    exp.And: _connector("AND"),
    exp.Or: _connector("OR"),
    exp.Not: lambda binder, node: call("NOT", Type.BOOLEAN, condition(node, "NOT", binder.bind(node.this))),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Coalesce: _alike("COALESCE"),
    exp.Greatest: _alike("GREATEST"),
    exp.Least: _alike("LEAST"),
    exp.Nullif: _nullif,
    exp.Abs: _abs,
    exp.Round: _round,
    exp.Floor: _whole("FLOOR"),
    exp.Ceil: _whole("CEIL"),
    exp.Sqrt: _to_double,
    exp.Exp: _to_double,
    exp.Ln: _to_double,
    exp.Log: _log,
    exp.Pow: _power,
    exp.Lower: _to_string,
    exp.Upper: _to_string,
    exp.Length: _length,
    exp.Concat: _concat,
    exp.DPipe: _pipe,
}
