"""Replay on a real Spark session: readers beside it, interruptions, more data, more queries, malformed records."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hemiola

START = datetime(2026, 3, 1, tzinfo=UTC)
CONFIG = """
streams:
  packets:
    source: {format: FORMAT, path: data}
    schema: ts TIMESTAMP, src STRING, length BIGINT
    time: ts
queries:
  - name: by_src
    sql: SELECT src, SUM(length) AS bytes FROM packets [WINDOW 10 s SLIDE 2 s] GROUP BY src
  - name: everything
    sql: SELECT COUNT(*) AS n FROM packets [WINDOW 7 s SLIDE 3 s]
scheduler: {policy: none}
"""


def packets(first: int, last: int) -> pa.Table:
    """Five records per second in [first, last)."""
    times = [START + timedelta(milliseconds=200 * i) for i in range(5 * first, 5 * last)]
    rows = {"ts": times, "src": [f"s{i % 7}" for i in range(len(times))], "length": list(range(len(times)))}
    schema = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("src", pa.string()), ("length", pa.int64())])
    return pa.table(rows, schema=schema)


def write_config(folder: Path, format: str = "parquet", more: str = "") -> Path:
    path = folder / "packets.yaml"
    path.write_text(CONFIG.replace("FORMAT", format).replace("scheduler:", more + "scheduler:"))
    return path


def put(folder: Path, name: str, table: pa.Table) -> None:
    (folder / "data").mkdir(exist_ok=True)
    pq.write_table(table, folder / "data" / f"{name}.parquet")


def answers(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(folder / "var" / "results.db") as results:
        tables = ("by_src", "everything")
        return {name: results.execute(f"SELECT * FROM {name} ORDER BY window_end, 4").fetchall() for name in tables}


@pytest.fixture
def replayed_at_once(tmp_path, spark):
    """The answers of one uninterrupted replay of a minute."""
    folder = tmp_path / "at_once"
    folder.mkdir()
    put(folder, "all", packets(0, 60))
    hemiola.replay(write_config(folder), spark=spark)
    return answers(folder)


def test_a_query_in_another_process_reads_while_a_replay_writes(tmp_path, spark):
    put(tmp_path, "all", packets(0, 60))
    config = write_config(tmp_path)
    seen = []

    def ask(stream: str, done: int, total: int) -> None:
        if done in (20, 40):
            sql = "SELECT count(*) AS n FROM by_src"
            command = [sys.executable, "-m", "hemiola", "query", str(config), sql, "--format", "json"]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seen.append(json.loads(printed)[0]["n"])

    hemiola.replay(config, spark=spark, progress=ask)
    assert 0 < seen[0] < seen[1] < len(answers(tmp_path)["by_src"])


def test_an_interrupted_replay_is_finished_by_the_next(tmp_path, spark, replayed_at_once):
    put(tmp_path, "all", packets(0, 60))
    config = write_config(tmp_path)

    def interrupt(stream: str, done: int, total: int) -> None:
        if done == 31:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hemiola.replay(config, spark=spark, progress=interrupt)
    report = hemiola.replay(config, spark=spark)
    assert 0 < report.refreshes < 40
    assert answers(tmp_path) == replayed_at_once


def test_more_data_continues_and_corrects_the_interval_that_was_cut_off(tmp_path, spark, replayed_at_once):
    put(tmp_path, "first", packets(0, 60).slice(0, 153))
    config = write_config(tmp_path)
    hemiola.replay(config, spark=spark)
    put(tmp_path, "second", packets(0, 60).slice(153))
    report = hemiola.replay(config, spark=spark)
    assert report.refreshes < 30
    assert answers(tmp_path) == replayed_at_once


def test_until_stops_and_the_rest_follows(tmp_path, spark, replayed_at_once):
    put(tmp_path, "all", packets(0, 60))
    config = write_config(tmp_path)
    hemiola.replay(config, spark=spark, until=int((START.timestamp() + 20) * 1e6))
    assert max(row[1] for row in answers(tmp_path)["by_src"]) == "2026-03-01T00:00:20.000000Z"
    hemiola.replay(config, spark=spark)
    assert answers(tmp_path) == replayed_at_once


def test_a_query_added_later_gets_its_history_and_others_are_left_alone(tmp_path, spark, replayed_at_once):
    put(tmp_path, "all", packets(0, 60))
    hemiola.replay(write_config(tmp_path), spark=spark)
    sql = "SELECT src, COUNT(*) AS n FROM packets [WINDOW 4 s] GROUP BY src ORDER BY n LIMIT 1"
    added = f"  - {{name: top, sql: '{sql}'}}\n"
    report = hemiola.replay(write_config(tmp_path, more=added), spark=spark)
    assert report.refreshes == 15
    assert answers(tmp_path) == replayed_at_once


def test_malformed_records_are_counted_and_kept(tmp_path, spark):
    lines = ["ts,src,length", "2026-03-01T00:00:01Z,a,5", "2026-03-01T00:00:02Z,b,not a number", ",c,7",
             "2026-03-01T00:00:02.500Z,a,6"]  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "packets.csv").write_text("\n".join(lines) + "\n")
    report = hemiola.replay(write_config(tmp_path, "csv"), spark=spark)
    assert (report.records, report.streams[0].rejected) == (2, 2)
    with sqlite3.connect(tmp_path / "var" / "results.db") as results:
        kept = results.execute("SELECT reason, record FROM hemiola_rejects ORDER BY reason").fetchall()
        newest = results.execute("SELECT n FROM everything ORDER BY window_end DESC LIMIT 1").fetchone()
    assert [reason for reason, _ in kept] == ["malformed", "no event time"]
    assert "not a number" in kept[0][1] and '"src":"c"' in kept[1][1]
    assert newest == (2,)


def test_json_lines_replay_like_parquet(tmp_path, spark, replayed_at_once):
    (tmp_path / "data").mkdir()
    lines = [json.dumps({**row, "ts": row["ts"].isoformat()}) for row in packets(0, 60).to_pylist()]
    (tmp_path / "data" / "packets.json").write_text("\n".join(lines) + "\n")
    hemiola.replay(write_config(tmp_path, "json"), spark=spark)
    assert answers(tmp_path) == replayed_at_once


def test_a_source_without_records_is_no_failure(tmp_path, spark):
    put(tmp_path, "none", packets(0, 0))
    report = hemiola.replay(write_config(tmp_path), spark=spark)
    assert (report.records, report.refreshes) == (0, 0)


def test_a_missing_source_is_a_run_time_failure_that_names_it(tmp_path, spark):
    with pytest.raises(hemiola.RunError, match="packets") as failed:
        hemiola.replay(write_config(tmp_path), spark=spark)
    assert failed.value.hint


def write_rows(folder: Path, rows: list[tuple[datetime, str, int]]) -> None:
    schema = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("src", pa.string()), ("length", pa.int64())])
    columns = [list(column) for column in zip(*rows, strict=True)]
    put(folder, "rows", pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema))


def test_windows_that_end_before_1970_are_there(tmp_path, spark):
    dawn = datetime(1970, 1, 1, tzinfo=UTC)
    write_rows(tmp_path, [(dawn + timedelta(seconds=second), "a", 1) for second in range(-20, 10)])
    hemiola.replay(write_config(tmp_path), spark=spark)
    ends = [row[1] for row in answers(tmp_path)["by_src"]]
    assert ends[0] == "1969-12-31T23:59:42.000000Z" and len(ends) == 15


def test_the_last_records_are_answered_whatever_else_is_registered(tmp_path, spark):
    write_rows(tmp_path, [(START + timedelta(seconds=7), "a", 5)])
    hourly = "  - {name: hourly, sql: 'SELECT src, SUM(length) AS s FROM packets [WINDOW 1 h] GROUP BY src'}\n"
    hemiola.replay(write_config(tmp_path, more=hourly), spark=spark)
    with sqlite3.connect(tmp_path / "var" / "results.db") as results:
        rows = results.execute("SELECT window_end, complete, src, s FROM hourly").fetchall()
    assert rows == [("2026-03-01T01:00:00.000000Z", 0, "a", 5)]


def test_an_expression_that_fails_is_named(tmp_path, spark):
    put(tmp_path, "all", packets(0, 10))
    wrong = "  - {name: wrong, sql: 'SELECT SUM(length * 9223372036854775807) AS s FROM packets [WINDOW 4 s]'}\n"
    with pytest.raises(hemiola.RunError, match=r"overflow.*length \* 9223372036854775807") as failed:
        hemiola.replay(write_config(tmp_path, more=wrong), spark=spark)
    assert "CAST" in str(failed.value)
