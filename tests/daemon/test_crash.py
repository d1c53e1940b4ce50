"""Killed at random moments, again and again: nothing lost, nothing twice, every answer as DuckDB has it.

The short form (20 kills) runs with ``make test``; ``make crash`` runs the long one (HEMIOLA_KILLS=100).
"""

from __future__ import annotations

import os
import random
import threading
import time

import pytest

from tests.daemon.daemon_process import Daemon, second
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

KILLS = int(os.environ.get("HEMIOLA_KILLS", "20"))
STARTING = 7.0
"""Seconds within which a daemon is killed while it starts; the others are killed at work."""
QUERIES = {
    "by_src": "SELECT src, SUM(length) AS bytes, COUNT(*) AS n FROM packets [WINDOW 20 s SLIDE 2 s] GROUP BY src",
    "spread": "SELECT src, MIN(length) AS low, MAX(length) AS high FROM packets [WINDOW 15 s SLIDE 5 s] GROUP BY src",
    "everything": "SELECT COUNT(*) AS n, COUNT(DISTINCT src) AS sources FROM packets [WINDOW 7 s SLIDE 3 s]",
    "each": "SELECT SUM(length) AS bytes FROM packets [WINDOW 1 s SLIDE 1 s]",
}
RESTORED = ("spread", "each")


def config(placement: str) -> str:
    lines = []
    for name, sql in QUERIES.items():
        semantics = "restore" if name in RESTORED else "no_restore"
        lines.append(f"  - {{name: {name}, semantics: {semantics}, placement: {placement}, sql: '{sql}'}}\n")
    return "".join(lines)


@pytest.mark.crash
@pytest.mark.parametrize(("placement", "kills"), [("driver", KILLS), ("spark", KILLS // 4)])
def test_killed_at_random_moments_every_answer_is_there_once_and_right(tmp_path, placement, kills):
    daemon = Daemon(tmp_path, config(placement), lateness="3s", policy="hybrid")
    chance = random.Random(6)
    fed = 0
    finished = threading.Event()

    def feed() -> None:
        nonlocal fed
        while not finished.is_set():
            daemon.feed(second(fed))
            fed += 1
            time.sleep(0.5)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    for number in range(kills):
        before = daemon.updated_until()
        daemon.start()
        if number % 5 < 3:
            time.sleep(chance.uniform(0, STARTING))
        else:
            daemon.wait("progress", lambda before=before: daemon.updated_until() > before)
            time.sleep(chance.uniform(0, 1.5))
        daemon.kill()
    finished.set()
    feeder.join()
    daemon.start()
    daemon.wait_until_updated(fed - 4)
    assert daemon.stop() == 0

    cases = [Case(name, sql) for name, sql in QUERIES.items()]
    assert differences(tmp_path / "results.db", daemon.raw(), cases) == []
    for name in QUERIES:
        assert len(daemon.ends(name)) == len(set(daemon.ends(name))) > 0
    last = daemon.updated_until()
    for case in cases:
        if case.name in RESTORED:  # a slide bounds the wait from the last refresh on, which may have been off the grid
            grid = set(range(case.slide, last + 2 - case.slide, case.slide))
            assert grid <= set(daemon.ends(case.name))
    assert daemon.rows("SELECT count(*) FROM hemiola_rejects") == [(0,)]
    assert daemon.rows("SELECT records FROM hemiola_streams")[0][0] == 20 * fed
