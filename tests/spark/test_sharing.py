"""Shared plans replayed on Spark, every row of every window judged by DuckDB over the raw rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import hemiola
from queries.config import load_config
from sharing.plan import plan_stream
from tests.oracle.events import SCHEMA, events, write_parquet
from tests.oracle.judge import Case, differences

CLAUSE = "FROM events [WINDOW {} s SLIDE {} s]"
WORKED = {
    "q3": f"SELECT SUM(length) AS a {CLAUSE.format(20, 5)} WHERE protocol = 'TCP' OR protocol = 'UDP'",
    "q2": f"SELECT SUM(length) AS a {CLAUSE.format(10, 5)} WHERE protocol = 'UDP'",
    "q1": f"SELECT SUM(length) AS a {CLAUSE.format(15, 5)} WHERE protocol = 'TCP'",
    "q4": f"SELECT MAX(length) AS a {CLAUSE.format(10, 5)} WHERE flag",
    "q5": f"SELECT MAX(length) AS a {CLAUSE.format(10, 5)} WHERE src = 'a'",
    "q6": f"SELECT MAX(length) AS a {CLAUSE.format(15, 5)} WHERE flag OR src = 'a'",
    "overlapping": f"SELECT SUM(length) AS a {CLAUSE.format(10, 5)} WHERE protocol = 'TCP' OR src = 'a'",
}
CELLS = {
    f"below_{c}": f"SELECT src, SUM(length) AS a {CLAUSE.format(10, 5)} WHERE port < {c} GROUP BY src"
    for c in range(1, 40)
}
OTHERS = {
    "between": f"SELECT src, STDDEV(score) AS a {CLAUSE.format(20, 10)} WHERE port BETWEEN 10 AND 29 GROUP BY src",
    "fine": f"SELECT protocol, flag, COUNT(*) AS n, MAX(score) AS m {CLAUSE.format(10, 10)} GROUP BY protocol, flag",
    "swapped": f"SELECT flag, protocol, COUNT(*) AS n {CLAUSE.format(10, 5)} GROUP BY flag, protocol",
    "coarse": f"SELECT flag, MAX(score) AS m {CLAUSE.format(10, 10)} GROUP BY flag",
    "slow": f"SELECT flag, MAX(score) AS m {CLAUSE.format(10, 20)} GROUP BY flag",
}
QUERIES = {**WORKED, **CELLS, **OTHERS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sharing")
    write_parquet(events(), folder / "data")
    listed = "\n".join(f'  - {{name: {name}, sql: "{sql}"}}' for name, sql in QUERIES.items())
    (folder / "sharing.yaml").write_text(
        f"streams:\n  events:\n    source: {{format: parquet, path: data}}\n    schema: {SCHEMA}\n    time: ts\n"
        f"queries:\n{listed}\nscheduler: {{policy: none}}\n"
    )
    return folder


def test_the_plan_shares_in_every_way(folder):
    config = load_config(folder / "sharing.yaml")
    plan = plan_stream(config.streams[0], config.queries)
    rules = {query.query.name: query.base.rule for query in plan.queries}
    assert rules["q1"] == "SS4 supercover minus cover"
    assert rules["q6"] == "SS4 cover"
    assert rules["overlapping"] == "own synopsis"
    assert {rules[name] for name in (*CELLS, "between")} == {"cells"}
    assert rules["swapped"] == rules["coarse"] == "roll-up"
    assert plan.query("slow").shares_output_of == "coarse"


def test_every_row_is_duckdbs(folder, spark):
    hemiola.replay(folder / "sharing.yaml", spark=spark)
    rows = duckdb.connect()
    rows.execute("SET TimeZone = 'UTC'")
    rows.register("raw", events())
    rows.execute("CREATE TABLE events AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM raw")
    cases = [Case(name, sql) for name, sql in QUERIES.items()]
    assert differences(folder / "var" / "results.db", rows, cases) == []
