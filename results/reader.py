"""Read-only SQL on the results, at any time, also while another process writes them."""

from __future__ import annotations

import difflib
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from queries.errors import InputError, Problem, RunError
from results.location import sqlite_path
from results.sqlite_dialect import BUSY_TIMEOUT_SECONDS, run_error

Cell = int | float | str | bytes | None

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_ALLOWED_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list"})
_DENIED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})
_WARM_UP = ("json_each('[]')", "json_tree('[]')", "pragma_table_info('x')", "pragma_table_list")
_MISSING = re.compile(r"no such (table|column|function): (?:\w+\.)?(.+)")


@dataclass(frozen=True)
class ReadResult:
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def read(url: str, sql: str) -> ReadResult:
    """The rows of one SELECT over the results.

    Wrong SQL, or SQL that is anything but one read, is an InputError; a missing or unreadable database a RunError.
    """
    database = sqlite_path(url).absolute()
    if not database.is_file():
        raise RunError(f"there are no results at {database}", hint="run hemiola replay first")
    connection = _open(database)
    try:
        cursor = connection.execute(sql)
        if cursor.description is None:
            raise _refused("this is no query", "write one SELECT")
        return ReadResult(tuple(column[0] for column in cursor.description), cursor.fetchall())
    except sqlite3.Error as error:
        raise _explained(connection, database, sql, error) from error
    finally:
        connection.close()


def _open(database: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"{database.as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None
        )
    except sqlite3.Error as error:
        raise run_error(database, error) from error
    try:
        connection.execute("PRAGMA query_only = ON")
        for function in _WARM_UP:  # a table-valued function declares its columns on first use, which is a write
            connection.execute(f"SELECT * FROM {function} LIMIT 0")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        connection.close()
        raise run_error(database, error) from error
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """Allow what reads, deny all the rest: new kinds of statement are denied by default."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = first is not None and first.lower() in _ALLOWED_PRAGMAS
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = second is not None and second.lower() not in _DENIED_FUNCTIONS
    else:
        allowed = action in _ALLOWED
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _explained(connection: sqlite3.Connection, database: Path, sql: str, error: sqlite3.Error) -> InputError | RunError:
    message = str(error)
    if "one statement at a time" in message:
        return _refused("several statements in one query", "write one SELECT")
    if "not authorized" in message or "authorization denied" in message:
        return _refused("the results can only be read: this statement does more than that", "write one SELECT")
    if isinstance(error, sqlite3.ProgrammingError):
        return _refused(message, "write one SELECT, with values instead of ? or :name")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG):
        return _refused(message, _suggestion(connection, sql, message))
    return run_error(database, error)


def _refused(message: str, hint: str | None) -> InputError:
    return InputError((Problem("SQL", None, message, hint),))


def _suggestion(connection: sqlite3.Connection, sql: str, message: str) -> str | None:
    """The nearest name to one that does not exist; for columns, of the tables that the query mentions."""
    missing = _MISSING.fullmatch(message)
    if missing is None or missing[1] == "function":
        return None
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    if missing[1] == "column":
        words = {word.lower() for word in re.findall(r"\w+", sql)}
        tables = [name for name in names if name.lower() in words]
        names = [
            column
            for table in tables
            for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        ]
    nearest = difflib.get_close_matches(missing[2].lower(), [name.lower() for name in names], n=1)
    if nearest:
        return f"did you mean {next(name for name in names if name.lower() == nearest[0])}?"
    what = "tables" if missing[1] == "table" else "columns"
    return f"{what}: {', '.join(dict.fromkeys(names))}" if names else None
