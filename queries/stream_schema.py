"""A stream's ``schema:`` text (``ts TIMESTAMP, src STRING``) to columns, read with sqlglot's tokens and types."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from queries.dialect import HemiolaSQL
from queries.model import Column
from queries.scalar_types import type_of
from queries.sql_errors import Refusal, SqlProblem, did_you_mean
from queries.types import Type

_SPELLINGS = [kind.value for kind in Type]
_EXAMPLE = "write name TYPE, name TYPE, … as in ts TIMESTAMP, src STRING, length BIGINT"
_DEEPER = (TokenType.L_PAREN, TokenType.LT)
_SHALLOWER = (TokenType.R_PAREN, TokenType.GT)


def parse_schema(text: str) -> tuple[tuple[Column, ...], list[SqlProblem]]:
    """The columns, and everything wrong with them (offsets into ``text``)."""
    try:
        parts = _parts(HemiolaSQL().tokenize(text))
    except SqlglotError:
        return (), [SqlProblem(0, "the schema cannot be read", _EXAMPLE)]
    if parts == [[]]:
        return (), [SqlProblem(0, "the schema is empty", _EXAMPLE)]
    columns: dict[str, Column] = {}
    problems: list[SqlProblem] = []
    for part in parts:
        try:
            column = _column(text, part)
            if column.name.lower() in columns:
                raise Refusal(part[0].start, f"the column {column.name} is given twice")
            columns[column.name.lower()] = column
        except Refusal as refusal:
            problems.append(refusal.problem)
    return tuple(columns.values()), problems


def _parts(tokens: list[Token]) -> list[list[Token]]:
    """The tokens between the commas that stand outside any ``(…)`` and ``<…>``."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type in _DEEPER) - (token.token_type in _SHALLOWER)
        if token.token_type == TokenType.COMMA and depth <= 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _column(text: str, part: list[Token]) -> Column:
    if not part:
        raise Refusal(len(text.rstrip()) - 1, "there is a comma too many in the schema", _EXAMPLE)
    name = part[0].text
    if len(part) == 1:
        raise Refusal(part[0].start, f"the column {name} has no type", "write name TYPE, as in length BIGINT")
    if len(part) > 2 and part[2].token_type not in _DEEPER:
        hint = "columns are separated by commas and have a name and a type only"
        raise Refusal(part[2].start, f"after the type of column {name} comes {part[2].text}", hint)
    written = text[part[1].start : part[-1].end + 1]
    known = _type(written)
    if known is None:
        guess = did_you_mean(written, _SPELLINGS) if len(part) == 2 else None
        hint = guess or f"there are {', '.join(_SPELLINGS)}"
        raise Refusal(part[1].start, f"the column {name} has the type {written}, which is not supported", hint)
    return Column(name, known)


def _type(written: str) -> Type | None:
    try:
        kind = exp.DataType.build(written, dialect=HemiolaSQL)
    except (SqlglotError, ValueError):
        return None
    typed = exp.Null()
    typed.type = kind
    return type_of(typed)
