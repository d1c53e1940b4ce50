"""Whatever the planner shares, the answers are those of each query on its own, and DuckDB's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharing.plan import plan_stream, plan_unshared
from tests.sharing.driven import drive, judged, same
from tests.sharing.random_queries import PORT, STATISTICS, query_sets
from tests.sharing.small_events import STREAM, query


@pytest.mark.slow
@settings(max_examples=30)
@given(registered=query_sets(), statistics=STATISTICS)
def test_shared_unshared_and_duckdb_agree(registered, statistics):
    shared = plan_stream(STREAM, registered, statistics=statistics)
    unshared = plan_unshared(STREAM, registered)
    assert len(shared.kept) <= sum(len(alone.kept) for alone in unshared)
    assert {query.query.name for query in shared.queries} == {query.name for query in registered}
    answers = drive(shared)
    alone = {key: answer for plan in unshared for key, answer in drive(plan).items()}
    assert same(answers, alone) == []
    assert judged(registered, answers) == []


@pytest.mark.slow
@settings(max_examples=10)
@given(
    predicates=st.lists(PORT, min_size=4, max_size=12, unique=True),
    aggregate=st.sampled_from(["SUM(length)", "AVG(score)", "MAX(length)", "STDDEV(port)", "COUNT(DISTINCT src)"]),
    key=st.sampled_from(["", "src"]),
)
def test_many_predicates_on_one_attribute_agree(predicates, aggregate, key):
    """Where cells are likely: one grouping, one aggregate, many conditions on one attribute."""
    selected, by = (f"{key}, ", f"GROUP BY {key}") if key else ("", "")
    registered = tuple(
        query(f"q{number}", f"SELECT {selected}{aggregate} AS a FROM @7/2 WHERE {predicate} {by}")
        for number, predicate in enumerate(predicates)
    )
    shared = plan_stream(STREAM, registered)
    assert len(shared.kept) <= sum(len(alone.kept) for alone in plan_unshared(STREAM, registered))
    assert judged(registered, drive(shared)) == []


@pytest.mark.slow
def test_all_readings_occur_among_the_random_sets():
    """The property tests are only worth something if their queries do share in every way."""
    seen: set[str] = set()

    @settings(max_examples=100)
    @given(registered=query_sets(), statistics=STATISTICS)
    def look(registered, statistics):
        for plan in plan_stream(STREAM, registered, statistics=statistics).queries:
            seen.update(part.reading.rule for part in plan.parts)

    look()
    assert seen >= {"own synopsis", "SS1", "SS4 disjoint cover", "roll-up"}
    assert "SS4 supercover minus cover" in seen
