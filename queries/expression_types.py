"""Type rules of what stands above an aggregate: integers stay BIGINT, ``/`` is DOUBLE, comparison is BOOLEAN."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from sqlglot import exp

from queries.model import Call, Expression, Literal
from queries.scalar_types import comparable, comparison_reason, read_time, widest
from queries.sql_errors import Refusal
from queries.types import Type

NULL = Literal(None, Type.STRING)
"""A NULL whose type its neighbours decide."""


def is_null(value: Expression) -> bool:
    return isinstance(value, Literal) and value.value is None


def retyped(value: Expression, kind: Type) -> Expression:
    """``value`` with NULL given the type ``kind``."""
    return replace(value, type=kind) if isinstance(value, Literal) and value.value is None else value


def call(op: str, kind: Type, *args: Expression) -> Call:
    return Call(op, args, kind)


def common_type(node: exp.Expr, op: str, values: list[Expression]) -> Type:
    """The one type of several branches or arguments."""
    kinds: list[Type | None] = [value.type for value in values if not is_null(value)]
    if not kinds:
        raise Refusal(node, f"every value of {op} is NULL")
    kind = widest(kinds)
    if kind is None:
        names = ", ".join(sorted({known.value for known in kinds if known}))
        raise Refusal(node, f"the values of {op} have no common type: {names}", "CAST them to one type")
    return kind


def arithmetic(node: exp.Expr, op: str, left: Expression, right: Expression) -> Expression:
    """``left`` and ``right`` are numbers or NULL."""
    integer = all(side.type.integer or is_null(side) for side in (left, right))
    if op == "DIV" and not integer:
        raise Refusal(node, "DIV takes integers", "use / for fractions")
    kind = Type.BIGINT if integer and op != "/" else Type.DOUBLE
    return call(op, kind, retyped(left, kind), retyped(right, kind))


def comparison(node: exp.Expr, op: str, left: Expression, right: Expression, texts: tuple[str, str]) -> Call:
    left, right = timed(node, left, right.type), timed(node, right, left.type)
    if is_null(left) or is_null(right):
        raise Refusal(node, f"{op} NULL is never true", "write IS NULL or IS NOT NULL")
    if not comparable(left.type, right.type):
        raise Refusal(node, *comparison_reason(texts[0], left.type, texts[1], right.type))
    return call(op, Type.BOOLEAN, left, right)


def timed(node: exp.Expr, value: Expression, other: Type) -> Expression:
    """A string literal next to a DATE or TIMESTAMP is read as one."""
    if not (isinstance(value, Literal) and isinstance(value.value, str) and other in (Type.DATE, Type.TIMESTAMP)):
        return value
    return time_literal(node, value.value, other)


def time_literal(node: exp.Expr, text: str, kind: Type) -> Literal:
    moment = read_time(text)
    if moment is None:
        raise Refusal(node, f"'{text}' is not a {kind.value}", "write it as '2026-01-31 12:00:00'")
    if kind is Type.DATE:
        return Literal(moment.date(), kind)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return Literal(datetime.fromtimestamp(aware.timestamp(), UTC), kind)


def condition(node: exp.Expr, what: str, value: Expression) -> Expression:
    if is_null(value):
        return retyped(value, Type.BOOLEAN)
    if value.type is not Type.BOOLEAN:
        raise Refusal(node, f"{what} needs a condition, but this is {value.type.value}")
    return value


_CLASSES = {
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.DATE: "time",
    Type.TIMESTAMP: "time",
}
_CASTS = {
    ("number", "number"), ("number", "string"), ("string", "number"), ("boolean", "number"), ("number", "boolean"),
    ("boolean", "string"), ("string", "boolean"), ("time", "time"), ("time", "string"), ("string", "time"),
    ("string", "string"), ("boolean", "boolean"),
}  # fmt: skip


def cast(node: exp.Expr, value: Expression, kind: Type | None) -> Expression:
    if kind is None or kind in (Type.DECIMAL, Type.BINARY):
        raise Refusal(node, "above an aggregate, CAST goes to BIGINT, DOUBLE, STRING, BOOLEAN, DATE or TIMESTAMP")
    if is_null(value):
        return retyped(value, kind)
    if isinstance(value, Literal) and isinstance(value.value, str) and kind in (Type.DATE, Type.TIMESTAMP):
        return time_literal(node, value.value, kind)
    if (_CLASSES.get(value.type, "number"), _CLASSES.get(kind, "number")) not in _CASTS:
        raise Refusal(node, f"a {value.type.value} cannot be CAST to {kind.value}")
    return call("CAST", kind, value)
