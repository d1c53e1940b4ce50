"""Every approximate aggregate replayed end to end: its bounds must contain DuckDB's exact answer (semantics.md 2)."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hemiola

START = datetime(2026, 3, 1, tzinfo=UTC)
SECONDS = 90
CONFIG = """
streams:
  packets:
    source: {format: parquet, path: data}
    schema: ts TIMESTAMP, src STRING, port INT, length BIGINT, score DOUBLE, price DECIMAL(10, 2)
    time: ts
queries:
"""
AGGREGATES = {
    "distinct_src": ("APPROX_COUNT_DISTINCT(src, 0.05)", "count(DISTINCT src)"),
    "distinct_length": ("APPROX_COUNT_DISTINCT(length)", "count(DISTINCT length)"),
    "quantile_length": ("APPROX_QUANTILE(length, 0.9)", "quantile_disc(length, 0.9)"),
    "quantile_score": ("APPROX_QUANTILE(score, 0.5, 0.05)", "quantile_disc(score, 0.5)"),
    "quantile_price": ("APPROX_QUANTILE(CAST(price AS DOUBLE), 0.25)", "quantile_disc(price::DOUBLE, 0.25)"),
    "quantile_ts": ("APPROX_QUANTILE(ts, 0.5)", "quantile_disc(ts, 0.5)"),
}
WINDOW = 20
QUERIES = {
    **{name: f"SELECT {ours} AS d FROM packets [WINDOW 20 s SLIDE 2 s]" for name, (ours, _) in AGGREGATES.items()},
    "by_port": "SELECT port, APPROX_COUNT_DISTINCT(src) AS d FROM packets [WINDOW 20 s SLIDE 2 s] GROUP BY port",
    "narrow": "SELECT MAX(d_high - d_low) AS width FROM (SELECT port, APPROX_COUNT_DISTINCT(src) AS d"
    " FROM packets [WINDOW 20 s SLIDE 2 s] GROUP BY port)",
    "top": "SELECT APPROX_TOP_K(src, 5) AS d FROM packets [WINDOW 20 s SLIDE 2 s]",
    "top_small": "SELECT APPROX_TOP_K(port, 3, 16) AS d FROM packets [WINDOW 20 s SLIDE 2 s]",
    "lists": "SELECT TOP_K_LISTS(src, 8) AS d FROM packets [WINDOW 20 s SLIDE 2 s]",
    "list_weights": "SELECT TOP_K_LISTS(port, 4, length) AS d FROM packets [WINDOW 20 s SLIDE 2 s]"
    " WHERE src IS NOT NULL",
    "exact_beside": "SELECT COUNT(DISTINCT src) AS n FROM packets [WINDOW 20 s SLIDE 2 s]",
}


def packets() -> pa.Table:
    rng = np.random.default_rng(5)
    rows = 30_000
    offsets = rng.integers(0, SECONDS * 1_000_000, rows)
    offsets = offsets[(offsets < 40_000_000) | (offsets > 62_000_000)]
    rows = len(offsets)
    names = np.array([f"h{number}" for number in range(4_000)], dtype=object)
    sources = names[rng.zipf(1.3, rows) % 4_000]
    sources[rng.random(rows) < 0.02] = None
    sources[rng.random(rows) < 0.01] = ""
    return pa.table(
        {
            "ts": pa.array([START + timedelta(microseconds=int(o)) for o in offsets], pa.timestamp("us", tz="UTC")),
            "src": pa.array(sources, pa.string()),
            "port": pa.array(rng.zipf(1.5, rows) % 1_000, pa.int32()),
            "length": pa.array(rng.integers(-20, 3_000, rows), mask=rng.random(rows) < 0.05),
            "score": pa.array(rng.lognormal(0, 3, rows)),
            "price": pa.array(np.round(rng.gamma(2, 50, rows), 2)).cast(pa.decimal128(10, 2), safe=False),
        }
    )


@pytest.fixture(scope="module")
def raw() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("arrow", packets())
    connection.execute("CREATE TABLE packets AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM arrow")
    return connection


@pytest.fixture(scope="module")
def results(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    folder: Path = tmp_path_factory.mktemp("approximate")
    (folder / "data").mkdir()
    pq.write_table(packets(), folder / "data" / "all.parquet")
    listed = "".join(f"  - name: {name}\n    sql: {sql}\n" for name, sql in QUERIES.items())
    (folder / "config.yaml").write_text(CONFIG + listed)
    hemiola.replay(folder / "config.yaml", spark=spark)
    return sqlite3.connect(folder / "var" / "results.db")


def _ends(results: sqlite3.Connection, query: str) -> list[str]:
    rows = results.execute("SELECT window_end FROM hemiola_refreshes WHERE query = ? ORDER BY 1", [query]).fetchall()
    assert len(rows) >= 40
    return [end for (end,) in rows]


def _exact(raw: duckdb.DuckDBPyConnection, select: str, end: str, rest: str = "") -> list[tuple[Any, ...]]:
    close = datetime.fromisoformat(end).replace(tzinfo=None)
    window = f"ts >= '{close - timedelta(seconds=WINDOW)}' AND ts < '{close}'"
    return raw.sql(f"SELECT {select} FROM packets WHERE {window} {rest}").fetchall()


def _stored(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


@pytest.mark.parametrize("query", AGGREGATES)
def test_bounds_contain_the_exact_answer(
    query: str, results: sqlite3.Connection, raw: duckdb.DuckDBPyConnection
) -> None:
    held = []
    for end in _ends(results, query):
        ((answer, low, high),) = results.execute(f"SELECT d, d_low, d_high FROM {query} WHERE window_end = ?", [end])
        ((exact,),) = _exact(raw, AGGREGATES[query][1], end)
        if exact is None or answer is None:
            assert (answer, low, high) == (exact, exact, exact)
            continue
        assert low <= answer <= high
        held.append(low <= _stored(exact) <= high)
    assert sum(held) >= 0.95 * len(held) >= 30


def test_bounds_per_group(results: sqlite3.Connection, raw: duckdb.DuckDBPyConnection) -> None:
    held = []
    for end in _ends(results, "by_port"):
        found = results.execute("SELECT port, d_low, d_high FROM by_port WHERE window_end = ?", [end]).fetchall()
        exact = dict(_exact(raw, "port, count(DISTINCT src)", end, "GROUP BY port"))
        assert {port for port, *_ in found} == set(exact)
        held += [low <= exact[port] <= high for port, low, high in found]
        ((width,),) = results.execute("SELECT width FROM narrow WHERE window_end = ?", [end])
        assert width == max((high - low for _, low, high in found), default=None)
    assert sum(held) >= 0.95 * len(held) >= 1_000


@pytest.mark.parametrize(("query", "item", "k"), [("top", "src", 5), ("top_small", "port", 3)])
def test_top_k(query: str, item: str, k: int, results: sqlite3.Connection, raw: duckdb.DuckDBPyConnection) -> None:
    sql = f"SELECT rank, d, d_count, d_low, d_high FROM {query} WHERE window_end = ? ORDER BY rank"
    for end in _ends(results, query):
        rows = results.execute(sql, [end]).fetchall()
        exact = dict(_exact(raw, f"{item}, count(*)", end, f"AND {item} IS NOT NULL GROUP BY {item}"))
        assert [rank for rank, *_ in rows] == list(range(1, min(k, len(exact)) + 1))
        assert all(low <= exact[found] <= high and low <= count <= high for _, found, count, low, high in rows)
        assert [count for _, _, count, *_ in rows] == sorted((count for _, _, count, *_ in rows), reverse=True)
        if query == "top" and exact:
            assert rows[0][2] == max(exact.values())


@pytest.mark.parametrize(
    ("query", "item", "weight", "rest"),
    [
        ("lists", "src", "count(*)", "AND src IS NOT NULL"),
        ("list_weights", "port", "coalesce(sum(greatest(length, 0)), 0)", "AND src IS NOT NULL"),
    ],
)
def test_lists(
    query: str, item: str, weight: str, rest: str, results: sqlite3.Connection, raw: duckdb.DuckDBPyConnection
) -> None:
    reported = 0
    for end in _ends(results, query):
        rows = results.execute(
            f"SELECT d, d_count, d_low, d_high, d_delta FROM {query} WHERE window_end = ? ORDER BY rank", [end]
        ).fetchall()
        exact = dict(_exact(raw, f"{item}, {weight}", end, f"{rest} GROUP BY {item}"))
        for found, count, low, high, delta in rows:
            assert delta < count == low <= exact[found] <= high
        reported += len(rows)
        if rows:
            heaviest = max(exact, key=lambda key: exact[key])
            assert heaviest in {found for found, *_ in rows}
    assert reported >= 40
