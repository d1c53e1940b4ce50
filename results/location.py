"""From the ``results:`` URL of a config to a store."""

from __future__ import annotations

from pathlib import Path

from queries.errors import InputError, Problem
from queries.model import Microseconds
from results.lake import Lake, StoreWithLake
from results.sqlite_dialect import BUSY_TIMEOUT_SECONDS
from results.sqlite_store import SqliteStore
from results.store import ResultsStore

_SQLITE = "sqlite:///"


def open_store(
    url: str,
    *,
    results_keep: Microseconds | None = None,
    busy_timeout: float = BUSY_TIMEOUT_SECONDS,
    lake: str | None = None,
) -> ResultsStore:
    """The results at ``url`` for writing, and the folder of large answers; created when they do not exist yet.

    ``sqlite:////var/results.db`` is an absolute path, ``sqlite:///var/results.db`` one relative to the working folder.
    """
    store = SqliteStore(sqlite_path(url), results_keep=results_keep, busy_timeout=busy_timeout)
    return store if lake is None else StoreWithLake(store, Lake(lake), results_keep)


def sqlite_path(url: str) -> Path:
    path = url.removeprefix(_SQLITE)
    if url.startswith(_SQLITE) and path and path != ":memory:":
        return Path(path)
    if url.startswith(("postgresql:", "postgres:")):
        message, hint = "PostgreSQL results are not supported yet", "use sqlite:///path/to/results.db"
    else:
        message, hint = f"{url!r} is no place for results", "write sqlite:///path/to/results.db"
    raise InputError((Problem("results", None, message, hint),))
