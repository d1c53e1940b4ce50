"""Everything that is particular to SQLite: column types, statements, errors.

How values are stored in STRICT tables:

- integers INTEGER; an integer that may exceed 64 bits is ANY: an INTEGER where it fits, else its decimal digits as
  TEXT (SQLite orders TEXT after every number);
- FLOAT, DOUBLE are REAL; SQLite has no NaN, it becomes NULL. As a key they are ANY and a NaN is the TEXT ``NaN``, so
  that the group of NaN and the group of NULL stay two rows;
- BOOLEAN is INTEGER 0 or 1; STRING is TEXT; BINARY is BLOB;
- DECIMAL is TEXT, every digit kept; DATE and TIMESTAMP are ISO-8601 TEXT (``results.times``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queries.errors import RunError
from queries.types import Type
from results.answer_table import OWN_PREFIX, AnswerColumn, AnswerTable
from results.store import ResultsUnavailable

SCHEMA_VERSION = 1
OLDEST_SQLITE = (3, 37, 0)
BUSY_TIMEOUT_SECONDS = 30.0

_FRAME = {
    "window_start": "TEXT",
    "window_end": "TEXT",
    "complete": "INTEGER",
    "rank": "INTEGER",
    "refreshed_at": "TEXT",
    "late_by": "REAL",
    "restored": "INTEGER",
}

OWN_TABLES = (
    "CREATE TABLE hemiola_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE hemiola_queries (
        name TEXT PRIMARY KEY, sql TEXT NOT NULL, stream TEXT NOT NULL, window_us INTEGER NOT NULL,
        slide_us INTEGER NOT NULL, semantics TEXT NOT NULL, priority INTEGER NOT NULL, until TEXT,
        registered_at TEXT NOT NULL, active INTEGER NOT NULL, answer_table TEXT NOT NULL, definition TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE hemiola_refreshes (
        query TEXT NOT NULL, window_end TEXT NOT NULL, task TEXT NOT NULL, started_at TEXT NOT NULL,
        duration_ms REAL NOT NULL, rows INTEGER NOT NULL, late_by REAL NOT NULL, restored INTEGER NOT NULL,
        shared_with TEXT NOT NULL, PRIMARY KEY (query, window_end)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE hemiola_streams (
        stream TEXT PRIMARY KEY, interval_us INTEGER NOT NULL, seen_from TEXT, newest TEXT,
        updated_until TEXT NOT NULL, records INTEGER NOT NULL, rejected INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE hemiola_rejects (
        stream TEXT NOT NULL, reason TEXT NOT NULL, record TEXT, batch TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX hemiola_rejects_batch ON hemiola_rejects (stream, batch)",
)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def column_type(column: AnswerColumn) -> str:
    if column.wide:
        return "ANY"
    if column.type.integer or column.type is Type.BOOLEAN:
        return "INTEGER"
    if column.type in (Type.FLOAT, Type.DOUBLE):
        return "ANY" if column.key else "REAL"
    return "BLOB" if column.type is Type.BINARY else "TEXT"


def declared_columns(table: AnswerTable) -> list[tuple[str, str]]:
    """(name, type) as ``PRAGMA table_info`` tells them."""
    return [
        *((name, _FRAME[name]) for name in table.leading),
        *((column.name, column_type(column)) for column in table.columns),
        *((name, _FRAME[name]) for name in table.trailing),
    ]


def create_table(table: AnswerTable) -> str:
    frame = {*table.leading, *table.trailing}
    columns = (
        f"{quote(name)} {type}" + (" NOT NULL" if name in frame else "") for name, type in declared_columns(table)
    )
    return f"CREATE TABLE {quote(table.name)} ({', '.join(columns)}) STRICT"


def create_index(table: AnswerTable) -> str:
    """The unique index on (window_end, rank or keys), in which NULL keys are equal to each other."""
    if table.ordered:
        return _index(table.name, "UNIQUE", ["window_end", "rank"])
    if table.distinct:
        return _index(table.name, "UNIQUE", ["window_end", *(_null_as_value(column) for column in table.keys)])
    return _index(table.name, "", ["window_end"])


def _null_as_value(column: AnswerColumn) -> str:
    """The key, or for NULL a value of a storage class that a STRICT column of its type cannot hold."""
    stand_in = "''" if column.type is Type.BINARY else "x''"
    return f"ifnull({quote(column.name)}, {stand_in})"


def _index(table: str, unique: str, terms: list[str]) -> str:
    return f"CREATE {unique} INDEX {quote(index_name(table))} ON {quote(table)} ({', '.join(terms)})"


def index_name(table: str) -> str:
    return f"{OWN_PREFIX}index_{table}"


def insert_rows(table: AnswerTable) -> str:
    names = ", ".join(quote(name) for name in table.column_names)
    return f"INSERT INTO {quote(table.name)} ({names}) VALUES ({', '.join('?' * len(table.column_names))})"


def upsert(table: str, columns: tuple[str, ...], key: tuple[str, ...], where: str = "") -> str:
    """Insert a row, or overwrite the one with the same key (if ``where`` holds)."""
    assign = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {assign} {where}"
    )


@contextmanager
def explained(database: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise run_error(database, error) from error


def run_error(database: Path, error: sqlite3.Error) -> RunError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    seconds = f"{BUSY_TIMEOUT_SECONDS:g}"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return ResultsUnavailable(
            f"the results {database} have been locked by another process for {seconds} s",
            hint="end the transaction that another program holds open on this file",
        )
    if code == sqlite3.SQLITE_FULL:
        return ResultsUnavailable(
            f"no space left for the results {database}", hint="free disk space or set results_keep in the config"
        )
    if code == sqlite3.SQLITE_IOERR:
        return ResultsUnavailable(f"cannot read or write the results {database}: {error}", hint="check the disk")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return RunError(f"cannot open the results {database}: {error}", hint="check the permissions of file and folder")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return RunError(
            f"{database} is not a sound SQLite database: {error}", hint="move the file away or restore a copy of it"
        )
    return RunError(f"the results {database} failed: {error}")
