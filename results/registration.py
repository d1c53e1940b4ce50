"""Making a set of queries the registered one: answer tables created, kept or archived (product.md, Results)."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence

from queries.errors import RunError
from queries.model import Microseconds, Query
from results.answer_table import AnswerTable, answer_table, check_names
from results.definition import definition
from results.sqlite_dialect import create_index, create_table, declared_columns, index_name, quote, upsert
from results.times import optional_time_text, time_text

_COLUMNS = (
    "name", "sql", "stream", "window_us", "slide_us", "semantics", "priority", "until", "registered_at", "active",
    "answer_table", "definition",
)  # fmt: skip


def register(connection: sqlite3.Connection, queries: Sequence[Query], at: Microseconds) -> dict[str, AnswerTable]:
    """Inside a transaction: bring tables and ``hemiola_queries`` in line with ``queries``; the tables by query name."""
    tables = tuple(answer_table(query) for query in queries)
    check_names(tables)
    known = {
        name.lower(): (name, meaning, registered_at)
        for name, meaning, registered_at in connection.execute(
            "SELECT name, definition, registered_at FROM hemiola_queries"
        )
    }
    existing = {name.lower() for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    taken = existing | set(known) | {query.name.lower() for query in queries}
    connection.execute("UPDATE hemiola_queries SET active = 0")
    for query, table in zip(queries, tables, strict=True):
        lower, meaning, since = query.name.lower(), definition(query), time_text(at)
        if lower not in known and lower in existing:
            raise RunError(
                f"the results have a table {query.name} that Hemiola did not make",
                query=query.name,
                hint="rename that table or the query",
            )
        keep = False
        if lower in known:
            old_name, old_meaning, registered_at = known[lower]
            if lower not in existing:
                _forget(connection, old_name)
            elif (old_name, old_meaning) == (query.name, meaning) and _has_shape(connection, table):
                keep, since = True, registered_at
            else:
                taken.add(_archive(connection, old_name, taken))
        if not keep:
            connection.execute(create_table(table))
            connection.execute(create_index(table))
        connection.execute(upsert("hemiola_queries", _COLUMNS, ("name",)), _row(query, since, meaning))
    return {table.name: table for table in tables}


def _row(query: Query, since: str, meaning: str) -> tuple[object, ...]:
    return (
        query.name, query.sql, query.stream, query.window, query.slide, query.semantics, query.priority,
        optional_time_text(query.until), since, 1, query.name, meaning,
    )  # fmt: skip


def _has_shape(connection: sqlite3.Connection, table: AnswerTable) -> bool:
    found = connection.execute("SELECT name, type FROM pragma_table_info(?)", (table.name,)).fetchall()
    return found == declared_columns(table)


def _archive(connection: sqlite3.Connection, name: str, taken: set[str]) -> str:
    """Rename a query's table, its refreshes and its registration to the next free ``<name>__<number>``."""
    archive = next(f"{name}__{i}" for i in itertools.count(1) if f"{name}__{i}".lower() not in taken)
    index = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index_name(name),)).fetchone()
    connection.execute(f"DROP INDEX IF EXISTS {quote(index_name(name))}")
    connection.execute(f"ALTER TABLE {quote(name)} RENAME TO {quote(archive)}")
    if index is not None:
        old = f"{quote(index_name(name))} ON {quote(name)}"
        connection.execute(index[0].replace(old, f"{quote(index_name(archive))} ON {quote(archive)}", 1))
    connection.execute("UPDATE hemiola_refreshes SET query = ? WHERE query = ?", (archive, name))
    connection.execute("UPDATE hemiola_queries SET name = ?, answer_table = ? WHERE name = ?", (archive, archive, name))
    return archive.lower()


def _forget(connection: sqlite3.Connection, name: str) -> None:
    """Someone dropped the table: what the ledger says of it no longer holds."""
    connection.execute("DELETE FROM hemiola_refreshes WHERE query = ?", (name,))
    connection.execute("DELETE FROM hemiola_queries WHERE name = ?", (name,))
