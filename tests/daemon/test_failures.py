"""Real faults: each leaves its reason in ``status``, loses nothing, and is over when its cause is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from tests.daemon.daemon_process import second
from tests.daemon.daemon_thread import ThreadDaemon
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

SQL = "SELECT src, SUM(length) AS bytes FROM packets [WINDOW 5 s SLIDE 1 s] GROUP BY src"
LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def daemon(tmp_path, spark):
    daemon = ThreadDaemon(tmp_path, f"  - {{name: by_src, semantics: restore, sql: '{SQL}'}}\n").use(spark)
    text = daemon.config.read_text().replace("state: ./state", "state: ./state\nmetrics: {port: 0}\naudit: 1")
    daemon.config.write_text(text)
    for number in range(10):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(9)
    return daemon


def feed_and_judge(daemon: ThreadDaemon, first: int, last: int) -> None:
    """What is fed after the fault is answered like everything before it."""
    for number in range(first, last):
        daemon.feed(second(number))
        time.sleep(0.02)
    daemon.wait_until_updated(last - 1)
    daemon.wait("all window ends", lambda: daemon.ends("by_src") == list(range(1, last)))
    assert differences(daemon.folder / "results.db", daemon.raw(), [Case("by_src", SQL)]) == []


def fetched(daemon: ThreadDaemon, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.status()['metrics_port']}{path}") as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_results_locked_by_another_process(daemon):
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCK, str(daemon.folder / "results.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"locked\n"
    daemon.feed(second(10))
    daemon.feed(second(11))
    daemon.wait("the reason", lambda: "locked" in (daemon.status()["error"] or ""))
    assert fetched(daemon, "/readyz")[0] == 503
    holder.communicate()
    daemon.wait("it to be over", lambda: daemon.status()["error"] is None)
    feed_and_judge(daemon, 12, 20)
    assert fetched(daemon, "/readyz") == (200, "ready\n")
    assert daemon.stop() == 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 MB with the daemon's state and results on it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"only root may mount a small file system: {mounted.stderr.strip()}")
    (disk / "state").mkdir()
    (tmp_path / "state").symlink_to(disk / "state")
    (tmp_path / "results.db").symlink_to(disk / "results.db")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_loses_nothing(small_disk, daemon):
    def filled() -> bool:
        nonlocal number
        free = shutil.disk_usage(small_disk).free
        with suppress(OSError), open(small_disk / "ballast", "ab") as ballast:
            ballast.write(bytes(free))
        daemon.feed(second(number))
        number += 1
        time.sleep(0.3)
        status = daemon.status()
        return bool(status["error"] or status["streams"][0]["error"])

    number = 10
    daemon.wait("the reason", filled)
    for _ in range(5):
        filled()
    daemon.running._calls.put(daemon.running._keep_house)
    (small_disk / "ballast").unlink()
    feed_and_judge(daemon, number, number + 3)
    daemon.wait("it to be over", lambda: not daemon.status()["error"] and not daemon.status()["streams"][0]["error"])
    assert daemon.stop() == 0


def test_an_unreadable_file_is_set_aside_and_named(daemon):
    bad = daemon.folder / "data" / "corrupt.parquet"
    bad.write_bytes(b"PAR1 this is no parquet file PAR1")
    daemon.wait("the reason", lambda: "corrupt.parquet" in str(daemon.rows("SELECT record FROM hemiola_rejects")))
    assert "unreadable file" in daemon.rows("SELECT reason FROM hemiola_rejects")[0][0]
    feed_and_judge(daemon, 10, 20)
    assert daemon.status()["streams"][0]["malformed"] == 1
    assert daemon.stop() == 0


def test_the_source_vanishes_and_returns(daemon):
    data, away = daemon.folder / "data", daemon.folder / "away"
    data.rename(away)
    daemon.wait("the reason", lambda: "data" in (daemon.status()["streams"][0]["error"] or ""))
    away.rename(data)
    feed_and_judge(daemon, 10, 20)
    daemon.wait("it to be over", lambda: daemon.status()["streams"][0]["error"] is None)
    assert daemon.stop() == 0


def test_a_killed_spark_job_is_run_again(daemon, spark):
    for number in range(10, 30):
        daemon.feed(second(number))
        spark.sparkContext.cancelAllJobs()
        time.sleep(0.1)
    feed_and_judge(daemon, 30, 35)
    assert daemon.stop() == 0


@pytest.mark.parametrize("jump", [3_600, -3_600])
def test_the_clock_is_set(daemon, jump):
    """By an hour. What a clock that was set back does to a scheduler's ticks is done to them here."""
    clock, ticks = daemon.running.clock, daemon.running._ticks
    ticks.pause()
    for job in ticks.get_jobs():
        job.modify(next_run_time=datetime.now(UTC) + timedelta(hours=1))
    ticks.resume()
    system = clock._system
    clock._system = lambda: system() + jump * 1_000_000
    daemon.wait("the reason", lambda: "set" in (daemon.status()["clock_set"] or ""))
    assert ("forward" if jump > 0 else "back") + " by 3600.0 s" in daemon.status()["clock_set"]
    assert all(job.next_run_time < datetime.now(UTC) + timedelta(minutes=1) for job in ticks.get_jobs())
    feed_and_judge(daemon, 10, 20)
    assert daemon.stop() == 0


def test_metrics_and_audit_tell_the_truth(daemon):
    feed_and_judge(daemon, 10, 20)
    daemon.wait("audits", lambda: daemon.status_of("by_src")["audited"] > 3)
    assert daemon.status_of("by_src")["audit_differences"] == 0
    code, text = fetched(daemon, "/metrics")
    refreshes = daemon.status_of("by_src")["refreshes"]
    assert code == 200 and f'hemiola_refreshes_total{{query="by_src"}} {refreshes}\n' in text
    assert 'hemiola_records_total{stream="packets"} 400\n' in text
    assert fetched(daemon, "/healthz") == (200, "alive\n") and fetched(daemon, "/other")[0] == 404
    assert daemon.stop() == 0
    shutil.rmtree(daemon.folder / "data")


def test_a_wrong_answer_is_found_by_the_audit(daemon):
    """The synopses are spoilt behind the engine's back."""

    def spoil() -> None:
        live = daemon.running.runtimes["packets"].live
        need = live.engine.plan.needs[0]
        table = daemon.running.runtimes["packets"].store.read(0, [need])[need][0]
        live.engine.synopses.ingest(need, table.set_column(0, "interval", [[live.engine.now] * table.num_rows]))

    daemon.running._calls.put(spoil)
    for number in range(10, 20):
        daemon.feed(second(number))
        time.sleep(0.02)
    daemon.wait("the audit", lambda: daemon.status_of("by_src")["audit_differences"] > 0)
    assert "computed again" in daemon.status_of("by_src")["last_error"]
    assert daemon.stop() == 0
