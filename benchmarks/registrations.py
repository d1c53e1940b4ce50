"""Queries that come and go, and those that stay: does anybody become late because somebody else registers?

    python -m benchmarks.registrations

A daemon in a process of its own keeps some dozens of queries fresh over a live folder, at an interval of 1 s. After a
warm-up three periods of equal length follow: a control in which nothing is changed, one in which 50 queries are
registered and most of them deregistered again at random moments, and a second control. Some of the new queries are
answered from synopses that are there, some need synopses of their own, whose past Spark computes from raw records.
Compared are the refreshes of the queries that stay: how many were late (semantics.md 5), and how long after its window
end each was begun. Lateness and the length of a micro-batch are part of that time in all three periods alike.
"""

from __future__ import annotations

import argparse
import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.daemon import configured, feed, status
from benchmarks.measuring import print_table, save
from benchmarks.yardstick import packets, questions
from hemiola.control import request
from hemiola.state_folder import socket_path

PERIODS = ("before", "while queries come and go", "after")
FROM_THERE = (
    "SELECT src, SUM(length) AS bytes FROM packets [WINDOW {w} s SLIDE {p} s] GROUP BY src ORDER BY bytes DESC LIMIT 5",
    "SELECT QUANTILE(bytes, 0.5) AS q FROM (SELECT protocol, port, SUM(length) AS bytes FROM packets "
    "[WINDOW {w} s SLIDE {p} s] GROUP BY protocol, port)",
)
"""Answered from synopses of the queries that stay."""
OF_THEIR_OWN = (
    "SELECT dst, MAX(length) AS high FROM packets [WINDOW {w} s SLIDE {p} s] WHERE port < {v} GROUP BY dst",
    "SELECT COUNT(*) AS n, AVG(length) AS mean FROM packets [WINDOW {w} s SLIDE {p} s] WHERE src % 10 = {v}",
    "SELECT src % {v} AS r, COUNT(DISTINCT dst) AS n FROM packets [WINDOW {w} s SLIDE {p} s] GROUP BY src % {v}",
)
"""Nobody keeps what they need: their past is computed from raw records."""


class Feeder:
    """The records of one second, every second, until ``wait`` has waited."""

    def __init__(self, folder: Path, rows: pa.Table, rate: int) -> None:
        self._folder, self._rows, self._rate = folder, rows, rate
        self._began, self._fed = time.monotonic(), 0

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if time.monotonic() - self._began >= self._fed:
                feed(self._folder, self._rows, self._rate, self._fed)
                self._fed += 1
            time.sleep(max(0.0, min(until, self._began + self._fed) - time.monotonic()))


def comings_and_goings(chance: Random, changes: int) -> Iterator[tuple[str, str | None]]:
    """A name and its SQL to register, or a name and None to deregister; each query that goes has come before."""
    live: list[str] = []
    for number in range(changes):
        if live and chance.random() < 0.8:
            yield live.pop(chance.randrange(len(live))), None
        shape = chance.choice(FROM_THERE if chance.random() < 0.5 else OF_THEIR_OWN)
        slide = chance.randint(1, 5)
        sql = shape.format(w=slide * chance.randint(4, 12), p=slide, v=chance.randint(2, 9))
        live.append(f"new{number}")
        yield live[-1], sql


def change(folder: Path, name: str, sql: str | None) -> float:
    """Seconds the request took."""
    began = time.monotonic()
    if sql is None:
        request(socket_path(str(folder / "state")), "deregister", names=[name])
    else:
        path = folder / f"{name}.yaml"
        path.write_text(json.dumps({"queries": [{"name": name, "sql": sql}]}))
        request(socket_path(str(folder / "state")), "register", paths=[str(path)])
    return time.monotonic() - began


def run(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    steady = [replace(q, slide=1 + number % 5) for number, q in enumerate(questions(given.per_group))]
    config = configured(folder, "".join(f'  - {{name: {q.name}, sql: "{q.sql}"}}\n' for q in steady))
    feeder = Feeder(folder, packets(60, given.rate), given.rate)
    with open(folder / "log", "wb") as log:
        command = [sys.executable, "-m", "hemiola", "run", str(config), "--json"]
        daemon = subprocess.Popen(command, stdout=log, stderr=log)
    feeder.wait(given.warm_up)
    marks = [time.time()]
    feeder.wait(given.period)
    marks.append(time.time())
    chance = Random(given.seed)
    took: dict[str, list[float]] = {"register": [], "deregister": []}
    backfilled: set[str] = set()
    for name, sql in comings_and_goings(chance, given.changes):
        took["deregister" if sql is None else "register"].append(change(folder, name, sql))
        now = status(folder)
        backfilled |= {line["query"] for line in now["queries"] if line["state"] == "backfilling"} if now else set()
        feeder.wait(chance.expovariate(1) * 0.55 * given.period / given.changes)
    feeder.wait(marks[-1] + given.period - time.time())
    marks.append(time.time())
    feeder.wait(given.period)
    marks.append(time.time())
    daemon.send_signal(signal.SIGTERM)
    return {
        "queries that stay": len(steady),
        "rate": given.rate,
        "changes": given.changes,
        "seen backfilling": len(backfilled),
        "request seconds": {what: {"median": np.median(s), "longest": max(s)} for what, s in took.items()},
        "exit code": daemon.wait(60),
        "periods": dict(zip(PERIODS, measured(folder / "results.db", {q.name for q in steady}, marks), strict=True)),
    }


def measured(results: Path, steady: set[str], marks: list[float]) -> list[dict[str, float]]:
    """Of the refreshes begun between two marks: how many, how many late, how long after their window end."""
    with sqlite3.connect(results) as database:
        rows = database.execute("SELECT query, window_end, started_at, late_by FROM hemiola_refreshes").fetchall()
    kept = [row for row in rows if row[0] in steady]
    began = np.array([datetime.fromisoformat(row[2]).timestamp() for row in kept])
    delays = began - [datetime.fromisoformat(row[1]).timestamp() for row in kept]
    late = np.array([row[3] for row in kept]) > 0
    periods = []
    for start, end in pairwise(marks):
        chosen = (began >= start) & (began < end)
        found = delays[chosen]
        periods.append(
            {
                "refreshes": int(chosen.sum()),
                "late": int(late[chosen].sum()),
                "delay, median": float(np.median(found)),
                "delay, 99%": float(np.quantile(found, 0.99)),
                "delay, longest": float(found.max()),
            }
        )
    return periods


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-group", type=int, default=6)
    parser.add_argument("--rate", type=int, default=3000)
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--warm-up", type=float, default=60)
    parser.add_argument("--period", type=float, default=60)
    parser.add_argument("--seed", type=int, default=6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), given)
    print_table(("figure", "value"), [(name, value) for name, value in figures.items() if name != "periods"])
    periods = figures["periods"]
    names = list(periods[PERIODS[0]])
    print_table(("queries that stay", *names), [(period, *(periods[period][n] for n in names)) for period in PERIODS])
    print("written to", save("registrations", figures))


if __name__ == "__main__":
    main()
