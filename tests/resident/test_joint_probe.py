"""A joint probe over files gives the answers of the driver's synopses, and DuckDB's over the raw rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from scheduler.resident_probe import Asked, JointProbe
from sharing.plan import plan_stream
from tests.resident.resident_driving import ask, drive_resident, in_spark, written
from tests.sharing.driven import FIRST, drive, judged, plain, same
from tests.sharing.random_queries import query_sets
from tests.sharing.small_events import STREAM, query

SHAPES = {
    "top": "SELECT src, SUM(length) AS n FROM @8/2 GROUP BY src ORDER BY n DESC LIMIT 3",
    "hidden_order": "SELECT src FROM @8/3 GROUP BY src ORDER BY COUNT(*) DESC, MAX(port) LIMIT 2",
    "having": "SELECT src, COUNT(*) AS n FROM @6/2 GROUP BY src HAVING COUNT(*) > 2",
    "computed": "SELECT src, SUM(length) / COUNT(*) AS per FROM @6/2 GROUP BY src",
    "two_levels": "SELECT QUANTILE(n, 0.5) AS q, COUNT(*) AS c "
    "FROM (SELECT src, SUM(length) AS n FROM @8/2 GROUP BY src)",
    "count_of": "SELECT COUNT(*) AS c FROM (SELECT src, flag FROM @5/2 GROUP BY src, flag)",
    "inner_top": "SELECT AVG(n) AS m "
    "FROM (SELECT src, SUM(length) AS n FROM @8/2 GROUP BY src ORDER BY n DESC LIMIT 2)",
    "regrouped": "SELECT flag, MAX(n) AS m "
    "FROM (SELECT src, flag, COUNT(*) AS n FROM @7/2 GROUP BY src, flag) GROUP BY flag",
    "distinct": "SELECT flag, COUNT(DISTINCT src) AS d, QUANTILE(length, 0.9) AS q FROM @9/3 GROUP BY flag",
    "distinct_all": "SELECT COUNT(DISTINCT src) AS d, MEDIAN(length) AS m, SUM(length) AS n FROM @9/3",
    "distinct_top": "SELECT src, COUNT(DISTINCT port) AS d FROM @9/3 GROUP BY src ORDER BY d DESC LIMIT 2",
    "spread": "SELECT src, STDDEV(port) AS s, AVG(score) AS a, MIN(score) AS low FROM @7/2 GROUP BY src",
    "no_groups": "SELECT COUNT(*) AS n, MAX(length) AS high FROM @4/1 WHERE port = 99",
    "approximate": "SELECT flag, APPROX_COUNT_DISTINCT(src) AS d FROM @6/2 GROUP BY flag",
    "ranked": "SELECT flag, APPROX_QUANTILE(port, 0.5) AS q FROM @6/2 GROUP BY flag",
    "heavy": "SELECT APPROX_TOP_K(src, 3) AS item FROM @6/2",
}


def key(asked: Asked) -> tuple[str, int]:
    return asked.plan.query.name, asked.end


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    queries = [query(name, sql) for name, sql in SHAPES.items()]
    plan = plan_stream(STREAM, in_spark(queries))
    return queries, plan, written(plan, tmp_path_factory.mktemp("shapes"))


def test_every_shape_of_query_is_answered_as_in_the_driver(shapes):
    queries, plan, files = shapes
    assert all(one.resident for one in plan.queries) and all(need.resident for need in plan.needs)
    found = drive_resident(plan, files)
    assert same(found, drive(plan_stream(STREAM, queries))) == []
    judgeable = {name for name, sql in SHAPES.items() if "APPROX" not in sql and "ORDER BY" not in sql}
    exact = {key: rows for key, rows in found.items() if key[0] in judgeable}
    assert judged([one for one in queries if one.name in judgeable], exact) == []


@pytest.mark.slow
@settings(max_examples=25)
@given(queries=query_sets())
def test_random_plans_give_the_same_answers_in_files_as_in_the_driver(queries, tmp_path_factory):
    plan = plan_stream(STREAM, in_spark(queries))
    files = written(plan, tmp_path_factory.mktemp("files"), seed=len(queries))
    assert same(drive_resident(plan, files), drive(plan_stream(STREAM, queries))) == []


def test_window_ends_of_several_updates_are_one_probe(shapes):
    _, plan, files = shapes
    asked = [Asked(FIRST + end, one) for end in (5, 9, 14, 20) for one in plan.queries]
    together = {key(one): plain(table.to_pylist()) for one, table in zip(asked, ask(plan, files, asked), strict=True)}
    alone = {key(one): plain(ask(plan, files, [one])[0].to_pylist()) for one in asked}
    assert same(together, alone) == []


def test_the_number_of_tasks_changes_nothing(shapes):
    _, plan, files = shapes
    asked = [Asked(FIRST + 12, one) for one in plan.queries]
    one, many = (JointProbe(plan.needs, asked, files, tasks) for tasks in (1, 7))
    assert len(one.scans) <= len(many.scans)
    few, more = (
        {key(one): plain(table.to_pylist()) for one, table in zip(asked, ask(plan, files, asked, tasks), strict=True)}
        for tasks in (1, 7)
    )
    assert same(few, more) == []
