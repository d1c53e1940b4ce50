"""Opening a SQLite results database for writing: its pragmas, its own tables, its version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queries.errors import RunError
from results.sqlite_dialect import BUSY_TIMEOUT_SECONDS, OLDEST_SQLITE, OWN_TABLES, SCHEMA_VERSION


def check_sqlite_version(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    if version < OLDEST_SQLITE:
        found, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST_SQLITE))
        raise RunError(
            f"SQLite {found} is too old for the results: STRICT tables need {needed}",
            hint="use a Python that is built with a newer SQLite",
        )


def connect(database: Path, busy_timeout: float = BUSY_TIMEOUT_SECONDS) -> sqlite3.Connection:
    """A connection without implicit transactions: ``transaction`` is the only way to write."""
    connection = sqlite3.connect(database, timeout=busy_timeout, isolation_level=None, cached_statements=4096)
    try:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise RunError(
                f"the file system of {database} does not support SQLite's write-ahead log",
                hint="put the results on a local disk",
            )
        connection.execute("PRAGMA synchronous = NORMAL")
        with transaction(connection):
            _prepare(connection, database)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, database: Path) -> None:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not names:
        for statement in OWN_TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO hemiola_meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))
        return
    if "hemiola_meta" not in names:
        raise RunError(
            f"{database} is a database of something else: it has tables, but none of Hemiola's",
            hint="give results: another path",
        )
    row = connection.execute("SELECT value FROM hemiola_meta WHERE key = 'schema_version'").fetchone()
    version = row[0] if row else "unknown"
    if version != str(SCHEMA_VERSION):
        raise RunError(
            f"the results {database} have schema version {version}; this Hemiola knows version {SCHEMA_VERSION}",
            hint="use the Hemiola version that wrote them, or give results: another path",
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. The write lock is taken at the start, so waiting for it happens before any work."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
