"""``hemiola ask``: one-time queries over a bounded source against DuckDB; refusals before Spark is started."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from hemiola.asking import answer_now, ask_config, asked_query
from hemiola.cli import app
from hemiola.control import ControlServer
from hemiola.state_folder import socket_path
from queries.config import load_config
from queries.errors import InputError, RunError
from scheduler.asking import Unanswerable
from scheduler.clocks import VirtualClock
from scheduler.cost import CostModel
from scheduler.engine import Engine
from scheduler.policies import make_policy
from sharing.plan import plan_stream
from tests.oracle.events import SCHEMA, events, write_parquet
from tests.scheduler.arrow_stream import partials
from tests.scheduler.overloaded import FIRST, SECOND, STREAM, raw_rows

CONFIG = f"""
streams:
  events: {{source: {{format: parquet, path: data}}, schema: "{SCHEMA}", time: ts}}
queries:
  - name: by_pair
    sql: SELECT src, dst, COUNT(*) AS n, SUM(port) AS p FROM events [WINDOW 60 s SLIDE 20 s] GROUP BY src, dst
  - name: lengths
    sql: SELECT QUANTILE(length, 0.9) AS p90 FROM events [WINDOW 30 s SLIDE 5 s]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    config = tmp_path / "ask.yaml"
    config.write_text(CONFIG)
    return config


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT COUNT(*) AS n FROM events [WINDOW 10 min]", "a window of at least 10 min"),
        ("SELECT protocol, COUNT(*) AS n FROM events [WINDOW 10 s] GROUP BY protocol", "by protocol"),
        ("SELECT src, MAX(score) AS m FROM events [WINDOW 10 s] GROUP BY src", "MAX(score)"),
        ("SELECT COUNT(*) AS n FROM events [WINDOW 7 s]", "intervals of 5 s"),
    ],
)
def test_what_is_not_kept_is_refused_before_spark_starts(path: Path, sql: str, hint: str) -> None:
    with pytest.raises(Unanswerable) as refused:
        ask_config(load_config(path), sql)
    assert hint in str(refused.value)
    assert refused.value.exit_code == 1


def test_wrong_sql_has_a_place(path: Path) -> None:
    refused = CliRunner().invoke(app, ["ask", str(path), "SELECT COUNT(*) AS n FROM evnets [WINDOW 5 s]"])
    assert isinstance(refused.exception, InputError)
    assert "1:27: there is no stream evnets" in str(refused.exception)
    assert "did you mean events?" in str(refused.exception)


def test_a_stream_without_records_says_so(path: Path) -> None:
    config = load_config(path)
    with pytest.raises(RunError, match="no records yet"):
        answer_now("SELECT COUNT(*) AS n FROM events [WINDOW 10 s]", config.streams, lambda name: None)


def test_a_daemon_is_asked_if_it_answers_and_a_dead_ones_socket_is_passed_over(path: Path) -> None:
    config = load_config(path)
    sql = "SELECT COUNT(*) AS n FROM events [WINDOW 10 min]"
    socket = socket_path(config.state)
    socket.parent.mkdir(parents=True)
    socket.touch()
    with pytest.raises(Unanswerable):
        ask_config(config, sql)
    reply = {"window_start": "a", "window_end": "b", "complete": True, "columns": ["n"], "rows": [[7]]}
    server = ControlServer(socket, lambda request: reply if request == {"command": "ask", "sql": sql} else {})
    try:
        found = ask_config(config, sql)
    finally:
        server.close()
    assert (found.window_end, found.result.rows) == ("b", [(7,)])


def test_a_daemons_reply_is_plain_json_with_typed_cells(path: Path) -> None:
    """Timestamps as text, NULL as null, integers whole: what the control socket carries."""
    plan = plan_stream(
        STREAM,
        [asked_query("SELECT src, MAX(ts) AS last, COUNT(*) AS n FROM events [WINDOW 30 s] GROUP BY src", [STREAM])],
    )
    clock = VirtualClock(FIRST * SECOND)
    engine = Engine(plan, make_policy("none", "off"), CostModel(), clock, start=FIRST, seen_from=FIRST)
    for need, table in partials(raw_rows(), STREAM, plan.needs):
        engine.ingest(need, table)
    for _ in range(20):
        engine.update()
    sql = "SELECT src, MAX(ts) AS last, COUNT(*) AS n FROM events [WINDOW 30 s] GROUP BY src ORDER BY src LIMIT 2"
    found = json.loads(json.dumps(answer_now(sql, [STREAM], {"events": engine}.get)))
    wanted = raw_rows().sql(
        f"SELECT src, strftime(MAX(ts), '%Y-%m-%dT%H:%M:%S.%fZ'), COUNT(*) FROM events "
        f"WHERE epoch_us(ts) < {(FIRST + 20) * SECOND} GROUP BY src ORDER BY src NULLS FIRST LIMIT 2"
    )
    assert found["columns"] == ["src", "last", "n"]
    assert [tuple(row) for row in found["rows"]] == wanted.fetchall()
    assert found["complete"] is False
    assert found["window_end"] == datetime.fromtimestamp(FIRST + 20, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_answers_are_duckdbs_as_of_the_end_of_the_data(path: Path, spark) -> None:
    table = events(rows=1500)
    write_parquet(table, path.parent / "data")
    config = load_config(path)
    found = ask_config(
        config,
        "SELECT src, COUNT(*) AS n, SUM(port) AS p FROM events [WINDOW 40 s] GROUP BY src ORDER BY n DESC",
        spark,
    )
    newest = max(moment.timestamp() for moment in table["ts"].to_pylist())
    end = int(newest) // 5 * 5 + 5
    assert found.window_end == datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert found.complete
    rows = duckdb.connect()
    rows.register("raw", table)
    wanted = rows.sql(
        f"SELECT src, COUNT(*) AS n, SUM(port)::BIGINT AS p FROM raw WHERE epoch_us(ts) >= {(end - 40) * 1_000_000} "
        f"AND epoch_us(ts) < {end * 1_000_000} GROUP BY src ORDER BY n DESC, src NULLS FIRST"
    ).fetchall()
    assert found.result.columns == ("src", "n", "p")
    assert found.result.rows == wanted
    quantile = ask_config(config, "SELECT MEDIAN(length) AS m FROM events [WINDOW 15 s]", spark)
    assert (
        quantile.result.rows
        == rows.sql(f"SELECT median(length) FROM raw WHERE epoch_us(ts) >= {(end - 15) * 1_000_000}").fetchall()
    )
