"""Synopses that live in Spark under a live daemon: moved there, backfilled, restarted; answers as DuckDB has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hemiola import placing
from hemiola.control import request
from hemiola.state_folder import socket_path
from synopses.partials_store import PartialsStore, StoredBatch
from tests.daemon.daemon_process import second
from tests.daemon.daemon_thread import ThreadDaemon
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

QUERIES = {
    "by_src": "SELECT src, SUM(length) AS bytes, COUNT(*) AS n FROM packets [WINDOW 8 s SLIDE 2 s] GROUP BY src",
    "top": "SELECT src, MAX(length) AS m FROM packets [WINDOW 6 s SLIDE 1 s] GROUP BY src ORDER BY m DESC, src LIMIT 2",
    "everything": "SELECT COUNT(*) AS n, COUNT(DISTINCT src) AS sources FROM packets [WINDOW 7 s SLIDE 3 s]",
}


def config(placement: str) -> str:
    restored = {"top": "restore"}
    return "".join(
        f"  - {{name: {name}, placement: {placement}, semantics: {restored.get(name, 'no_restore')}, sql: '{sql}'}}\n"
        for name, sql in QUERIES.items()
    )


def test_queries_move_to_spark_while_it_runs_and_lose_no_update(tmp_path, spark, monkeypatch):
    daemon = ThreadDaemon(tmp_path, config("auto"), other="retain: 2s").use(spark)
    for number in range(12):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(11)
    assert daemon.status()["streams"][0]["resident_entries"] == 0
    monkeypatch.setattr("hemiola.running.driver_budget", lambda share: 0)
    runtime = daemon.running.runtimes["packets"]
    daemon.wait("the move", lambda: all(plan.resident for plan in runtime.plan.queries))
    for number in range(12, 18):
        daemon.feed(second(number))
    daemon.wait_until_updated(17)
    assert daemon.status()["streams"][0]["resident_entries"] > 0
    assert runtime.live.engine.synopses.entries == 0
    assert daemon.stop() == 0

    monkeypatch.setattr("hemiola.running.driver_budget", placing.driver_budget)
    daemon.feed(second(18))
    daemon.start()
    daemon.feed(second(19))
    daemon.wait_until_updated(19)
    assert all(plan.resident for plan in daemon.running.runtimes["packets"].plan.queries), "it stays moved"
    assert daemon.stop() == 0
    assert differences(tmp_path / "results.db", daemon.raw(), [Case(*query) for query in QUERIES.items()]) == []
    assert daemon.ends("top") == list(range(1, 20))
    assert daemon.rows("SELECT count(*) FROM by_src WHERE NOT complete AND window_start >= '2026-03-01T00:00:00'") == [
        (0,)
    ]


def test_a_query_registered_in_spark_is_backfilled_there(tmp_path, spark):
    daemon = ThreadDaemon(tmp_path, config("spark"), other="retain: 1h").use(spark)
    for number in range(12):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(11)
    sql = "SELECT length % 7 AS r, SUM(length) AS n FROM packets [WINDOW 9 s SLIDE 1 s] GROUP BY length % 7"
    path = tmp_path / "more.yaml"
    path.write_text(json.dumps({"queries": [{"name": "more", "sql": sql, "placement": "spark"}]}))
    request(socket_path(str(tmp_path / "state")), "register", paths=[str(path)])
    for number in range(12, 16):
        daemon.feed(second(number))
    daemon.wait("its answer", lambda: daemon.ends("more")[-1:] == [15])
    resident = daemon.running.runtimes["packets"].resident
    daemon.wait(
        "blocks", lambda: any(file.last > file.first + 1 for own in list(resident._files.values()) for file in own)
    )
    for number in range(16, 20):
        daemon.feed(second(number))
    daemon.wait_until_updated(19)
    assert daemon.stop() == 0
    cases = [Case(*query) for query in {**QUERIES, "more": sql}.items()]
    assert differences(tmp_path / "results.db", daemon.raw(), cases) == []
    assert daemon.rows("SELECT count(*) FROM more WHERE NOT complete") == [(0,)]


def test_a_driver_that_ends_between_writing_files_and_committing_them_counts_none_twice(tmp_path, spark, monkeypatch):
    daemon = ThreadDaemon(tmp_path, config("spark")).use(spark)
    for number in range(6):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(5)
    lost: list[object] = []

    def never(self: PartialsStore, stored: StoredBatch) -> None:
        lost.extend(stored.files)
        raise OSError("the driver ends here")

    with monkeypatch.context() as ending:
        ending.setattr(PartialsStore, "write", never)
        for number in range(6, 10):
            daemon.feed(second(number))
        daemon.wait("files that nobody names", lambda: lost)
        assert daemon.stop() == 0
    assert all(Path(file.path).exists() for _, file in lost), "they are there, and do not count"
    daemon.start()
    daemon.feed(second(10))
    daemon.wait_until_updated(10)
    assert daemon.stop() == 0
    assert differences(tmp_path / "results.db", daemon.raw(), [Case(*query) for query in QUERIES.items()]) == []
