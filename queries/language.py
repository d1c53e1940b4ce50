"""SQL text to the model: ``parse_query``. Parsing is sqlglot's, binding is ours, errors carry line and column."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from queries.clauses import check_clauses
from queries.dialect import WINDOW_CLAUSE, WindowClause, parse_statements
from queries.durations import EXAMPLES, DurationError, Microseconds, format_duration, parse_duration
from queries.model import Select, StreamWindow
from queries.scalar import Columns
from queries.select import SelectBinder
from queries.sources import Level, SelectLevel, StreamLevel
from queries.sql_errors import Refusal, SqlError, SqlProblem, did_you_mean
from queries.types import Type

Schemas = Mapping[str, Mapping[str, Type]]

_DEEPEST = 20


def parse_query(
    name: str,
    sql: str,
    schemas: Schemas,
    window: Microseconds | None = None,
    slide: Microseconds | None = None,
) -> Select:
    """The bound query, or ``SqlError`` with everything wrong in it.

    ``schemas`` maps stream names to their columns; ``window`` and ``slide`` (microseconds) come from the config and
    stand in for the bracket clause, or must agree with it.
    """
    problems: list[SqlProblem] = []
    try:
        bound = _bind(_statement(sql), schemas, (window, slide), problems, depth=0)
    except Refusal as refusal:
        problems.append(refusal.problem)
    except RecursionError:
        problems.append(SqlProblem(0, "the query is nested too deeply"))
    if problems:
        raise SqlError(name, sql, problems)
    assert bound is not None
    return bound


def _statement(sql: str) -> exp.Expr:
    first = re.match(r"\w+", sql.lstrip())
    if first and did_you_mean(first[0], ["SELECT"]) and first[0].upper() != "SELECT":
        raise Refusal(len(sql) - len(sql.lstrip()), f"a query begins with SELECT, not {first[0]}")
    try:
        statements = [statement for statement in parse_statements(sql) if statement is not None]
    except ParseError as error:
        raise _unreadable(sql, error) from error
    except (SqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise _unreadable_token(sql) from error
    if not statements:
        raise Refusal(0, "the query is empty", "write SELECT … FROM stream [WINDOW w SLIDE p]")
    if len(statements) > 1:
        raise Refusal(statements[1], "a query is one statement, here are several", "register each as its own query")
    return statements[0]


def _unreadable(sql: str, error: ParseError) -> Refusal:
    detail = error.errors[0] if error.errors else {}
    token, description = str(detail.get("highlight") or ""), str(detail.get("description") or "")
    lines = sql.split("\n")
    line = int(detail.get("line") or 1)
    offset = sum(len(text) + 1 for text in lines[: line - 1]) + int(detail.get("col") or 1) - len(token)
    offset = max(0, min(offset, len(sql)))
    hint = None
    if token == "[":
        hint = "the clause [WINDOW w SLIDE p] stands right after the stream's name, before any alias"
    if not description or description.startswith("Invalid expression"):
        return Refusal(offset, f"this cannot be read as SQL, at {token!r}", hint)
    description = description.replace("Expecting", "expected").split(" but got <Token")[0]
    description = description.replace("TYPE after CAST", "a type after AS")
    description = re.sub(r"<class '[\w.]+\.(\w+)'>", lambda match: match[1].upper(), description)
    near = f", at {token!r}" if token and token not in description else ""
    return Refusal(offset, f"this cannot be read as SQL: {description[:1].lower()}{description[1:]}{near}", hint)


def _unreadable_token(sql: str) -> Refusal:
    """What sqlglot gave up on without a place, often an open quote or a function called with nothing."""
    for quote in ("'", '"', "`"):
        if sql.count(quote) % 2:
            return Refusal(sql.rfind(quote), f"the quote {quote} is not closed")
    return Refusal(0, "this cannot be read as SQL")


def _bind(
    tree: exp.Expr,
    schemas: Schemas,
    given: tuple[Microseconds | None, Microseconds | None],
    problems: list[SqlProblem],
    depth: int,
) -> Select | None:
    if isinstance(tree, exp.SetOperation):
        raise Refusal(tree, f"{tree.key.upper()} is not supported", "register each part as its own query")
    if not isinstance(tree, exp.Select):
        raise Refusal(tree, "a query begins with SELECT", "write SELECT … FROM stream [WINDOW w SLIDE p] …")
    if depth > _DEEPEST:
        raise Refusal(tree, f"sub-queries are nested more than {_DEEPEST} deep")
    check_clauses(tree)
    level = _level(tree, schemas, given, problems, depth)
    return SelectBinder(tree, level, depth == 0, problems).bind() if level else None


def _level(
    tree: exp.Select,
    schemas: Schemas,
    given: tuple[Microseconds | None, Microseconds | None],
    problems: list[SqlProblem],
    depth: int,
) -> Level | None:
    clause = tree.args.get("from_")
    if clause is None:
        raise Refusal(tree, "the query has no FROM", "write FROM stream [WINDOW w SLIDE p]")
    source = clause.this
    if isinstance(source, exp.Subquery):
        check_clauses(source)
        if source.args.get("alias"):
            check_clauses(source.args["alias"])
        inner = _bind(source.this, schemas, given, problems, depth + 1)
        if inner is None:
            return None
        types = {output.name: output.type for output in inner.outputs}
        return SelectLevel(inner, Columns("the sub-query", source.alias or None, types))
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        raise Refusal(source, "FROM takes a stream's name or a sub-query")
    check_clauses(source)
    if source.args.get("alias"):
        check_clauses(source.args["alias"])
    stream = _stream(source, schemas)
    window = _window(source, given)
    return StreamLevel(
        StreamWindow(stream, *window), Columns(f"stream {stream}", source.alias or stream, schemas[stream])
    )


def _stream(table: exp.Table, schemas: Schemas) -> str:
    for name in schemas:
        if name.lower() == table.name.lower():
            return name
    known = ", ".join(schemas)
    hint = did_you_mean(table.name, schemas) or (f"there are {known}" if known else "define it under streams:")
    raise Refusal(table.this, f"there is no stream {table.name}", hint, stream=table.name)


def _window(
    table: exp.Table, given: tuple[Microseconds | None, Microseconds | None]
) -> tuple[Microseconds, Microseconds]:
    window, slide = given
    clause = table.args.get(WINDOW_CLAUSE)
    if clause is None:
        if window is None:
            raise Refusal(
                table.this,
                "the query has a slide: but no window" if slide else "the query has no window",
                f"write FROM {table.name} [WINDOW 10 min SLIDE 2 min], or the keys window: and slide:",
            )
        return window, slide if slide is not None else window
    assert isinstance(clause, WindowClause)
    written = _length(clause, "window")
    written_slide = _length(clause, "slide") if clause.args.get("slide") is not None else written
    for key, value, mine in (("window", window, written), ("slide", slide, written_slide)):
        if value is not None and value != mine:
            raise Refusal(
                clause,
                f"the clause says {key.upper()} {format_duration(mine)}, the key {key}: says {format_duration(value)}",
                "give it in one place only",
            )
    return written, written_slide


def _length(clause: WindowClause, part: str) -> Microseconds:
    text, start = clause.args[part], clause.args[f"{part}_start"]
    if not text:
        raise Refusal(start, f"{part.upper()} needs a duration", f"as in {EXAMPLES}")
    try:
        length = parse_duration(text)
    except DurationError as error:
        raise Refusal(start, f"{part.upper()}: {error}") from error
    if length <= 0:
        raise Refusal(start, f"{part.upper()} must be longer than zero, not {text}")
    return length
