"""Replays whose synopses live in Spark: every row of every window judged by DuckDB over the raw rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest
import yaml

import hemiola
from tests.oracle.events import SCHEMA, START, events, write_parquet
from tests.oracle.judge import differences
from tests.oracle.test_oracle import HERE, cases

HEAD = f"""
streams:
  events: {{source: {{format: parquet, path: data}}, schema: "{SCHEMA}", time: ts}}
"""


def write_config(folder: Path, queries: list[dict[str, object]], **settings: object) -> Path:
    config = folder / "config.yaml"
    config.write_text(HEAD + yaml.safe_dump({"queries": queries, **settings}))
    return config


def oracle_queries(placement: str) -> list[dict[str, object]]:
    queries = yaml.safe_load((HERE / "queries.yaml").read_text())["queries"]
    return [{**query, "placement": placement} for query in queries]


def after(seconds: float) -> int:
    return int((START.timestamp() + seconds) * 1e6)


@pytest.fixture(scope="module")
def raw() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    connection.register("raw", events())
    connection.execute("CREATE TABLE events AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM raw")
    return connection


def test_the_oracles_queries_are_answered_alike_in_spark(spark, tmp_path, raw):
    write_parquet(events(), tmp_path / "data")
    config = write_config(tmp_path, oracle_queries("spark"))
    report = hemiola.replay(config, until=after(28), spark=spark)
    assert report.streams[0].resident_entries > 0 and report.streams[0].synopsis_entries == 0
    assert differences(tmp_path / "var" / "results.db", raw, cases()) == []
    assert not list((tmp_path / "var" / "state" / "resident").glob("*/*/*")), "a replay leaves no files behind"


def test_queries_move_to_spark_in_mid_stream_and_no_answer_changes(spark, tmp_path, raw):
    write_parquet(events(), tmp_path / "data")
    config = write_config(tmp_path, oracle_queries("auto"), driver_memory_share=0.0)
    report = hemiola.replay(config, until=after(34), cuts=(after(13.5), after(23)), spark=spark)
    assert report.streams[0].moved > 30
    assert differences(tmp_path / "var" / "results.db", raw, cases()) == []


def test_large_answers_go_to_the_lake(spark, tmp_path, raw):
    write_parquet(events(), tmp_path / "data")
    sql = "SELECT src, dst, COUNT(*) AS n, SUM(length) AS total FROM events [WINDOW 20 s SLIDE 10 s] GROUP BY src, dst"
    queries = [
        {"name": "pairs", "sql": sql, "placement": "spark"},
        {"name": "pairs_here", "sql": sql, "placement": "driver"},
        {"name": "top", "sql": f"{sql} ORDER BY n DESC LIMIT 3", "placement": "spark"},
    ]
    config = write_config(tmp_path, queries, results={"lake": "lake"}, scheduler={"policy": "none"})
    hemiola.replay(config, spark=spark)
    with sqlite3.connect(tmp_path / "var" / "results.db") as results:
        assert results.execute("SELECT count(*) FROM pairs").fetchone() == (0,)
        recorded = dict(results.execute("SELECT window_end, rows FROM hemiola_refreshes WHERE query = 'pairs'"))
        assert results.execute("SELECT count(*) FROM top").fetchone()[0] > 10
        columns = [name for _, name, *_ in results.execute("PRAGMA table_info(pairs_here)")]
        here = results.execute(
            "SELECT strftime('%s', window_end), complete, src, dst, n, CAST(total AS TEXT) FROM pairs_here"
        ).fetchall()
    lake = duckdb.sql(
        f"SELECT * FROM read_parquet('{tmp_path}/lake/query=pairs/*/*.parquet', hive_partitioning = false)"
    )
    assert sorted(lake.columns) == sorted(columns)
    found = duckdb.sql(
        "SELECT CAST(epoch(window_end) AS BIGINT)::VARCHAR, complete::INT, src, dst, n, total::VARCHAR FROM lake"
    ).fetchall()
    assert sorted(found, key=repr) == sorted(here, key=repr)
    counted = duckdb.sql("SELECT window_end, count(*) FROM lake GROUP BY ALL").fetchall()
    assert sorted(n for _, n in counted) == sorted(n for n in recorded.values() if n)
    assert not list((tmp_path / "lake" / "_staging").glob("*"))
