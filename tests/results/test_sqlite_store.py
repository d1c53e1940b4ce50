"""What one process may rely on when it writes answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from queries.errors import InputError, RunError
from queries.types import Type
from results import ResultsStore, ResultsUnavailable, StreamProgress, open_store, read
from results.sqlite_schema import check_sqlite_version
from results.sqlite_store import SqliteStore
from tests.results.sample_answers import MINUTE, SECOND, START, query, refresh, store_url, table, update

END = START + 10 * MINUTE


@pytest.fixture
def url(tmp_path: Path) -> str:
    return store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[ResultsStore]:
    with open_store(url) as opened:
        yield opened


def columns_of(url: str, name: str) -> Sequence[tuple[object, ...]]:
    return read(url, f"SELECT name, type FROM pragma_table_info('{name}')").rows


def test_a_table_has_the_promised_columns_keys_before_answers(store: ResultsStore, url: str) -> None:
    store.register([query(answers_first=True), query("top", ordered=True)], START)
    frame = [("window_start", "TEXT"), ("window_end", "TEXT"), ("complete", "INTEGER")]
    tail = [("refreshed_at", "TEXT"), ("late_by", "REAL"), ("restored", "INTEGER")]
    assert columns_of(url, "bytes_by_src") == [*frame, ("src", "TEXT"), ("bytes", "ANY"), *tail]
    assert columns_of(url, "top") == [*frame, ("rank", "INTEGER"), ("src", "TEXT"), ("bytes", "ANY"), *tail]
    strict = read(url, "SELECT count(*) FROM pragma_table_list WHERE strict AND name NOT LIKE 'sqlite_%'").rows
    assert strict == [(7,)]


def test_a_committed_answer_reads_back_whole(store: ResultsStore, url: str) -> None:
    store.register([query("top", ordered=True)], START)
    answer = table(src=["b", "a"], bytes=[20, 10])
    late = refresh("top", END, answer, complete=False, late_by=2.5, restored=True, shared_with=("x", "y"))
    store.commit(update(END, late, seen_from=START, newest=END + 7, records=12, rejected=1))
    frame = ("2026-11-18T06:26:40.000000Z", "2026-11-18T06:36:40.000000Z", 0)
    tail = ("2026-11-18T06:36:40.001234Z", 2.5, 1)
    assert read(url, "SELECT * FROM top").rows == [(*frame, 1, "b", 20, *tail), (*frame, 2, "a", 10, *tail)]
    assert read(url, "SELECT * FROM hemiola_refreshes").rows == [
        ("top", frame[1], "packets/1", "2026-11-18T06:36:40.000005Z", 1.5, 2, 2.5, 1, '["x", "y"]')
    ]
    assert store.progress("packets") == StreamProgress("packets", SECOND, END, START, END + 7, 12, 1)
    assert store.progress("others") is None


def test_every_type_is_stored_as_documented(store: ResultsStore, url: str) -> None:
    types = {
        "i": Type.INT, "f": Type.DOUBLE, "s": Type.STRING, "b": Type.BOOLEAN, "d": Type.DATE, "t": Type.TIMESTAMP,
        "x": Type.BINARY, "c": Type.DECIMAL,
    }  # fmt: skip
    store.register([query("all_types", keys={}, answers={name: ("MAX", type) for name, type in types.items()})], START)
    declared = [kind for _, kind in columns_of(url, "all_types")][3:-3]
    assert declared == ["INTEGER", "REAL", "TEXT", "INTEGER", "TEXT", "TEXT", "BLOB", "TEXT"]
    moment = datetime(2026, 11, 18, 6, 31, 42, 120, tzinfo=UTC)
    answer = pa.table(
        {
            "i": pa.array([-5], pa.int32()),
            "f": [1.5],
            "s": pa.array(["é"]).dictionary_encode(),
            "b": [True],
            "d": [date(1969, 12, 31)],
            "t": pa.array([moment], pa.timestamp("us", "UTC")),
            "x": [b"\x00\xff"],
            "c": pa.array([Decimal("12345678901234567890.25")], pa.decimal128(38, 2)),
        }
    )
    nothing = pa.table({name: pa.array([None], field.type) for name, field in zip(types, answer.schema, strict=True)})
    later = END + MINUTE
    store.commit(update(later, refresh("all_types", END, answer), refresh("all_types", later, nothing)))
    rows = read(url, f"SELECT {', '.join(types)} FROM all_types ORDER BY window_end").rows
    time = "2026-11-18T06:31:42.000120Z"
    assert rows == [(-5, 1.5, "é", 1, "1969-12-31", time, b"\x00\xff", "12345678901234567890.25"), (None,) * 8]


def test_a_value_of_another_type_is_refused_and_nothing_is_written(store: ResultsStore, url: str) -> None:
    store.register([query(answers={"n": ("COUNT", Type.BIGINT)})], START)
    wide = pa.array([Decimal(2**70)], pa.decimal128(38, 0))
    with pytest.raises(RunError, match=r"query bytes_by_src: .* cannot store \w+ value in INTEGER column"):
        store.commit(update(END, refresh("bytes_by_src", END, pa.table({"src": ["a"], "n": wide}))))
    assert read(url, "SELECT * FROM bytes_by_src").rows == []
    assert store.progress("packets") is None
    assert store.done("bytes_by_src").tolist() == []


@pytest.mark.parametrize("kind", [pa.decimal128(38, 0), pa.decimal256(76, 0)])
def test_wide_integers_keep_every_digit(store: ResultsStore, url: str, kind: pa.DataType) -> None:
    numbers = [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**37, None, 0]
    store.register([query(keys={"k": Type.INT})], START)
    sums = pa.array([None if n is None else Decimal(n) for n in numbers], kind)
    store.commit(update(END, refresh("bytes_by_src", END, pa.table({"k": list(range(7)), "bytes": sums}))))
    found = [row[0] for row in read(url, "SELECT bytes FROM bytes_by_src ORDER BY k").rows]
    assert found == [2**63 - 1, str(2**63), -(2**63), str(-(2**63) - 1), str(10**37), None, 0]


def test_the_keys_of_a_window_are_unique_null_included(store: ResultsStore, url: str) -> None:
    keys = {"src": Type.STRING, "x": Type.DOUBLE}
    store.register([query(keys=keys)], START)
    apart = table(src=["", None, "a", "a", "a"], x=[None, None, None, float("nan"), 0.0], bytes=[1, 2, 3, 4, 5])
    store.commit(update(END, refresh("bytes_by_src", END, apart)))
    assert read(url, "SELECT src, x FROM bytes_by_src ORDER BY bytes").rows == [
        ("", None), (None, None), ("a", None), ("a", "NaN"), ("a", 0.0)
    ]  # fmt: skip
    for src, x in [(None, None), ("a", None), ("a", float("nan"))]:
        twice = table(src=pa.array([src, src], pa.string()), x=pa.array([x, x], pa.float64()), bytes=[1, 2])
        with pytest.raises(RunError, match="UNIQUE"):
            store.commit(update(END, refresh("bytes_by_src", END + MINUTE, twice)))


def test_rows_may_repeat_when_a_group_key_is_not_selected(store: ResultsStore, url: str) -> None:
    keys = {"src": Type.STRING, "port": Type.INT}
    store.register([query(keys=keys, hidden_keys=("port",))], START)
    store.commit(update(END, refresh("bytes_by_src", END, table(src=["a", "a"], bytes=[1, 1]))))
    assert read(url, "SELECT src, bytes FROM bytes_by_src").rows == [("a", 1), ("a", 1)]


def test_committing_again_replaces_and_the_mark_never_moves_back(store: ResultsStore, url: str) -> None:
    store.register([query()], START)
    first = refresh("bytes_by_src", END, table(src=["a", "b"], bytes=[1, 2]))
    second = refresh("bytes_by_src", END + MINUTE, table(src=["a"], bytes=[3]))
    store.commit(update(END, first, records=5))
    store.commit(update(END + MINUTE, second, records=9))
    everything = [f"SELECT * FROM {name}" for name in ("bytes_by_src", "hemiola_refreshes", "hemiola_streams")]
    before = [sorted(read(url, sql).rows) for sql in everything]
    store.commit(update(END, first, records=5))
    assert [sorted(read(url, sql).rows) for sql in everything] == before
    store.commit(update(END, refresh("bytes_by_src", END, table(src=["c"], bytes=[7]))))
    end = "2026-11-18T06:36:40.000000Z"
    assert read(url, f"SELECT src, bytes FROM bytes_by_src WHERE window_end = '{end}'").rows == [("c", 7)]


def test_the_ledger_knows_what_is_done_also_without_rows(store: ResultsStore) -> None:
    store.register([query(), query("other")], START)
    empty = pa.table({"src": pa.array([], pa.string()), "bytes": pa.array([], pa.int64())})
    store.commit(update(END + MINUTE, refresh("bytes_by_src", END + MINUTE, empty)))
    store.commit(update(END, refresh("bytes_by_src", END, empty)))
    done = store.done("bytes_by_src")
    assert done.dtype == np.int64
    assert done.tolist() == [END, END + MINUTE]
    assert store.done("other").tolist() == []


def test_an_answer_for_an_unknown_query_undoes_the_whole_update(store: ResultsStore, url: str) -> None:
    store.register([query()], START)
    good = refresh("bytes_by_src", END, table(src=["a"], bytes=[1]))
    with pytest.raises(RunError, match=r"query stranger: .*not registered"):
        store.commit(update(END, good, refresh("stranger", END, table(src=["a"], bytes=[1]))))
    assert read(url, "SELECT * FROM bytes_by_src").rows == []


def test_history_beyond_results_keep_goes_with_the_commit(url: str) -> None:
    names = ("bytes_by_src", "rare", "gone")
    answer = table(src=["a"], bytes=[1])
    with open_store(url, results_keep=2 * MINUTE) as store:
        store.register([query(name) for name in names], START)
        store.commit(update(END, *(refresh(name, END, answer) for name in names)))
        store.register([query(name) for name in names[:2]], START)
        for minute in (1, 2):
            store.commit(update(END + minute * MINUTE, refresh("bytes_by_src", END + minute * MINUTE, answer)))
        assert store.done("gone").tolist() == [END]
        store.commit(update(END + 3 * MINUTE, refresh("bytes_by_src", END + 3 * MINUTE, answer)))
        assert store.done("bytes_by_src").tolist() == [END + minute * MINUTE for minute in (1, 2, 3)]
        for name in ("rare", "gone"):
            assert store.done(name).tolist() == []
            assert read(url, f"SELECT * FROM {name}").rows == []
        assert read(url, "SELECT count(*) FROM bytes_by_src").rows == [(3,)]


def test_rejected_records_are_kept_once_per_batch(store: ResultsStore, url: str) -> None:
    for _ in range(2):
        store.put_rejects("packets", "7", table(reason=["no time", "late"], record=["{", '{"a": 1}']))
    store.put_rejects("packets", "8", table(reason=["late"], record=pa.array([None], pa.string())))
    assert read(url, "SELECT * FROM hemiola_rejects ORDER BY batch, reason DESC").rows == [
        ("packets", "no time", "{", "7"), ("packets", "late", '{"a": 1}', "7"), ("packets", "late", None, "8")
    ]  # fmt: skip


def test_a_lock_held_by_another_program_is_explained_and_the_commit_can_be_repeated(url: str, tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    url = f"sqlite:///{path}"
    with SqliteStore(path, busy_timeout=0.01) as store:
        store.register([query()], START)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        whole = update(END, refresh("bytes_by_src", END, table(src=["a"], bytes=[1])))
        with pytest.raises(ResultsUnavailable, match="locked by another process"):
            store.commit(whole)
        other.close()
        store.commit(whole)
    assert read(url, "SELECT src FROM bytes_by_src").rows == [("a",)]


def test_a_full_disk_is_explained_and_nothing_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with SqliteStore(path) as store:
        store.register([query()], START)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        big = table(src=[f"{i:0500}" for i in range(200)], bytes=list(range(200)))
        with pytest.raises(ResultsUnavailable, match="no space left"):
            store.commit(update(END, refresh("bytes_by_src", END, big)))
        assert store.progress("packets") is None
        assert store.done("bytes_by_src").tolist() == []
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.commit(update(END, refresh("bytes_by_src", END, big)))
    assert read(f"sqlite:///{path}", "SELECT count(*) FROM bytes_by_src").rows == [(200,)]


def test_a_database_of_another_version_or_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    SqliteStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE hemiola_meta SET value = '99'")
    connection.close()
    with pytest.raises(RunError, match="schema version 99; this Hemiola knows version 1"):
        SqliteStore(path)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE accounts (id)")
    connection.close()
    with pytest.raises(RunError, match="something else"):
        SqliteStore(foreign)
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to have a header" * 10)
    with pytest.raises(RunError, match="not a sound SQLite database"):
        SqliteStore(text)
    assert text.read_text().startswith("not a database")


def test_an_old_sqlite_is_refused() -> None:
    with pytest.raises(RunError, match=r"SQLite 3\.36\.0 is too old .* need 3\.37\.0"):
        check_sqlite_version((3, 36, 0))
    check_sqlite_version((3, 37, 0))


@pytest.mark.parametrize("bad", ["postgresql://me@host/db", "results.db", "sqlite://", "sqlite:///:memory:", ""])
def test_a_url_that_is_no_sqlite_file_is_wrong_input(bad: str) -> None:
    with pytest.raises(InputError, match=r"sqlite:///path/to/results\.db"):
        open_store(bad)


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write the results"):
        open_store(f"sqlite:///{tmp_path}/file/results.db")
