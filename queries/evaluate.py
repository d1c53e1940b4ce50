"""Evaluates expressions above aggregates on Arrow columns, with SQL's NULLs and exact integers.

Integer arithmetic that leaves int64 continues in 256-bit decimals (37 digits); a zero divisor gives NULL, because
a persistent query must not fail for one group's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queries.errors import RunError
from queries.model import Call, Expression, Literal, Ref
from queries.types import Type

_WIDE = pa.decimal256(37, 0)
_ARROW: dict[Type, pa.DataType] = {
    Type.BOOLEAN: pa.bool_(),
    Type.TINYINT: pa.int64(),
    Type.SMALLINT: pa.int64(),
    Type.INT: pa.int64(),
    Type.BIGINT: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.DOUBLE: pa.float64(),
    Type.DECIMAL: pa.float64(),
    Type.STRING: pa.string(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


def evaluate(expression: Expression, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """The expression's value for each row."""
    match expression:
        case Ref(name):
            return columns[name]
        case Literal(value, type_):
            return pa.repeat(pa.scalar(value, type=_ARROW[type_]), rows)
        case Call(op, args, type_):
            values = [evaluate(arg, columns, rows) for arg in args]
            return _flat(_apply(op, values, expression))
    raise AssertionError(expression)


def _apply(op: str, values: list[pa.Array], call: Call) -> pa.Array:
    if op in _ARITHMETIC:
        return _arithmetic(op, values, call.type)
    if op in _COMPARISONS:
        return _COMPARISONS[op](*_alike(values))
    if op in _SPECIAL:
        return _SPECIAL[op](values, call)
    raise RunError(f"the operator {op} cannot be evaluated above an aggregate")


_ARITHMETIC: dict[str, Callable[..., pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_COMPARISONS: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "=": lambda left, right: _equal(left, right),
    "<>": lambda left, right: pc.invert(_equal(left, right)),
    "<": lambda left, right: _less(left, right),
    "<=": lambda left, right: pc.invert(_less(right, left)),
    ">": lambda left, right: _less(right, left),
    ">=": lambda left, right: pc.invert(_less(left, right)),
}


def _equal(left: pa.Array, right: pa.Array) -> pa.Array:
    """NaN equals NaN, as in Spark."""
    equal = pc.equal(left, right)
    return pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right))) if pa.types.is_floating(left.type) else equal


def _less(left: pa.Array, right: pa.Array) -> pa.Array:
    """NaN is greater than every other number, as in Spark."""
    less = pc.less(left, right)
    if not pa.types.is_floating(left.type):
        return less
    return pc.or_(less, pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))


