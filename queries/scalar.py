"""Record-level expressions: checked, typed and turned into canonical Spark SQL (``Scalar``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from queries.canonical import canonical_sql
from queries.dialect import HemiolaSQL
from queries.function_names import aggregate_name, check_function, check_named, written_names
from queries.model import Scalar
from queries.scalar_types import annotated, check_types, is_known, shown, type_of
from queries.sql_errors import Refusal, did_you_mean
from queries.types import Type


@dataclass(frozen=True)
class Columns:
    """The columns a level reads: ``label`` says of what, ``qualifier`` is the name that may stand before the dot."""

    label: str
    qualifier: str | None
    types: Mapping[str, Type]

    def resolve(self, column: exp.Column) -> str:
        """The schema's spelling of ``column``; raises ``Refusal`` with the nearest name."""
        if column.args.get("db") or column.args.get("catalog"):
            raise Refusal(column, f"{column.sql(dialect=HemiolaSQL)} has too many dots; columns have no fields")
        if column.table and column.table.lower() != (self.qualifier or "").lower():
            hint = f"write {self.qualifier}.{column.name}" if self.qualifier else f"write {column.name}"
            raise Refusal(column, f"there is no {column.table} in this FROM", hint)
        for name in self.types:
            if name.lower() == column.name.lower():
                return name
        hint = did_you_mean(column.name, self.types) or f"there are {', '.join(self.types)}"
        raise Refusal(column, f"{self.label} has no column {column.name}", hint)


def bind_condition(node: exp.Expr, columns: Columns) -> Scalar:
    """A WHERE clause: anything Spark can filter on; BOOLEAN as far as its type is known."""
    text, typed = _bind(node, columns)
    if is_known(typed) and type_of(typed) is not Type.BOOLEAN:
        raise Refusal(node, f"WHERE needs a condition, but {shown(node)} is {typed.type.sql(dialect=HemiolaSQL)}")
    return Scalar(text, Type.BOOLEAN, _read(node, columns))


def bind_scalar(node: exp.Expr, columns: Columns, role: str) -> Scalar:
    """A key or an aggregate's argument (``role`` says which): its type must be known and one Hemiola keeps."""
    text, typed = _bind(node, columns)
    kind = type_of(typed)
    if kind is None:
        raise Refusal(
            node, f"the type of {shown(node)}, {role}, is not known", f"say it: CAST({shown(node)} AS STRING)"
        )
    if kind in (Type.DECIMAL, Type.BINARY):
        targets = "DOUBLE, BIGINT or STRING" if kind is Type.DECIMAL else "STRING"
        raise Refusal(
            node,
            f"{shown(node)}, {role}, is {kind.value}, which is not supported there",
            f"CAST it to {targets}, as in CAST({shown(node)} AS {targets.split(',')[0]})",
        )
    return Scalar(text, kind, _read(node, columns))


def _read(node: exp.Expr, columns: Columns) -> tuple[str, ...]:
    return tuple(sorted({columns.resolve(column) for column in node.find_all(exp.Column)}))


def _bind(node: exp.Expr, columns: Columns) -> tuple[str, Any]:
    """The canonical text of ``node``, and its tree with types."""
    check_record_level(node)
    tree = _resolved(node, columns)
    try:
        typed = annotated(tree, columns.types)
        check_types(typed)
        text = canonical_sql(tree)
    except (SqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise Refusal(node, f"{shown(node)} is not understood", "simplify it, or leave it out") from error
    _check_generated(node, text)
    return text, typed


def check_record_level(node: exp.Expr) -> None:
    """Refuse what has no value per record: aggregates, sub-queries, OVER, parameters, ``*``, unknown functions."""
    for part in node.walk():
        check_part(part)
        name = aggregate_name(part)
        if name:
            raise Refusal(part, f"the aggregate {name.upper()} may not stand here, where single records are looked at")


def check_part(part: exp.Expr) -> None:
    """Refuse ``part`` (not what is in it) if it can stand nowhere in a query."""
    check_arguments(part)
    if isinstance(part, exp.Literal) and not part.is_string:
        _check_number(part)
    if isinstance(part, exp.Query):
        raise Refusal(part, "a sub-query may stand only in FROM", "write the list of values, or a second query")
    if isinstance(part, exp.Window):
        raise Refusal(part, "window functions (OVER) are not supported", "the window is given by [WINDOW w SLIDE p]")
    if isinstance(part, (exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        raise Refusal(part, "parameters are not supported", "write the value itself")
    if isinstance(part, exp.Star):
        raise Refusal(part, "* may stand only in COUNT(*)")
    if isinstance(part, exp.Identifier) and not isinstance(part.parent, (exp.Column, exp.Anonymous)):
        raise Refusal(part, f"{part.name} is not understood here", "lambda functions and fields are not supported")
    if isinstance(part, exp.Lambda):
        raise Refusal(part, "lambda functions are not supported")
    if isinstance(part, exp.DataType) and part.this == exp.DataType.Type.USERDEFINED:
        hint = did_you_mean(part.sql(), [kind.value for kind in Type])
        raise Refusal(part.parent or part, f"there is no type {part.sql()}", hint)
    check_function(part)


def check_arguments(part: exp.Expr) -> None:
    """Refuse a function without an argument that it needs."""
    if isinstance(part, exp.Func) and not isinstance(part, exp.Anonymous) and part.error_messages():
        raise Refusal(part, f"{type(part).sql_names()[0]} has too few or too many arguments")


def _check_number(literal: exp.Literal) -> None:
    text = str(literal.this)
    if text.isdigit() and int(text) >= 2**63:
        raise Refusal(literal, f"{text} is larger than a BIGINT", "write it with a decimal point to make it a DOUBLE")
    try:
        finite = isfinite(float(text))
    except ValueError:
        finite = False
    if not finite:
        raise Refusal(literal, f"{text} is not a number that a DOUBLE can hold")


def _resolved(node: exp.Expr, columns: Columns) -> exp.Expr:
    def resolve(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column):
            name = exp.Identifier(this=columns.resolve(part), quoted=True)
            name.meta.update(part.this.meta)
            return exp.Column(this=name)
        return part

    return node.copy().transform(resolve)


_WORDS = frozenset(
    """
    in and or not when then else case between like rlike ilike cast try_cast interval is timestampdiff timestampadd
    extract trim
    """.split()
)


def _check_generated(node: exp.Expr, text: str) -> None:
    """Whether Spark has every function in the text sqlglot wrote: it also knows those of other databases."""
    tokens = HemiolaSQL().tokenize(text)
    for token, following in pairwise(tokens):
        named = token.text.replace("_", "a").isalnum() and token.token_type not in (TokenType.STRING, TokenType.NUMBER)
        if named and following.token_type == TokenType.L_PAREN and token.text.lower() not in _WORDS:
            written = (part for part in node.walk() if token.text.lower() in written_names(part))
            check_named(next(written, node), token.text)
