"""Answers do not depend on how history is cut into Spark batches, nor on where the cuts fall within intervals."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hemiola
from tests.oracle.events import SCHEMA, SECONDS, START, events, write_parquet

BEGIN = int(START.timestamp()) * 1_000_000
MOMENTS = st.integers(BEGIN, BEGIN + SECONDS * 1_000_000)
CONFIG = f"""
streams:
  events: {{source: {{format: parquet, path: data}}, schema: "{SCHEMA}", time: ts}}
queries:
  - name: sums
    sql: >
      SELECT src, COUNT(*) AS n, SUM(length) AS total, COUNT(DISTINCT dst) AS d
      FROM events [WINDOW 25 s SLIDE 10 s] GROUP BY src
  - name: extremes
    sql: SELECT MIN(length) AS low, MAX(src) AS high, QUANTILE(length, 0.9) AS p FROM events [WINDOW 15 s SLIDE 5 s]
  - name: spread
    sql: >
      SELECT AVG(port) AS m, ROUND(STDDEV(port), 6) AS s, ROUND(SUM(score), 6) AS t
      FROM events [WINDOW 15 s SLIDE 5 s]
  - name: top
    sql: SELECT dst, SUM(port) AS p FROM events [WINDOW 20 s SLIDE 5 s] WHERE flag GROUP BY dst ORDER BY p DESC LIMIT 2
scheduler: {{policy: none}}
"""
QUERIES = ("sums", "extremes", "spread", "top")


def replayed(folder: Path, spark, cuts: tuple[int, ...]) -> dict[str, list[tuple[object, ...]]]:
    hemiola.replay(folder / "cuts.yaml", cuts=cuts, again=True, spark=spark)
    with sqlite3.connect(folder / "var" / "results.db") as results:
        return {name: sorted(results.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in QUERIES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cuts")
    write_parquet(events(rows=1500, seed=3), folder / "data")
    (folder / "cuts.yaml").write_text(CONFIG)
    return folder


@pytest.fixture(scope="module")
def uncut(folder, spark) -> dict[str, list[tuple[object, ...]]]:
    answers = replayed(folder, spark, ())
    assert all(len(rows) > 15 for rows in answers.values())
    return answers


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(MOMENTS, max_size=6, unique=True))
def test_random_cuts_give_the_same_answers(cuts, folder, spark, uncut):
    assert replayed(folder, spark, tuple(cuts)) == uncut
