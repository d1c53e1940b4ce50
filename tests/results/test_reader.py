"""``hemiola query``: reads anything, writes nothing, says what is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from queries.errors import InputError, RunError
from results import open_store, read
from tests.results.sample_answers import MINUTE, START, query, refresh, store_url, table, update


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def url(folder: Path) -> str:
    where = store_url(folder)
    with open_store(where) as store:
        store.register([query(), query("top_talkers", ordered=True)], START)
        answer = table(src=["a", None], bytes=[1, 2])
        shared = refresh("bytes_by_src", START + MINUTE, answer, shared_with=("top_talkers",))
        store.commit(update(START + MINUTE, shared))
    return where


def test_a_select_gives_columns_and_rows(url: str) -> None:
    result = read(url, "-- a comment\nSELECT src, bytes * 2 AS twice FROM bytes_by_src ORDER BY twice; ")
    assert result.columns == ("src", "twice")
    assert result.rows == [("a", 2), (None, 4)]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT max(n) FROM r",
        "SELECT count(value) + 2 FROM hemiola_refreshes, json_each(shared_with)",
        "VALUES (3)",
        "SELECT count(*) + 1 FROM bytes_by_src AS one JOIN bytes_by_src AS other USING (src) WHERE 1 = 1 UNION"
        " SELECT 3 LIMIT 1 OFFSET 1",
        "SELECT count(*) - 5 FROM pragma_table_info('bytes_by_src')",
    ],
)
def test_all_of_reading_sql_works(url: str, sql: str) -> None:
    assert read(url, sql).rows == [(3,)]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO bytes_by_src (src) VALUES ('x')",
        "INSERT INTO bytes_by_src (src) VALUES ('x') RETURNING src",
        "WITH x AS (SELECT 1) DELETE FROM bytes_by_src",
        "UPDATE bytes_by_src SET bytes = 0",
        "DELETE FROM bytes_by_src",
        "REPLACE INTO hemiola_meta VALUES ('schema_version', '7')",
        "DROP TABLE bytes_by_src",
        "DROP INDEX hemiola_index_bytes_by_src",
        "ALTER TABLE bytes_by_src RENAME TO gone",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP TABLE t AS SELECT * FROM bytes_by_src",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "ATTACH DATABASE '{folder}/new.db' AS other",
        "DETACH DATABASE main",
        "VACUUM",
        "VACUUM INTO '{folder}/copy.db'",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA query_only = OFF",
        "PRAGMA user_version = 7",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "SELECT * FROM pragma_journal_mode('delete')",
        "BEGIN IMMEDIATE",
        "SAVEPOINT s",
        "ANALYZE",
        "REINDEX",
        "SELECT load_extension('evil')",
    ],
)
def test_whatever_writes_is_refused(url: str, folder: Path, sql: str) -> None:
    def files() -> dict[str, str]:
        found = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found if path.suffix != ".db-shm"}

    before = files()
    with pytest.raises(InputError, match="write one SELECT") as caught:
        read(url, sql.format(folder=folder))
    assert caught.value.exit_code == 2
    assert files() == before


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM top_talker", "did you mean top_talkers?"),
        ("SELECT Byte FROM bytes_by_src", "did you mean bytes?"),
        ("SELECT t.windowend FROM top_talkers t", "did you mean window_end?"),
        ("SELECT zzz FROM top_talkers", "columns: window_start, window_end, complete, rank, src, bytes,"),
        ("SELECT * FROM qqq", "tables: "),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT nosuch(1)", "no such function: nosuch"),
        ("SELECT 1; SELECT 2", "several statements"),
        ("SELECT 1; DROP TABLE bytes_by_src", "several statements"),
        ("SELECT ?", "with values instead of ?"),
        ("", "no query"),
        ("-- nothing", "no query"),
        ("SELECT abs(-9223372036854775808)", "integer overflow"),
    ],
)
def test_wrong_sql_is_wrong_input_with_a_way_out(url: str, sql: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(url, sql)
    assert message in str(caught.value)


def test_results_that_do_not_exist_yet_are_not_created(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="run hemiola replay first"):
        read(f"sqlite:///{tmp_path}/none.db", "SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("something else entirely, and long enough" * 9)
    with pytest.raises(RunError, match="not a sound SQLite database"):
        read(f"sqlite:///{tmp_path}/x.db", "SELECT 1")


def test_a_path_with_odd_characters_is_read(tmp_path: Path) -> None:
    odd = f"sqlite:///{tmp_path}/a b?mode=rwc#%41.db"
    open_store(odd).close()
    assert read(odd, "SELECT count(*) FROM hemiola_queries").rows == [(0,)]
