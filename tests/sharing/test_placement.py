"""Where synopses live: what may, what shares with what, what moves when the driver is full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hemiola.placing import moved, to_move
from queries.errors import InputError
from scheduler.clocks import VirtualClock
from scheduler.engine import Engine
from scheduler.plan_cost import modelled_cost
from scheduler.policies import make_policy
from sharing.plan import add, plan_stream, remove
from synopses.preaggregate import preaggregate
from tests.sharing.driven import FIRST, records
from tests.sharing.small_events import STREAM, query

SUM = "SELECT src, SUM(length) AS n FROM @8/2 GROUP BY src"


def test_queries_in_spark_are_one_group_and_share_nothing_with_the_driver():
    texts = {"here": SUM, "there": SUM, "too": "SELECT src, AVG(length) AS m FROM @4/2 GROUP BY src"}
    queries = [query(name, sql, placement="driver" if name == "here" else "spark") for name, sql in texts.items()]
    plan = plan_stream(STREAM, queries)
    assert [need.resident for need in plan.needs] == [False, True]
    assert {one.group for one in plan.queries if one.resident} == {"events in Spark"}
    assert plan.query("there").sources == plan.query("too").sources != plan.query("here").sources
    again = add(remove(plan, "too"), queries[2])
    assert set(again.kept) == set(plan.kept) and {one.query for one in again.queries} == set(queries)


@pytest.mark.parametrize(
    ("sql", "settings", "reason"),
    [
        ("SELECT TOP_K_LISTS(src, 5) AS s FROM @8/2", {}, "never too much for the driver"),
        (SUM, {"synopsis": "running"}, "no prefixes"),
    ],
)
def test_what_cannot_live_in_spark_is_refused_with_the_reason(sql, settings, reason):
    with pytest.raises(InputError, match=reason):
        plan_stream(STREAM, [query("q", sql, placement="spark", **settings)])


def filled(queries):
    plan = plan_stream(STREAM, queries)
    clock = VirtualClock(FIRST * STREAM.interval)
    engine = Engine(plan, make_policy("none", "off"), modelled_cost(plan), clock, start=FIRST, seen_from=FIRST)
    table, columns = records(dict.fromkeys(value for need in plan.needs for value in need.values))
    for need in plan.needs:
        engine.ingest(need, preaggregate(table, columns, need))
    for _ in range(12):
        engine.update()
    return engine


def test_the_readers_of_the_largest_synopsis_move_first_and_only_as_many_as_must():
    engine = filled(
        [
            query("small", "SELECT COUNT(*) AS n FROM @8/2"),
            query("large", "SELECT src, protocol, port, COUNT(*) AS n FROM @8/2 GROUP BY src, protocol, port"),
            query("also", "SELECT src, protocol, port, MAX(length) AS n FROM @4/2 GROUP BY src, protocol, port"),
            query("fixed", "SELECT usr, flag, COUNT(*) AS n FROM @8/2 GROUP BY usr, flag", placement="driver"),
        ]
    )
    assert to_move(engine, engine.synopses.nbytes) == ()
    assert set(to_move(engine, engine.synopses.nbytes - 1)) == {"large", "also"}
    assert set(to_move(engine, 0)) == {"large", "also", "small"}, "fixed stays where it was told to"
    plan = moved(engine.plan, to_move(engine, engine.synopses.nbytes - 1))
    assert {one.query.name for one in plan.queries if one.resident} == {"large", "also"}
    assert {one.query for one in plan.queries if one.resident} == {
        replace(engine.plan.query(name).query, placement="spark") for name in ("large", "also")
    }
