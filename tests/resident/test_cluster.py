"""Replays on a real standalone cluster, also while its workers are killed: judged by DuckDB over the raw rows."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.daemon.waiting import until
from tests.oracle.events import events, write_parquet
from tests.oracle.judge import differences
from tests.oracle.test_oracle import cases
from tests.resident.standalone_cluster import PATIENCE, SMALL, Cluster, DriverUI
from tests.resident.test_replay_in_spark import oracle_queries, raw, write_config

__all__ = ["raw"]
pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
LAST = "2026-03-01T12:00:30Z"
EVERY = int(os.environ.get("HEMIOLA_ORACLE_EVERY", "3"))
"""Of the oracle's queries, every third (HEMIOLA_ORACLE_EVERY=1: all of them); every second of those in the driver."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


class Replay:
    """``hemiola replay`` in a process of its own, on a cluster."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.folder, self.cluster, self.ui = folder, cluster, DriverUI()
        write_parquet(events(), folder / "data")
        queries = oracle_queries("spark")[::EVERY]
        for query in queries[1::2]:
            query["placement"] = "driver"
        java = {"spark.driver.extraJavaOptions": SMALL, "spark.executor.extraJavaOptions": SMALL}
        memory = {"spark.driver.memory": "512m", "spark.executor.memory": "512m"}
        conf = {**java, **memory, **self.ui.conf, "spark.shuffle.io.retryWait": "1s"}
        conf["spark.pyspark.python"] = str(python_without_hemiola(folder))
        config = write_config(folder, queries, spark={"master": cluster.url, "conf": conf})
        command = [sys.executable, "-m", "hemiola", "replay", str(config), "--until", LAST, "--json"]
        with open(folder / "log", "wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def finish(self) -> None:
        assert self._process.wait(600) == 0, self._log()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def kill_a_worker_at(self, stage: str) -> None:
        """Kills one that is in the middle of a task of this stage (the file it is named after)."""
        worker = min(self.cluster.workers)
        until(lambda: self._is_at(worker, stage), PATIENCE)
        while True:
            self.cluster.freeze(worker)
            time.sleep(1)  # what it may have said before must have been heard
            if self._is_at(worker, stage):
                break
            self.cluster.thaw(worker)
            until(lambda: self._is_at(worker, stage), PATIENCE)
        executor = self.cluster.executor(worker)
        self.cluster.kill(worker)
        assert executor is not None
        until(lambda: self.ui.is_lost(executor), PATIENCE)

    def _is_at(self, worker: str, stage: str) -> bool:
        assert self._process.poll() is None, self._log()
        executor = self.cluster.executor(worker)
        return executor is not None and any(stage in name for name in self.ui.running_tasks(executor))

    def refreshes(self) -> list[tuple[str, str, int]]:
        with sqlite3.connect(self.folder / "var" / "results.db") as results:
            sql = "SELECT query, window_end, rows FROM hemiola_refreshes ORDER BY 1, 2"
            return results.execute(sql).fetchall()

    def _log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-3000:]


def python_without_hemiola(folder: Path) -> Path:
    """As on a machine that has what we need installed, but not our own packages."""
    python = folder / "python"
    installed = Path(pyspark.__file__).parents[1]
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{installed}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def replayed(cluster, tmp_path_factory) -> Iterator[Replay]:
    replay = Replay(tmp_path_factory.mktemp("replay"), cluster)
    replay.finish()
    yield replay
    replay.stop()


def test_a_replay_on_a_cluster_is_right(cluster, replayed, raw):
    assert len({query for query, *_ in replayed.refreshes()}) == len(cases()[::EVERY])
    assert differences(replayed.folder / "var" / "results.db", raw, cases()[::EVERY]) == []
    there = subprocess.run([replayed.folder / "python", "-c", "import pyarrow, synopses"], cwd=cluster.work, stderr=-1)
    assert b"No module named 'synopses'" in there.stderr, "the workers have our packages from the driver alone"


def test_workers_killed_in_the_middle_of_it_lose_nothing(cluster, replayed, tmp_path, raw):
    replay = Replay(tmp_path, cluster)
    try:
        replay.kill_a_worker_at("preaggregation.py")
        cluster.add_worker()
        replay.kill_a_worker_at("map_reduce.py")
        replay.finish()
    finally:
        replay.stop()
    assert replay.refreshes() == replayed.refreshes()
    assert differences(tmp_path / "var" / "results.db", raw, cases()[::EVERY]) == []
