"""DuckDB as the judge of a results database: every row of every window against the raw rows.

It shares no code with Hemiola: the query's text is turned into DuckDB's by text replacement, the window becomes a
filter on the raw rows, and the results are read with sqlite3.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLAUSE = re.compile(r"FROM (\w+) \[WINDOW (\d+) (s|min)(?: SLIDE (\d+) (s|min))?\]")
SECONDS = {"s": 1, "min": 60}


@dataclass(frozen=True)
class Case:
    """A query as the judge sees it; ``tiebreak`` are the group keys that settle ties of an ordered answer."""

    name: str
    sql: str
    tiebreak: str | None = None

    @property
    def window(self) -> int:
        match = CLAUSE.search(self.sql)
        assert match
        return int(match[2]) * SECONDS[match[3]]

    @property
    def slide(self) -> int:
        match = CLAUSE.search(self.sql)
        assert match
        return int(match[4]) * SECONDS[match[5]] if match[4] else self.window

    def duckdb(self, start: datetime, end: datetime) -> str:
        filtered = f"FROM (SELECT * FROM {{stream}} WHERE ts >= '{start:%F %T}' AND ts < '{end:%F %T}')"
        sql = CLAUSE.sub(lambda match: filtered.format(stream=match[1]), self.sql)
        sql = re.sub(r"\bQUANTILE\(", "quantile_disc(", sql)
        sql = re.sub(r"\bQUANTILE_CONT\(", "quantile_cont(", sql)
        if self.tiebreak:
            head, _, limit = sql.rpartition(" LIMIT ") if " LIMIT " in sql else (sql, "", "")
            sql = f"{head}, {self.tiebreak}" + (f" LIMIT {limit}" if limit else "")
        return sql


def differences(database: Path, rows: duckdb.DuckDBPyConnection, cases: Iterable[Case], ends: Any = None) -> list[str]:
    """Where the results differ from DuckDB, as sentences; ``ends`` limits the window ends judged."""
    found = []
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as results:
        for case in cases:
            for end in window_ends(results, case.name) if ends is None else ends:
                found += _judge(results, rows, case, end)
    return found


def window_ends(results: sqlite3.Connection, name: str) -> list[datetime]:
    texts = results.execute("SELECT window_end FROM hemiola_refreshes WHERE query = ? ORDER BY 1", [name]).fetchall()
    return [datetime.fromisoformat(text).replace(tzinfo=None) for (text,) in texts]


def _judge(results: sqlite3.Connection, rows: duckdb.DuckDBPyConnection, case: Case, end: datetime) -> list[str]:
    start = end - timedelta(seconds=case.window)
    expected = rows.sql(case.duckdb(start, end))
    columns = expected.columns
    wanted = [tuple(_plain(value) for value in row) for row in expected.fetchall()]
    names = ", ".join(f'"{column}"' for column in columns)
    order = "ORDER BY rank" if case.tiebreak else ""
    sql = f'SELECT {names} FROM "{case.name}" WHERE window_end = ? {order}'
    stamp = end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    got = [tuple(_stored(value) for value in row) for row in results.execute(sql, [stamp]).fetchall()]
    if not case.tiebreak:
        wanted, got = sorted(wanted, key=_sortable), sorted(got, key=_sortable)
    if len(got) == len(wanted) and all(_alike(a, b) for a, b in zip(got, wanted, strict=True)):
        return []
    return [f"{case.name} as of {end}: got {got[:5]}, DuckDB has {wanted[:5]}"]


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _stored(value: Any) -> Any:
    """Integers beyond 64 bits are stored as their digits."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{19,}", value) else value


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is not None, f"{value:.9g}" if isinstance(value, float) else str(value)) for value in row)


def _alike(got: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    return all(_same(a, b) for a, b in zip(got, wanted, strict=True))


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(got, float) or isinstance(wanted, float):
        return got is not None and wanted is not None and math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-9)
    return type(got) is type(wanted) and got == wanted
