"""Under every policy, with overload, a stall and lifetimes: answers are DuckDB's, labels are true."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path

import duckdb
import pytest

from scheduler.engine import Answer
from scheduler.policies import make_policy
from tests.oracle.judge import differences
from tests.scheduler.overloaded import FIRST, LAST, SECOND, Published, overloaded, raw_rows, workload

pytestmark = pytest.mark.slow

POLICIES = list(itertools.product(("none", "aggressive", "conservative", "hybrid"), ("off", "late", "late_pending")))
DISTINCT = {make_policy(*names).name: names for names in reversed(POLICIES)}
LOAD = 0.02
STALLS = {FIRST + 20: 9.0}
QUERIES, CASES = workload(seed=5)
BY_NAME = {query.name: query for query in QUERIES}


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    return raw_rows()


@pytest.fixture(scope="module", params=DISTINCT, ids=str)
def published(request, rows, tmp_path_factory) -> Published:
    """One run per policy; sharing makes no difference to ``none`` and ``aggressive``."""
    folder: Path = tmp_path_factory.mktemp("overload")
    return overloaded(QUERIES, rows, folder, DISTINCT[request.param], LOAD, STALLS)


def by_query(published: Published) -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = defaultdict(list)
    for answer in published.answers:
        found[answer.query].append(answer)
    return found


def test_every_policy_and_sharing_mode_is_judged() -> None:
    assert {make_policy(*names).name for names in POLICIES} == set(DISTINCT)


@pytest.mark.slow
def test_answers_equal_duckdbs(published, rows) -> None:
    assert differences(published.database, rows, CASES) == []


def test_it_was_overloaded_and_nobody_was_dropped(published) -> None:
    late = {answer.query for answer in published.answers if answer.late_by > 0 and not answer.restored}
    assert len(late) > 6
    for name, answers in by_query(published).items():
        ends = [answer.window_end for answer in answers]
        assert len(set(ends)) == len(ends), name
        assert len(ends) >= 3, name


def test_late_by_is_the_time_over_the_slide(published) -> None:
    for name, answers in by_query(published).items():
        slide = BY_NAME[name].slide
        bound = (FIRST * SECOND // slide + 1) * slide
        for answer in answers:
            if not answer.restored:
                assert answer.late_by * SECOND == max(0, answer.window_end - bound), name
                bound = answer.window_end + slide


def test_restored_answers_fill_the_grid_and_say_how_late_they_come(published) -> None:
    restored = [answer for answer in published.answers if answer.restored]
    assert restored
    assert {BY_NAME[answer.query].semantics for answer in restored} == {"restore"}
    for answer in restored:
        assert answer.window_end % BY_NAME[answer.query].slide == 0
        assert 0 < answer.late_by * SECOND <= answer.refreshed_at - answer.window_end
    for name, answers in by_query(published).items():
        query = BY_NAME[name]
        if query.semantics == "restore":
            ends = {answer.window_end for answer in answers}
            first = (FIRST * SECOND // query.slide + 1) * query.slide
            assert set(range(first, max(ends) + 1, query.slide)) <= ends, name


def test_a_bound_set_is_always_published_as_of_the_same_update(published) -> None:
    bound = [query.name for query in QUERIES if query.consistent]
    found = by_query(published)
    ends = [[(answer.window_end, answer.refreshed_at) for answer in found[name]] for name in bound]
    assert len(bound) == 3 and ends[0]
    assert ends[0] == ends[1] == ends[2]


def test_nothing_is_published_as_of_a_time_after_a_querys_life(published) -> None:
    found = by_query(published)
    for query in QUERIES:
        newest = max(answer.window_end for answer in found[query.name])
        if query.until is not None:
            assert newest <= query.until
        else:
            assert newest > (LAST - 30) * SECOND


def test_published_when_it_was_done_in_the_order_of_the_updates(published) -> None:
    moments = [answer.refreshed_at for answer in published.answers]
    assert moments == sorted(moments)
    assert all(answer.refreshed_at >= answer.window_end for answer in published.answers)
    assert all(answer.refreshed_at >= answer.started_at for answer in published.answers)


def test_late_and_saved_are_shown(published) -> None:
    """After the last update everything was cleared: nobody is late; one joint run is cheaper than many."""
    assert published.engine.late() == {}
    saved = published.engine.saved()
    assert saved.scheduled > 0
    assert saved.by_slide < saved.by_query
    if published.engine.policy.name.startswith(("conservative", "hybrid")):
        assert saved.scheduled < saved.by_slide
