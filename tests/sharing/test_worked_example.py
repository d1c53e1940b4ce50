"""The worked predicate example of semantics.md 4, line by line; the same by replay on Spark in tests/spark."""

from __future__ import annotations

import pytest

from sharing.plan import plan_stream, plan_unshared
from tests.sharing.driven import drive, judged
from tests.sharing.small_events import STREAM, query

Q1 = query("q1", "SELECT SUM(length) AS a FROM @6/2 WHERE protocol = 'TCP'")
Q2 = query("q2", "SELECT SUM(length) AS a FROM @4/2 WHERE protocol = 'UDP'")
Q3 = query("q3", "SELECT SUM(length) AS a FROM @8/2 WHERE protocol = 'TCP' OR protocol = 'UDP'")
Q4 = query("q4", "SELECT MAX(length) AS a FROM @6/2 WHERE protocol = 'TCP'")
Q5 = query("q5", "SELECT MAX(length) AS a FROM @6/3 WHERE usr = 'U'")
Q6 = query("q6", "SELECT MAX(length) AS a FROM @9/3 WHERE protocol = 'TCP' OR usr = 'U'")
SUM_OF_BOTH = query("q7", "SELECT SUM(length) AS a FROM @6/2 WHERE protocol = 'TCP' OR usr = 'U'")
SUM_OF_USER = query("q8", "SELECT SUM(length) AS a FROM @6/2 WHERE usr = 'U'")
DOUBLES = [
    query("d3", "SELECT SUM(score) AS a FROM @8/2 WHERE protocol = 'TCP' OR protocol = 'UDP'"),
    query("d2", "SELECT SUM(score) AS a FROM @8/2 WHERE protocol = 'UDP'"),
    query("d1", "SELECT SUM(score) AS a FROM @8/2 WHERE protocol = 'TCP'"),
]


def rules(*registered) -> dict[str, str]:
    return {plan.query.name: plan.base.rule for plan in plan_stream(STREAM, registered).queries}


def test_q1_and_q2_are_a_disjoint_cover_of_q3():
    plan = plan_stream(STREAM, [Q1, Q2, Q3])
    assert [query.base.rule for query in plan.queries] == ["own synopsis", "own synopsis", "SS4 disjoint cover"]
    assert [term.sign for term in plan.query("q3").base.terms] == [1, 1]
    assert [kept.b for kept in plan.kept] == [8, 8], "both must be as long as the window of q3"


def test_q3_minus_q2_answers_q1():
    plan = plan_stream(STREAM, [Q3, Q2, Q1])
    base = plan.query("q1").base
    assert base.rule == "SS4 supercover minus cover"
    assert [(term.sign, term.source.where.sql) for term in base.terms] == [
        (1, Q3.select.leaf.where.sql),
        (-1, Q2.select.leaf.where.sql),
    ]


def test_q4_and_q5_cover_q6_with_overlap_which_is_enough_for_max():
    assert rules(Q4, Q5, Q6)["q6"] == "SS4 cover"


def test_a_sum_may_not_be_built_from_overlapping_sums():
    assert rules(Q1, SUM_OF_USER, SUM_OF_BOTH)["q7"] == "own synopsis"


def test_a_difference_of_doubles_is_refused_and_a_sum_of_them_is_not():
    assert rules(*DOUBLES)["d1"] == "own synopsis"
    assert rules(*reversed(DOUBLES))["d3"] == "SS4 disjoint cover"


@pytest.mark.parametrize(
    "registered",
    [(Q1, Q2, Q3, Q4, Q5, Q6), (Q3, Q2, Q1, Q6, Q5, Q4), (Q1, SUM_OF_USER, SUM_OF_BOTH), DOUBLES, DOUBLES[::-1]],
    ids=["in order", "reversed", "overlapping sums", "doubles", "doubles reversed"],
)
def test_the_answers_are_duckdbs(registered):
    plan = plan_stream(STREAM, registered)
    answers = drive(plan)
    assert len(answers) > 30
    assert judged(registered, answers) == []
    assert len(plan.kept) <= sum(len(alone.kept) for alone in plan_unshared(STREAM, registered))
