"""Queries come, change and go; no answer is lost and none is read under another meaning."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hemiola.costs import _NEWEST_OF_EACH
from queries.errors import InputError, RunError
from queries.model import Query
from queries.types import Type
from results import ResultsStore, open_store, read
from results.sqlite_store import SqliteStore
from tests.results.sample_answers import MINUTE, START, query, refresh, store_url, table, update

END = START + 10 * MINUTE


@pytest.fixture
def url(tmp_path: Path) -> str:
    return store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[ResultsStore]:
    with open_store(url) as opened:
        yield opened


def answered(store: ResultsStore, registered: Query, bytes_: int) -> None:
    store.register([registered], START)
    answer = table(src=["a"], bytes=[bytes_])
    store.commit(update(END, refresh(registered.name, END, answer)))


def test_what_is_registered_is_told(store: ResultsStore, url: str) -> None:
    store.register([query(priority=3, until=END, semantics="restore"), query("b")], START)
    columns = "name, sql, stream, window_us, slide_us, semantics, priority, until, registered_at, active, answer_table"
    since = "2026-11-18T06:26:40.000000Z"
    assert read(url, f"SELECT {columns} FROM hemiola_queries ORDER BY name").rows == [
        ("b", "SELECT … AS b", "packets", 600_000_000, 60_000_000, "no_restore", 0, None, since, 1, "b"),
        (
            "bytes_by_src", "SELECT … AS bytes_by_src", "packets", 600_000_000, 60_000_000, "restore", 3,
            "2026-11-18T06:36:40.000000Z", since, 1, "bytes_by_src",
        ),
    ]  # fmt: skip


def test_a_change_of_when_and_how_keeps_the_table(store: ResultsStore, url: str) -> None:
    answered(store, query(), 1)
    other = replace(
        query(slide=5 * MINUTE, priority=9, semantics="restore", until=END), placement="spark", sql="select"
    )
    store.register([other], END)
    assert store.done("bytes_by_src").tolist() == [END]
    assert read(url, "SELECT bytes FROM bytes_by_src").rows == [(1,)]
    assert read(url, "SELECT sql, slide_us, priority, registered_at FROM hemiola_queries").rows == [
        ("select", 300_000_000, 9, "2026-11-18T06:26:40.000000Z")
    ]


def test_another_meaning_keeps_the_old_rows_under_a_number(store: ResultsStore, url: str) -> None:
    """First the window changes (same columns), then the columns, then the first meaning returns as a new table."""
    answered(store, query(), 1)
    answered(store, query(window=20 * MINUTE), 2)
    store.register([query(keys={"src": Type.STRING, "port": Type.INT})], END)
    assert store.done("bytes_by_src").tolist() == []
    assert read(url, "SELECT * FROM bytes_by_src").rows == []
    for number in (1, 2):
        assert read(url, f"SELECT bytes FROM bytes_by_src__{number}").rows == [(number,)]
        assert store.done(f"bytes_by_src__{number}").tolist() == [END]
    answered(store, query(), 4)
    names = "SELECT name, active, name = answer_table FROM hemiola_queries ORDER BY name"
    assert read(url, names).rows == [
        ("bytes_by_src", 1, 1), ("bytes_by_src__1", 0, 1), ("bytes_by_src__2", 0, 1), ("bytes_by_src__3", 0, 1)
    ]  # fmt: skip


def test_an_archived_table_stays_unique(store: ResultsStore, tmp_path: Path) -> None:
    answered(store, query(), 1)
    answered(store, query(window=20 * MINUTE), 2)
    with sqlite3.connect(tmp_path / "deep" / "results.db") as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO bytes_by_src__1 SELECT * FROM bytes_by_src__1")
    connection.close()


def test_a_number_taken_by_another_query_is_left_alone(store: ResultsStore, url: str) -> None:
    answered(store, query(), 1)
    store.register([query(window=20 * MINUTE), query("bytes_by_src__1")], START)
    assert read(url, "SELECT bytes FROM bytes_by_src__2").rows == [(1,)]
    assert read(url, "SELECT bytes FROM bytes_by_src__1").rows == []


def test_a_deregistered_query_keeps_its_table_and_can_come_back(store: ResultsStore, url: str) -> None:
    answered(store, query(), 1)
    store.register([query("other")], START)
    active = "SELECT name, active FROM hemiola_queries ORDER BY name"
    assert read(url, active).rows == [("bytes_by_src", 0), ("other", 1)]
    assert read(url, "SELECT bytes FROM bytes_by_src").rows == [(1,)]
    with pytest.raises(RunError, match="not registered"):
        store.commit(update(END, refresh("bytes_by_src", END, table(src=["a"], bytes=[1]))))
    store.register([query()], START)
    assert store.done("bytes_by_src").tolist() == [END]
    assert read(url, active).rows == [("bytes_by_src", 1), ("other", 0)]


def test_the_same_registration_after_a_restart_changes_nothing(url: str) -> None:
    with open_store(url) as store:
        answered(store, query(), 1)
        before = read(url, "SELECT * FROM hemiola_queries").rows
    with open_store(url) as store:
        store.register([query()], END)
        assert read(url, "SELECT * FROM hemiola_queries").rows == before
        assert store.done("bytes_by_src").tolist() == [END]


def test_a_table_that_was_dropped_is_made_again_with_an_empty_ledger(store: ResultsStore, tmp_path: Path) -> None:
    answered(store, query(), 1)
    with sqlite3.connect(tmp_path / "deep" / "results.db") as connection:
        connection.execute("DROP TABLE bytes_by_src")
    connection.close()
    store.register([query()], START)
    assert store.done("bytes_by_src").tolist() == []


def test_a_table_of_someone_else_is_never_taken_over(store: ResultsStore, url: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "deep" / "results.db") as connection:
        connection.execute("CREATE TABLE bytes_by_src (mine)")
    connection.close()
    with pytest.raises(RunError, match="did not make"):
        store.register([query("fine"), query()], START)
    assert read(url, "SELECT * FROM hemiola_queries").rows == []


def test_names_that_cannot_live_in_one_database_are_all_told_at_once(store: ResultsStore, url: str) -> None:
    wrong = [
        query("hemiola_refreshes"),
        query("a"),
        query("A"),
        query("b", keys={"Complete": Type.STRING}),
        query("c", keys={"rank": Type.INT}, ordered=True),
    ]
    with pytest.raises(InputError) as caught:
        store.register(wrong, START)
    assert [problem.query for problem in caught.value.problems] == ["hemiola_refreshes", "A", "b", "c"]
    assert read(url, "SELECT * FROM hemiola_queries").rows == []
    store.register([query("c", keys={"rank": Type.INT})], START)


def test_names_are_quoted(store: ResultsStore, url: str) -> None:
    odd = query('select "x"; --', keys={'group "by"': Type.STRING})
    store.register([odd], START)
    store.commit(update(END, refresh(odd.name, END, table(**{'group "by"': ["a"], "bytes": [1]}))))
    store.register([replace(odd, select=query(odd.name).select)], START)
    assert read(url, 'SELECT "group ""by""" FROM "select ""x""; --__1"').rows == [("a",)]


def test_the_refreshes_of_months_are_not_read_through(store: ResultsStore) -> None:
    """A daemon registers, and asks what refreshes cost, while it runs: neither may take longer from day to day."""
    assert isinstance(store, SqliteStore)
    answered(store, query(), 1)
    asked = [_NEWEST_OF_EACH]
    store._connection.set_trace_callback(asked.append)
    store.register([query("b")], END)
    store._connection.set_trace_callback(None)
    about = [sql for sql in asked if "hemiola_refreshes" in sql]
    assert len(about) == 3
    for sql in about:
        plan = [str(row[-1]) for row in store._connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert not [step for step in plan if step.startswith("SCAN hemiola_refreshes")], plan
