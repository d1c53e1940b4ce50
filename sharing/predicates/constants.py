"""Constants of predicates as points on a column's order.

A key is what the order of a column type compares: an int for integers, booleans (0, 1), dates (days since the
epoch) and timestamps (microseconds since the epoch, UTC), a float, a Decimal, or a str (code points order as the
UTF-8 bytes that Spark compares). Only constants that Spark compares with the column exactly get a key; for the
rest the comparison stays opaque.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

from queries.types import Type

Key = int | float | Decimal | str


class _Null:
    """The constant NULL: a comparison with it is never true."""


NULL: Final = _Null()
Constant = Key | _Null

EPOCH_DATE: Final = date(1970, 1, 1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

DISCRETE: Final[dict[Type, tuple[int | None, int | None]]] = {
    Type.BOOLEAN: (0, 1),
    Type.TINYINT: (-(2**7), 2**7 - 1),
    Type.SMALLINT: (-(2**15), 2**15 - 1),
    Type.INT: (-(2**31), 2**31 - 1),
    Type.BIGINT: (-(2**63), 2**63 - 1),
    Type.DATE: (None, None),
    Type.TIMESTAMP: (None, None),
}
"""Types whose values are whole numbers, with their least and greatest value where there is one."""

_DOUBLE_EXACT = 2**53
_FLOAT_EXACT = 2**24
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?)?")
_SPECIAL = {"nan": math.nan, "infinity": math.inf, "inf": math.inf, "-infinity": -math.inf, "-inf": -math.inf}
_INTEGER_CASTS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def constant(node: exp.Expr, column: Type) -> Constant | None:
    """The key of a literal compared with a column of that type, NULL, or None where it has no exact key."""
    if isinstance(node, exp.Paren):
        return constant(node.this, column)
    if isinstance(node, exp.Null):
        return NULL
    if column is Type.STRING:
        return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None
    if column is Type.BOOLEAN:
        return int(bool(node.this)) if isinstance(node, exp.Boolean) else None
    if column in (Type.DATE, Type.TIMESTAMP):
        return _temporal(node, column)
    if column.numeric:
        value = _number(node)
        return None if value is None else _numeric_key(value, column)
    return None


def _number(node: exp.Expr) -> int | float | Decimal | None:
    """A numeric literal with Spark's own typing: digits are integers, a point makes a decimal, an exponent a double."""
    if isinstance(node, exp.Paren):
        return _number(node.this)
    if isinstance(node, exp.Neg):
        value = _number(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Literal) and not node.is_string:
        text = str(node.this)
        if text.isdigit():
            return int(text)
        return float(text) if "e" in text.lower() else Decimal(text)
    if isinstance(node, exp.Cast):
        return _cast_number(node)
    return None


def _cast_number(node: exp.Cast) -> int | float | Decimal | None:
    """``5L``, ``1.5D``, ``1.5BD`` and ``CAST('NaN' AS DOUBLE)``, which the parser all turns into casts."""
    target, inner = node.to.this.name, node.this
    if isinstance(inner, exp.Literal) and inner.is_string:
        text = str(inner.this)
        if target == "DOUBLE" and text.lower() in _SPECIAL:
            return _SPECIAL[text.lower()]
        return _decimal(text, node.to) if target == "DECIMAL" else None
    value = _number(inner)
    if value is None:
        return None
    if target == "DOUBLE":
        return float(value)
    if target in _INTEGER_CASTS and isinstance(value, int):
        least, greatest = DISCRETE[Type(target)]
        assert least is not None and greatest is not None
        return value if least <= value <= greatest else None
    return None


def _decimal(text: str, target: exp.DataType) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    parameters = [int(parameter.this.this) for parameter in target.expressions]
    precision, scale = (parameters + [10, 0][len(parameters) :])[:2]
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or -exponent > scale or abs(value) >= Decimal(10) ** (precision - scale):
        return None
    return value


def _numeric_key(value: int | float | Decimal, column: Type) -> Key | None:
    if column.integer:
        # Spark compares an integer with a double as doubles, which is exact below 2**53 and against infinities.
        inexact = isinstance(value, float) and math.isfinite(value) and abs(value) >= _DOUBLE_EXACT
        return None if inexact else value
    if column is Type.DECIMAL:
        return None if isinstance(value, float) else Decimal(value)
    if column is Type.FLOAT and isinstance(value, int) and abs(value) > _FLOAT_EXACT:
        return None
    try:
        return float(value) + 0.0
    except OverflowError:
        return None


def _temporal(node: exp.Expr, column: Type) -> int | None:
    kind = "STRING"
    if isinstance(node, exp.Cast):
        kind, node = node.to.this.name, node.this
    if not (isinstance(node, exp.Literal) and node.is_string):
        return None
    text = str(node.this)
    if column is Type.DATE:
        return _days(text) if kind in ("STRING", "DATE") else None
    if kind == "DATE":
        days = _days(text)
        return None if days is None else days * 86_400_000_000
    return _microseconds(text) if kind in ("STRING", "TIMESTAMPTZ", "TIMESTAMPLTZ") else None


def _days(text: str) -> int | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return None if day == date.max else (day - EPOCH_DATE).days


def _microseconds(text: str) -> int | None:
    """A timestamp without a zone is in UTC, the session time zone of every Hemiola job."""
    if not _TIMESTAMP.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not date.min < moment.date() < date.max:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def literal(key: Key, column: Type) -> str:
    """Spark SQL text of a constant that a column of that type is compared with."""
    if column is Type.BOOLEAN:
        return "TRUE" if key else "FALSE"
    if column is Type.DATE:
        return f"DATE '{_text_of_date(key)}'"
    if column is Type.TIMESTAMP:
        return f"TIMESTAMP '{_text_of_timestamp(key)}'"
    if isinstance(key, str):
        return exp.Literal.string(key).sql("spark")
    if isinstance(key, Decimal):
        return f"{key:f}BD"
    if isinstance(key, float):
        return f"CAST('{'-' if key < 0 else ''}Infinity' AS DOUBLE)" if math.isinf(key) else f"{key!r}D"
    return str(key)


def readable(key: Key, column: Type) -> str:
    """The constant as a person would write it."""
    if column is Type.DATE:
        return _text_of_date(key)
    if column is Type.TIMESTAMP:
        return _text_of_timestamp(key)
    if isinstance(key, str) or column is Type.BOOLEAN:
        return literal(key, column)
    if isinstance(key, float):
        return str(key).removesuffix(".0")
    return str(key)


def _text_of_date(key: Key) -> str:
    assert isinstance(key, int)
    return (EPOCH_DATE + timedelta(days=key)).isoformat()


def _text_of_timestamp(key: Key) -> str:
    assert isinstance(key, int)
    return (EPOCH + timedelta(microseconds=key)).replace(tzinfo=None).isoformat(sep=" ") + "Z"
