"""The daemon at work: 240 queries, 3,000 records per second, an interval of 1 s; late refreshes and memory over time.

    python -m benchmarks.daemon --minutes 10

One Parquet file of a second's records arrives every second. Memory is the resident set of the driver, and of
Spark's JVM and Python workers; both are read once a second from the operating system.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import print_table, save
from benchmarks.yardstick import SECOND, packets, questions
from hemiola.control import request
from hemiola.state_folder import socket_path
from queries.errors import RunError

_HEAD = """
state: ./state
results: sqlite:///./results.db
streams:
  packets:
    source: {format: parquet, path: data}
    schema: ts TIMESTAMP, src INT, dst INT, protocol INT, port INT, length BIGINT
    time: ts
    interval: 1s
    lateness: 1s
spark: {master: "local[2]", conf: {spark.driver.memory: 1g}}
queries:
"""


def configured(folder: Path, per_group: int) -> Path:
    (folder / "data").mkdir()
    queries = "".join(f'  - {{name: {q.name}, sql: "{q.sql}"}}\n' for q in questions(per_group))
    path = folder / "config.yaml"
    path.write_text(_HEAD + queries)
    return path


def resident(pid: int) -> tuple[int, int]:
    """Bytes of the driver, and of all its descendants: Spark's JVM and Python workers."""
    pages: dict[int, int] = {}
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            pages[one] = int(Path(f"/proc/{one}/statm").read_text().split()[1])
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                waiting += [int(child) for child in children.read_text().split()]
        except FileNotFoundError:
            continue
    driver, all_of_them = pages.get(pid, 0), sum(pages.values())
    page = os.sysconf("SC_PAGE_SIZE")
    return driver * page, (all_of_them - driver) * page


def feed(folder: Path, rows: pa.Table, rate: int, number: int) -> None:
    """The records of one second, now."""
    start = int(time.time()) * SECOND
    second = rows.slice(number * rate % rows.num_rows, rate)
    offsets = pa.array([(i * SECOND) // rate + start for i in range(rate)]).cast(pa.timestamp("us", tz="UTC"))
    path = folder / "data" / f"{number:06d}.parquet"
    pq.write_table(second.set_column(0, "ts", offsets), path.with_name(f".{path.name}"))
    path.with_name(f".{path.name}").rename(path)


def status(folder: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = request(socket_path(str(folder / "state")), "status")
        return found
    except RunError:
        return None


def run(folder: Path, minutes: float, per_group: int, rate: int) -> dict[str, Any]:
    config = configured(folder, per_group)
    rows = packets(60, rate)
    with open(folder / "log", "wb") as log:
        command = [sys.executable, "-m", "hemiola", "run", str(config), "--json"]
        daemon = subprocess.Popen(command, stdout=log, stderr=log)
    seen: list[dict[str, Any]] = []
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < minutes * 60:
        feed(folder, rows, rate, number)
        number += 1
        found = status(folder)
        if found is not None and found["reading"]:
            driver, spark = resident(daemon.pid)
            seen.append(
                {
                    "second": round(time.monotonic() - began, 1),
                    "late": sum(query["late"] for query in found["queries"]),
                    "refreshes": sum(query["refreshes"] for query in found["queries"]),
                    "batch_seconds": found["streams"][0]["batch_seconds"],
                    "waiting": found["streams"][0]["waiting_updates"],
                    "driver": driver,
                    "spark": spark,
                    "state": found["state_bytes"],
                }
            )
        time.sleep(max(0.0, began + number - time.monotonic()))
    daemon.send_signal(signal.SIGTERM)
    stopping = time.monotonic()
    code = daemon.wait(60)
    warm = [line for line in seen if line["second"] >= min(130, minutes * 30)]
    return {
        "seconds": minutes * 60,
        "queries": 8 * per_group,
        "rate": rate,
        "refreshes after warm-up": warm[-1]["refreshes"] - warm[0]["refreshes"],
        "late after warm-up": warm[-1]["late"] - warm[0]["late"],
        "median batch seconds": median(line["batch_seconds"] for line in warm),
        "longest batch seconds": max(line["batch_seconds"] for line in warm),
        "driver after warm-up MB": warm[0]["driver"] / 1e6,
        "driver at the end MB": warm[-1]["driver"] / 1e6,
        "Spark after warm-up MB": warm[0]["spark"] / 1e6,
        "Spark at the end MB": warm[-1]["spark"] / 1e6,
        "state at the end MB": warm[-1]["state"] / 1e6,
        "exit code": code,
        "stopped in seconds": time.monotonic() - stopping,
        "course": seen,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--per-group", type=int, default=30)
    parser.add_argument("--rate", type=int, default=3000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), given.minutes, given.per_group, given.rate)
    print_table(("figure", "value"), [(name, value) for name, value in figures.items() if name != "course"])
    print("written to", save("daemon", figures))


if __name__ == "__main__":
    main()
