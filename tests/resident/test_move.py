"""A move to Spark in mid-stream changes no answer, whatever the queries and whenever it comes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemiola.placing import moved, to_move
from queries.model import Query
from scheduler.clocks import VirtualClock
from scheduler.engine import Engine
from scheduler.plan_cost import modelled_cost
from scheduler.policies import make_policy
from sharing.plan import plan_stream
from synopses.preaggregate import preaggregate
from tests.resident.resident_driving import InThisProcess, written
from tests.sharing.driven import FIRST, Answers, plain, records, same
from tests.sharing.random_queries import query_sets
from tests.sharing.small_events import SECONDS, STREAM, query


def run(queries: tuple[Query, ...], policy: str, move_at: int | None, folder) -> tuple[Answers, InThisProcess]:
    """All answers of a run in which everything that may move does so after so many updates."""
    plan = plan_stream(STREAM, queries)
    clock = VirtualClock(FIRST * STREAM.interval)
    made = make_policy(policy, "late_pending")
    engine = Engine(plan, made, modelled_cost(plan), clock, start=FIRST, seen_from=FIRST)
    engine.resident = resident = InThisProcess({})
    table, columns = records(dict.fromkeys(value for need in plan.needs for value in need.values))
    for need in plan.needs:
        engine.ingest(need, preaggregate(table, columns, need))
    answers: Answers = {}
    for update in range(SECONDS):
        if update == move_at:
            after = moved(plan, to_move(engine, 0))
            resident._files = written(after, folder, seed=update)
            engine.replan(after, {}, {})
        engine.update()
        while (found := engine.run_next()) is not None:
            for answer in found:
                answers[answer.query, answer.window_end] = plain(answer.table.to_pylist())
    return answers, resident


@pytest.mark.slow
@settings(max_examples=20)
@given(queries=query_sets(), move_at=st.integers(1, SECONDS - 1), policy=st.sampled_from(["none", "conservative"]))
def test_no_answer_changes(queries, move_at, policy, tmp_path_factory):
    stayed, _ = run(queries, policy, None, None)
    went, resident = run(queries, policy, move_at, tmp_path_factory.mktemp("moved"))
    assert same(went, stayed) == []
    assert resident.jobs or not any(one.slide // STREAM.interval <= SECONDS - move_at for one in queries)


def test_everything_due_at_an_update_is_one_job(tmp_path):
    texts = [
        "SELECT src, SUM(length) AS n FROM @8/2 GROUP BY src",
        "SELECT protocol, COUNT(DISTINCT src) AS d FROM @6/2 GROUP BY protocol",
        "SELECT MAX(port) AS m FROM @4/2",
        "SELECT src, flag, COUNT(*) AS n FROM @7/2 GROUP BY src, flag ORDER BY n DESC LIMIT 2",
    ]
    queries = tuple(query(f"q{number}", text, placement="spark") for number, text in enumerate(texts))
    plan = plan_stream(STREAM, queries)
    clock = VirtualClock(FIRST * STREAM.interval)
    made = make_policy("hybrid", "late_pending")
    engine = Engine(plan, made, modelled_cost(plan), clock, start=FIRST, seen_from=FIRST)
    engine.resident = resident = InThisProcess(written(plan, tmp_path))
    for _ in range(10):
        engine.update()
        while engine.run_next() is not None:
            pass
    assert resident.jobs == 5
