"""A replay of every kind of query, each row of each window judged by DuckDB over the raw rows."""

from __future__ import annotations

import random
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
import yaml

import hemiola
from tests.oracle.events import SCHEMA, START, events, write_parquet
from tests.oracle.judge import Case, differences, window_ends

HERE = Path(__file__).parent
TIEBREAKS = {
    "top_bytes": "src NULLS FIRST",
    "top_ties": "dst NULLS FIRST, protocol NULLS FIRST",
    "bottom_ties": "src NULLS FIRST, dst NULLS FIRST",
    "ordered_all": "protocol NULLS FIRST",
    "order_two": "protocol NULLS FIRST, flag NULLS FIRST",
    "order_having": "src NULLS FIRST",
}
FRAME = {"window_start", "window_end", "complete", "rank", "refreshed_at", "late_by", "restored"}


def cases() -> list[Case]:
    queries = yaml.safe_load((HERE / "queries.yaml").read_text())["queries"]
    return [Case(query["name"], query["sql"], TIEBREAKS.get(query["name"])) for query in queries]


def write_config(folder: Path, policy: str = "none") -> Path:
    shutil.copy(HERE / "queries.yaml", folder / "queries.yaml")
    config = folder / "oracle.yaml"
    config.write_text(
        f"streams:\n  events:\n    source: {{format: parquet, path: data}}\n    schema: {SCHEMA}\n    time: ts\n"
        f"queries:\n  - include: queries.yaml\nscheduler: {{policy: {policy}}}\n"
    )
    return config


@pytest.fixture(scope="module")
def raw_rows() -> duckdb.DuckDBPyConnection:
    table = events()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    connection.register("raw", table)
    connection.execute("CREATE TABLE events AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM raw")
    return connection


@pytest.fixture(scope="module")
def replayed(spark, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("oracle")
    write_parquet(events(), folder / "data")
    hemiola.replay(write_config(folder), spark=spark)
    return folder / "var" / "results.db"


def test_there_are_enough_cases():
    assert len(cases()) >= 40


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_row_of_every_window_equals_duckdbs(case, replayed, raw_rows):
    assert differences(replayed, raw_rows, [case]) == []


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_window_end_on_the_grid_is_there(case, replayed):
    table = events()
    newest = max(table["ts"].to_pylist())
    slide, second = case.slide, int(START.timestamp())
    past_the_newest = -(-(int(newest.timestamp()) + 1) // slide) * slide
    grid = range(second // slide * slide + slide, past_the_newest + 1, slide)
    expected = [datetime.fromtimestamp(end, UTC).replace(tzinfo=None) for end in grid]
    with sqlite3.connect(replayed) as results:
        assert window_ends(results, case.name) == expected


def test_frame_columns_tell_the_truth(replayed):
    with sqlite3.connect(replayed) as results:
        rows = results.execute(
            "SELECT window_start, window_end, complete, refreshed_at, late_by, restored FROM by_src_longer"
        ).fetchall()
    all_in = max(events()["ts"].to_pylist()).replace(microsecond=0) + timedelta(seconds=1)
    assert {complete for _, _, complete, *_ in rows} == {0, 1}
    for start, end, complete, refreshed_at, late_by, restored in rows:
        assert datetime.fromisoformat(end).timestamp() - datetime.fromisoformat(start).timestamp() == 60
        assert complete == (datetime.fromisoformat(start) >= START and datetime.fromisoformat(end) <= all_in)
        assert (refreshed_at, late_by, restored) == (end, 0.0, 0)


def numeric_cells(results: sqlite3.Connection, chance: random.Random) -> list[tuple[str, str, int]]:
    """One cell of each numeric answer column of each query: (table, column, rowid)."""
    cells = []
    for case in cases():
        columns = [row[1] for row in results.execute(f'PRAGMA table_info("{case.name}")') if row[1] not in FRAME]
        for column in columns:
            numeric = f"typeof(\"{column}\") IN ('integer', 'real')"
            ids = [row[0] for row in results.execute(f'SELECT rowid FROM "{case.name}" WHERE {numeric}')]
            if ids:
                cells.append((case.name, column, chance.choice(ids)))
    return cells


def test_changing_any_stored_number_is_noticed(replayed, raw_rows, tmp_path):
    copy = tmp_path / "mutated.db"
    with sqlite3.connect(replayed) as original, sqlite3.connect(copy) as target:
        original.backup(target)
    by_name = {case.name: case for case in cases()}
    with sqlite3.connect(copy) as results:
        cells = numeric_cells(results, random.Random(5))
        assert len(cells) > 60
        for table, column, row in cells:
            value, end = results.execute(
                f'SELECT "{column}", window_end FROM "{table}" WHERE rowid = ?', [row]
            ).fetchone()
            changed = value - 1_000_003 if value > 0 else value + 1_000_003
            if isinstance(value, float):
                changed = value * 1.001 + 0.001
            results.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', [changed, row])
            results.commit()
            moment = datetime.fromisoformat(end).replace(tzinfo=None)
            assert differences(copy, raw_rows, [by_name[table]], [moment]), (table, column, value)
            results.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', [value, row])
            results.commit()


def test_replaying_again_changes_nothing(replayed, spark):
    def everything() -> dict[str, list[tuple[object, ...]]]:
        with sqlite3.connect(replayed) as results:
            tables = [row[0] for row in results.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {table: sorted(results.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr) for table in tables}

    before = everything()
    report = hemiola.replay(replayed.parent.parent / "oracle.yaml", spark=spark)
    assert report.refreshes == 0
    assert everything() == before