def _arithmetic(op: str, values: list[pa.Array], type_: Type) -> pa.Array:
    if not type_.integer:
        left, right = (_double(value) for value in values)
        return {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[op](left, right)
    if not any(pa.types.is_decimal(value.type) for value in values):
        try:
            return _ARITHMETIC[op](*(value.cast(pa.int64()) for value in values))
        except pa.ArrowInvalid:
            pass
    wide = _ARITHMETIC[op](*(_flat(value).cast(_WIDE) for value in values))
    try:
        return _flat(wide).cast(_WIDE)
    except pa.ArrowInvalid as error:
        raise RunError(f"an integer result of {op} has more than 37 digits") from error


def _divide(values: list[pa.Array], call: Call) -> pa.Array:
    left, right = (_double(value) for value in values)
    return pc.divide(left, _nonzero(right))


def _nonzero(divisor: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(divisor, pa.scalar(0, type=divisor.type)), pa.scalar(None, type=divisor.type), divisor)


def _truncated(values: list[pa.Array], call: Call) -> pa.Array:
    """DIV: integers stay exact; the quotient is cut towards zero."""
    if any(pa.types.is_decimal(v.type) or pa.types.is_floating(v.type) for v in values):
        quotient = pc.divide(_double(values[0]), _nonzero(_double(values[1])))
        return pc.trunc(quotient).cast(pa.int64(), safe=False)
    return pc.divide(values[0].cast(pa.int64()), _nonzero(values[1].cast(pa.int64())))


def _remainder(values: list[pa.Array], call: Call) -> pa.Array:
    left, right = _alike(values)
    if pa.types.is_decimal(left.type):
        left, right = _double(left), _double(right)
    right = _nonzero(right)
    quotient = pc.divide(left, right)
    if pa.types.is_floating(left.type):
        quotient = pc.trunc(quotient)
    return pc.subtract(left, pc.multiply(quotient, right))


def _double(value: pa.Array) -> pa.Array:
    return value if pa.types.is_float64(value.type) else value.cast(pa.float64(), safe=False)


def _alike(values: list[pa.Array]) -> list[pa.Array]:
    """Values brought to one type, so that they can be compared or chosen between."""
    types = [value.type for value in values if not pa.types.is_null(value.type)]
    if not types or all(type_ == types[0] for type_ in types):
        return [v.cast(types[0]) for v in values] if types else values
    if any(pa.types.is_floating(type_) for type_ in types):
        return [_double(value) for value in values]
    if any(pa.types.is_decimal(type_) for type_ in types):
        return [value.cast(_WIDE) for value in values]
    common = next((t for t in types if pa.types.is_timestamp(t)), types[0])
    return [value.cast(common) for value in values]


def _flat(value: Any) -> pa.Array:
    return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value


def _case(values: list[pa.Array], call: Call) -> pa.Array:
    conditions, choices = values[:-1:2], _alike([*values[1::2], values[-1]])
    result = choices[-1]
    for condition, choice in zip(reversed(conditions), reversed(choices[:-1]), strict=True):
        result = pc.if_else(pc.fill_null(condition, False), choice, result)
    return result


def _in(values: list[pa.Array], call: Call) -> pa.Array:
    subject, *members = _alike(values)
    result = _equal(subject, members[0])
    for member in members[1:]:
        result = pc.or_kleene(result, _equal(subject, member))
    return result


def _like(values: list[pa.Array], call: Call) -> pa.Array:
    pattern = call.args[1]
    assert isinstance(pattern, Literal)
    return pc.match_like(values[0], str(pattern.value))


def _cast(values: list[pa.Array], call: Call) -> pa.Array:
    source, target = values[0], _ARROW[call.type]
    if pa.types.is_decimal(source.type) and call.type.integer:
        return source
    if pa.types.is_floating(source.type) and pa.types.is_integer(target):
        return pc.trunc(source).cast(target)
    return source.cast(target)


def _round(values: list[pa.Array], call: Call) -> pa.Array:
    digits = call.args[1] if len(call.args) > 1 else Literal(0, Type.INT)
    assert isinstance(digits, Literal) and isinstance(digits.value, int)
    return pc.round(values[0], ndigits=digits.value, round_mode="half_towards_infinity")


def _null_if(values: list[pa.Array], call: Call) -> pa.Array:
    left, right = _alike(values)
    same = pc.fill_null(_equal(left, right), False)
    return pc.if_else(same, pa.scalar(None, type=left.type), left)


def _guarded(function: Callable[[pa.Array], pa.Array], low: float, inclusive: bool) -> Callable[..., pa.Array]:
    """A function of doubles that is NULL outside its domain."""

    def apply(values: list[pa.Array], call: Call) -> pa.Array:
        value = _double(values[0])
        inside = pc.greater_equal(value, low) if inclusive else pc.greater(value, low)
        return function(pc.if_else(pc.or_(inside, pc.is_nan(value)), value, pa.scalar(None, type=pa.float64())))

    return apply


def _whole(function: Callable[[pa.Array], pa.Array]) -> Callable[..., pa.Array]:
    def apply(values: list[pa.Array], call: Call) -> pa.Array:
        value = values[0]
        return function(value).cast(pa.int64()) if pa.types.is_floating(value.type) else value

    return apply


_SPECIAL: dict[str, Callable[[list[pa.Array], Call], pa.Array]] = {
    "/": _divide,
    "DIV": _truncated,
    "%": _remainder,
    "NEG": lambda v, c: _arithmetic("*", [v[0], pa.repeat(pa.scalar(-1), len(v[0]))], c.type),
    "AND": lambda v, c: pc.and_kleene(*v),
    "OR": lambda v, c: pc.or_kleene(*v),
    "NOT": lambda v, c: pc.invert(v[0]),
    "IS NULL": lambda v, c: pc.is_null(v[0]),
    "IN": _in,
    "LIKE": _like,
    "CASE": _case,
    "COALESCE": lambda v, c: pc.coalesce(*_alike(v)),
    "NULLIF": _null_if,
    "GREATEST": lambda v, c: pc.max_element_wise(*_alike(v)),
    "LEAST": lambda v, c: pc.min_element_wise(*_alike(v)),
    "CAST": _cast,
    "ABS": lambda v, c: pc.abs(v[0]),
    "ROUND": _round,
    "FLOOR": _whole(pc.floor),
    "CEIL": _whole(pc.ceil),
    "SQRT": _guarded(pc.sqrt, 0.0, True),
    "EXP": lambda v, c: pc.exp(_double(v[0])),
    "LN": _guarded(pc.ln, 0.0, False),
    "LOG10": _guarded(pc.log10, 0.0, False),
    "POWER": lambda v, c: pc.power(_double(v[0]), _double(v[1])),
    "LOWER": lambda v, c: pc.utf8_lower(v[0]),
    "UPPER": lambda v, c: pc.utf8_upper(v[0]),
    "LENGTH": lambda v, c: pc.utf8_length(v[0]).cast(pa.int64()),
    "CONCAT": lambda v, c: pc.binary_join_element_wise(*(_alike([x.cast(pa.string()) for x in v])), ""),
}
