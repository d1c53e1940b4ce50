"""Types of record-level expressions: sqlglot's inference with Spark's facts, and the checks Spark would only make
when the job runs (a number compared with a string, a condition that is not boolean)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.optimizer.annotate_types import TypeAnnotator, annotate_types

from queries.dialect import HemiolaSQL
from queries.sql_errors import Refusal
from queries.types import Type

_D = exp.DataType.Type
_TYPES: dict[Any, Type] = {
    _D.BOOLEAN: Type.BOOLEAN,
    _D.TINYINT: Type.TINYINT,
    _D.SMALLINT: Type.SMALLINT,
    _D.INT: Type.INT,
    _D.BIGINT: Type.BIGINT,
    _D.FLOAT: Type.FLOAT,
    _D.DOUBLE: Type.DOUBLE,
    _D.DECIMAL: Type.DECIMAL,
    _D.VARCHAR: Type.STRING,
    _D.CHAR: Type.STRING,
    _D.TEXT: Type.STRING,
    _D.DATE: Type.DATE,
    _D.TIMESTAMP: Type.TIMESTAMP,
    _D.TIMESTAMPTZ: Type.TIMESTAMP,
    _D.TIMESTAMPLTZ: Type.TIMESTAMP,
    _D.BINARY: Type.BINARY,
    _D.VARBINARY: Type.BINARY,
}
_SQLGLOT: dict[Type, exp.DataType] = {kind: exp.DataType.build(kind.value, dialect="spark") for kind in Type}

_NAMED: dict[str, Type | None] = {
    **dict.fromkeys("hash ascii bit_count find_in_set weekday octet_length bit_length".split(), Type.INT),
    **dict.fromkeys("regexp_count regexp_instr".split(), Type.INT),
    **dict.fromkeys("xxhash64 crc32 width_bucket unix_seconds unix_millis unix_micros".split(), Type.BIGINT),
    **dict.fromkeys("bin conv format_number format_string printf elt url_encode url_decode".split(), Type.STRING),
    **dict.fromkeys("split_part parse_url substring_index regexp_replace mask btrim soundex".split(), Type.STRING),
    **dict.fromkeys("isnull isnotnull endswith equal_null regexp".split(), Type.BOOLEAN),
    **dict.fromkeys("timestamp_seconds timestamp_millis timestamp_micros to_timestamp".split(), Type.TIMESTAMP),
    **dict.fromkeys("next_day last_day add_months make_date date_from_unix_date trunc".split(), Type.DATE),
    **dict.fromkeys("hypot cbrt expm1 log1p rint atan2 e pi months_between".split(), Type.DOUBLE),
    "pmod": None,
    "bround": None,
    "positive": None,
    "zeroifnull": None,
}  # fmt: skip
"""Results of functions sqlglot has no class or no type for; None: that of the first argument."""

_CLASSES: dict[type[exp.Expr], Type] = {
    exp.Year: Type.INT,
    exp.Quarter: Type.INT,
    exp.Month: Type.INT,
    exp.Week: Type.INT,
    exp.WeekOfYear: Type.INT,
    exp.Day: Type.INT,
    exp.DayOfMonth: Type.INT,
    exp.DayOfWeek: Type.INT,
    exp.DayOfYear: Type.INT,
    exp.Hour: Type.INT,
    exp.Minute: Type.INT,
    exp.Second: Type.INT,
    exp.TimestampTrunc: Type.TIMESTAMP,
    exp.DateTrunc: Type.DATE,
    exp.SplitPart: Type.STRING,
    exp.WidthBucket: Type.BIGINT,
    exp.TimestampDiff: Type.BIGINT,
    exp.IntDiv: Type.BIGINT,
    exp.RegexpReplace: Type.STRING,
    exp.SubstringIndex: Type.STRING,
}


def _annotate_literal(annotator: TypeAnnotator, node: Any) -> Any:
    if node.is_string:
        kind = Type.STRING
    elif node.this.isdigit():
        kind = Type.INT if int(node.this) < 2**31 else Type.BIGINT
    else:
        kind = Type.DOUBLE
    annotator._set_type(node, _SQLGLOT[kind])
    return node


def _annotate_named(annotator: TypeAnnotator, node: Any) -> Any:
    name = node.name.lower()
    if name in _NAMED:
        kind = _NAMED[name]
        annotator._set_type(node, _SQLGLOT[kind] if kind else node.expressions[0].type if node.expressions else None)
    else:
        annotator._set_type(node, _D.UNKNOWN)
    return node


def _annotate_common(arguments: Callable[[Any], list[exp.Expr]]) -> Callable[[TypeAnnotator, Any], Any]:
    def annotate(annotator: TypeAnnotator, node: Any) -> Any:
        kinds = [type_of(argument) for argument in arguments(node) if not isinstance(argument, exp.Null)]
        common = widest(kinds)
        annotator._set_type(node, _SQLGLOT[common] if common else _D.UNKNOWN)
        return node

    return annotate


def _annotate_arithmetic(annotator: TypeAnnotator, node: Any) -> Any:
    """As Spark in ANSI mode; what is not about numbers (a timestamp plus an interval) is left to sqlglot."""
    left, right = type_of(node.left), type_of(node.right)
    if left is None or right is None or not (left.numeric and right.numeric):
        return annotator._annotate_binary(node)
    kind = widest([left, right])
    if Type.DECIMAL in (left, right):
        kind = Type.DOUBLE if {left, right} & {Type.FLOAT, Type.DOUBLE} else Type.DECIMAL
    elif isinstance(node, exp.Div):
        kind = Type.DOUBLE
    annotator._set_type(node, _SQLGLOT[kind] if kind else _D.UNKNOWN)
    return node


def _case_values(node: Any) -> list[exp.Expr]:
    values = [branch.args["true"] for branch in node.args["ifs"]]
    return [*values, node.args["default"]] if node.args.get("default") else values


def _if_values(node: Any) -> list[exp.Expr]:
    return [value for value in (node.args.get("true"), node.args.get("false")) if value is not None]


class _TypedSQL(HemiolaSQL):
    EXPRESSION_METADATA = {  # noqa: RUF012 (sqlglot declares it an instance variable)
        **Spark.EXPRESSION_METADATA,
        **{node: {"returns": _SQLGLOT[kind]} for node, kind in _CLASSES.items()},
        **{
            exp.FUNCTION_BY_NAME[name.upper()]: {"returns": _SQLGLOT[kind]}
            for name, kind in _NAMED.items()
            if kind and name.upper() in exp.FUNCTION_BY_NAME
        },
        **{node: {"annotator": _annotate_arithmetic} for node in (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)},
        exp.Round: {"annotator": _annotate_common(lambda node: [node.this])},
        exp.Literal: {"annotator": _annotate_literal},
        exp.Anonymous: {"annotator": _annotate_named},
        exp.Coalesce: {"annotator": _annotate_common(lambda node: [node.this, *node.expressions])},
        exp.Greatest: {"annotator": _annotate_common(lambda node: [node.this, *node.expressions])},
        exp.Least: {"annotator": _annotate_common(lambda node: [node.this, *node.expressions])},
        exp.Nvl2: {"annotator": _annotate_common(_if_values)},
        exp.If: {"annotator": _annotate_common(_if_values)},
        exp.Case: {"annotator": _annotate_common(_case_values)},
        exp.Nullif: {"annotator": _annotate_common(lambda node: [node.this])},
    }


def type_of(node: exp.Expr) -> Type | None:
    """The type an annotated node has, when it is one of ours."""
    return _TYPES.get(node.type.this) if isinstance(node.type, exp.DataType) else None


def is_known(node: exp.Expr) -> bool:
    """Whether an annotated node has a type at all, be it one that is not ours (an array, an interval)."""
    return isinstance(node.type, exp.DataType) and node.type.this not in (_D.UNKNOWN, _D.NULL)


_LADDER = (Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT, Type.FLOAT, Type.DOUBLE)


def widest(kinds: list[Type | None]) -> Type | None:
    """The type that holds values of all ``kinds``, as Spark widens them; None when there is none or one is unknown."""
    if not kinds or None in kinds:
        return None
    known = [kind for kind in kinds if kind is not None]
    if len(set(known)) == 1:
        return known[0]
    if all(kind in _LADDER for kind in known):
        top = max(known, key=_LADDER.index)
        return Type.DOUBLE if top is Type.FLOAT and any(kind.integer for kind in known) else top
    return Type.TIMESTAMP if set(known) == {Type.DATE, Type.TIMESTAMP} else None


def annotated(tree: exp.Expr, columns: Mapping[str, Type]) -> exp.Expr:
    """A copy of ``tree`` with a type on every node; each column becomes a CAST to the type the schema gives it."""

    def typed(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            return exp.Cast(this=node.copy(), to=_SQLGLOT[columns[node.name]].copy())
        return node

    return annotate_types(tree.copy().transform(typed), dialect=_TypedSQL)


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)


def check_types(tree: exp.Expr) -> None:
    """Refuse what can never be right in an annotated tree."""
    for node in tree.walk():
        if isinstance(node, _COMPARISONS):
            _check_comparable(node, node.left, node.right)
        elif isinstance(node, exp.In):
            for item in node.expressions:
                _check_comparable(node, node.this, item)
        elif isinstance(node, exp.Between):
            _check_comparable(node, node.this, node.args["low"])
            _check_comparable(node, node.this, node.args["high"])
        elif isinstance(node, (exp.Like, exp.ILike, exp.RegexpLike)):
            _check_kind(node.this, Type.STRING, "LIKE and RLIKE look at a STRING")
        elif isinstance(node, exp.Connector):
            name = type(node).__name__.upper()
            _check_kind(node.left, Type.BOOLEAN, f"{name} joins conditions")
            _check_kind(node.right, Type.BOOLEAN, f"{name} joins conditions")
        elif isinstance(node, exp.Not):
            _check_kind(node.this, Type.BOOLEAN, "NOT takes a condition")
        elif isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)):
            _check_arithmetic(node)
        elif isinstance(node, exp.If) and not (isinstance(node.parent, exp.Case) and node.parent.this):
            _check_kind(node.this, Type.BOOLEAN, "WHEN and IF take a condition")
        elif isinstance(node, exp.Is) and not isinstance(node.expression, (exp.Null, exp.Boolean)):
            raise Refusal(node, "IS takes NULL, TRUE or FALSE", "compare values with =")
        elif isinstance(node, (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)):
            for side in (node.left, node.right):
                _check_bits(side)


def _check_kind(node: exp.Expr, wanted: Type, reason: str) -> None:
    kind = type_of(node)
    if kind is not None and kind is not wanted:
        raise Refusal(node, f"{reason}, but {shown(node)} is {kind.value}")


def _check_bits(node: exp.Expr) -> None:
    kind = type_of(node)
    if kind is not None and not kind.integer:
        raise Refusal(node, f"&, | and ^ take integers, but {shown(node)} is {kind.value}")


def _check_arithmetic(node: exp.Binary) -> None:
    for side in (node.left, node.right):
        kind = type_of(side)
        if kind in (Type.STRING, Type.BOOLEAN, Type.BINARY):
            hint = "join strings with CONCAT(a, b)" if kind is Type.STRING and isinstance(node, exp.Add) else None
            raise Refusal(side, f"{shown(side)} is {kind.value} and cannot be calculated with", hint)
        if kind in (Type.DATE, Type.TIMESTAMP) and not isinstance(node, (exp.Add, exp.Sub)):
            raise Refusal(side, f"{shown(side)} is {kind.value}: it can be moved by + and - INTERVAL only")
        if isinstance(node, exp.IntDiv) and kind in (Type.FLOAT, Type.DOUBLE):
            raise Refusal(side, f"DIV takes integers, but {shown(side)} is {kind.value}", "use / for fractions")


def _check_comparable(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> None:
    kinds = type_of(left), type_of(right)
    if any(isinstance(side, exp.Interval) for side in (left, right)) and any(kinds):
        raise Refusal(node, "an INTERVAL can be compared with another INTERVAL only")
    if None in kinds or comparable(*kinds):
        return
    for text, other in ((left, kinds[1]), (right, kinds[0])):
        if isinstance(text, exp.Literal) and text.is_string and other in (Type.DATE, Type.TIMESTAMP):
            if read_time(text.this) is None:
                raise Refusal(text, f"{text.sql()} is not a {other.value}", "write it as '2026-01-31 12:00:00'")
            return
    raise Refusal(node, *comparison_reason(shown(left), kinds[0], shown(right), kinds[1]))


def comparison_reason(left: str, left_type: Type | None, right: str, right_type: Type | None) -> tuple[str, str]:
    """Message and hint for two things that cannot be compared."""
    assert left_type and right_type
    hint = "write both sides with the same type"
    if right.startswith("'") and left_type.numeric:
        hint = "numbers are written without quotes"
    elif left_type is Type.STRING and right_type.numeric:
        hint = f"write '{right}' in quotes, or CAST({left} AS {right_type.value})"
    return f"{left} is {left_type.value} and cannot be compared with {right}, which is {right_type.value}", hint


def comparable(left: Type | None, right: Type | None) -> bool:
    """Whether ``=`` and ``<`` make sense between the two."""
    if left is None or right is None:
        return True
    temporal = (Type.DATE, Type.TIMESTAMP)
    return left is right or (left.numeric and right.numeric) or (left in temporal and right in temporal)


def read_time(text: str) -> datetime | None:
    """An ISO date or timestamp; None when it is neither."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def shown(node: exp.Expr) -> str:
    """The expression as the user would recognize it, without the CASTs that carry column types."""

    def bare(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Cast) and isinstance(part.this, exp.Column) and part.this.this.quoted:
            return exp.column(part.this.name)
        return part

    return node.copy().transform(bare).sql(dialect=HemiolaSQL, comments=False)
