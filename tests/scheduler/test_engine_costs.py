"""The engine measures what it runs, plans anew when that changes the choice, and answers one-time queries."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pytest

from queries.language import parse_query
from queries.model import Query
from scheduler import engine as engines
from scheduler.asking import ONE_TIME, Unanswerable
from scheduler.clocks import VirtualClock
from scheduler.cost import CalibratedCost, CostModel
from scheduler.engine import Engine
from scheduler.plan_cost import modelled_cost
from scheduler.policies import make_policy
from scheduler.tasks import SubGroup
from sharing.plan import plan_stream
from tests.scheduler.arrow_stream import partials
from tests.scheduler.overloaded import FIRST, SECOND, STREAM, raw_rows


def query(name: str, sql: str) -> Query:
    return Query(name, sql, parse_query(name, sql, {"events": STREAM.types}))


def extremes(name: str, window: int, slide: int) -> Query:
    return query(name, f"SELECT src, MAX(port) AS p FROM events [WINDOW {window} s SLIDE {slide} s] GROUP BY src")


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    return raw_rows()


def engine_of(queries: list[Query], rows: duckdb.DuckDBPyConnection, cost: CalibratedCost | None = None) -> Engine:
    plan = plan_stream(STREAM, queries)
    clock = VirtualClock(FIRST * SECOND)
    policy = make_policy("hybrid", "off")
    cost = cost if cost is not None else CalibratedCost(modelled_cost(plan))
    engine = Engine(plan, policy, cost, clock, start=FIRST, seen_from=FIRST)
    for need, table in partials(rows, STREAM, plan.needs):
        engine.ingest(need, table)
    return engine


def run(engine: Engine, updates: int) -> list[engines.Answer]:
    answers: list[engines.Answer] = []
    for _ in range(updates):
        engine.update()
        while (more := engine.run_next()) is not None:
            answers += more
    return answers


def test_executions_are_measured_in_microseconds(rows, monkeypatch) -> None:
    ticks = iter(range(10_000))
    monkeypatch.setattr(engines, "perf_counter", lambda: next(ticks) * 0.001)
    engine = engine_of([extremes("a", 10, 2), extremes("b", 20, 2)], rows)
    run(engine, 6)
    assert isinstance(engine.cost, CalibratedCost)
    (task,) = engine.agenda.tasks
    assert engine.cost.cost(task.subgroups) == pytest.approx(3000)


def test_measured_costs_change_the_tasks_once_and_no_query_waits_longer(rows, monkeypatch) -> None:
    """By the model a scan for slide 5 is too dear to be made every 2; it turns out to cost a tenth of that."""
    monkeypatch.setattr(engines, "REVISE_EVERY", 8)
    truth = {"two": 1.0, "five": 0.1}
    changes = []

    class Scripted(CalibratedCost):
        def observe(self, subgroups: Sequence[SubGroup], duration: float) -> None:
            super().observe(subgroups, max(self.model.cost([part]) * truth[part.queries[0]] for part in subgroups))

    engine = engine_of([extremes("two", 10, 2), extremes("five", 30, 5)], rows, Scripted(CostModel()))
    answers = []
    for _ in range(160):
        answers += run(engine, 1)
        names = {task.name.split("/")[-1] for task in engine.agenda.tasks}
        if not changes or changes[-1] != names:
            changes.append(names)
    assert changes == [{"2", "5"}, {"2+5"}]
    assert [answer.late_by for answer in answers] == [0.0] * len(answers)
    ends = [(answer.query, answer.window_end) for answer in answers]
    assert len(set(ends)) == len(ends)


def test_wavering_costs_do_not_change_the_tasks(rows, monkeypatch) -> None:
    monkeypatch.setattr(engines, "REVISE_EVERY", 1)
    engine = engine_of([extremes("two", 10, 2), extremes("three", 15, 3)], rows, CalibratedCost(CostModel()))
    tasks = engine.agenda.tasks
    assert isinstance(engine.cost, CalibratedCost)
    for round_ in range(10):
        for task in tasks:
            engine.cost.observe(task.subgroups, 10.0 + round_ % 2)
        run(engine, 1)
    assert {task.name for task in engine.agenda.tasks} == {task.name for task in tasks}


def test_what_is_dearer_everywhere_is_no_drift() -> None:
    engine_cost = CalibratedCost(CostModel(), weight=1.0)
    plan = plan_stream(STREAM, [extremes("a", 10, 2), extremes("b", 10, 3)])
    parts = engines.subgroups(engines.members_of(plan))
    for factor in (1.0, 50.0):
        for _ in range(2):
            for part in parts:
                engine_cost.observe([part], factor * CostModel().cost([part]))
        if factor == 1.0:
            engine_cost.settle()
    assert engine_cost.drift() == pytest.approx(0)


def test_a_one_time_query_is_answered_as_of_the_newest_update(rows) -> None:
    engine = engine_of([extremes("a", 30, 5)], rows)
    run(engine, 33)
    agenda = {task.name: engine.agenda.remaining(task.name, engine.now) for task in engine.agenda.tasks}
    sql = "SELECT src, MAX(port) AS p FROM events [WINDOW 12 s] GROUP BY src ORDER BY p DESC LIMIT 4"
    answer = engine.ask(query("ask", sql))
    end = FIRST + 33
    wanted = rows.sql(
        f"SELECT src, MAX(port) AS p FROM events WHERE epoch_us(ts) >= {(end - 12) * SECOND} "
        f"AND epoch_us(ts) < {end * SECOND} GROUP BY src ORDER BY p DESC, src NULLS FIRST LIMIT 4"
    ).fetchall()
    assert [tuple(row.values()) for row in answer.table.to_pylist()] == wanted
    assert (answer.window_end, answer.task, answer.late_by, answer.complete) == (end * SECOND, ONE_TIME, 0.0, True)
    assert {task.name: engine.agenda.remaining(task.name, engine.now) for task in engine.agenda.tasks} == agenda


def test_a_coarser_grouping_is_rolled_up(rows) -> None:
    sql = "SELECT src, dst, COUNT(*) AS n FROM events [WINDOW 20 s SLIDE 5 s] GROUP BY src, dst"
    engine = engine_of([query("pairs", sql)], rows)
    run(engine, 25)
    answer = engine.ask(query("ask", "SELECT COUNT(*) AS n FROM events [WINDOW 20 s]"))
    (wanted,) = rows.sql(
        f"SELECT COUNT(*) FROM events WHERE epoch_us(ts) >= {(FIRST + 5) * SECOND} "
        f"AND epoch_us(ts) < {(FIRST + 25) * SECOND}"
    ).fetchall()
    assert answer.table["n"].to_pylist() == list(wanted)


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        (
            "SELECT src, MAX(port) AS p FROM events [WINDOW 40 s] GROUP BY src",
            "over 40 s: events by src reaches back 30 s only",
            "a window of at least 40 s",
        ),
        ("SELECT src, SUM(port) AS p FROM events [WINDOW 10 s] GROUP BY src", "does not keep SUM(port)", "SUM(port)"),
        ("SELECT dst, MAX(port) AS p FROM events [WINDOW 10 s] GROUP BY dst", "by dst over 10 s", "a query by dst"),
        ("SELECT MAX(port) AS p FROM events [WINDOW 1500 ms]", "whole intervals of 1 s", "a multiple of it"),
    ],
)
def test_what_no_synopsis_holds_is_refused_with_what_would(rows, sql: str, message: str, hint: str) -> None:
    engine = engine_of([extremes("a", 30, 5)], rows)
    with pytest.raises(Unanswerable) as refused:
        engine.ask(query("ask", sql))
    assert message in refused.value.message
    assert hint in str(refused.value.hint)
