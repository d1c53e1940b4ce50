"""The daemon at work: 240 queries, 3,000 records per second, an interval of 1 s; late refreshes and memory over time.

    python -m benchmarks.daemon --minutes 10

One Parquet file of a second's records arrives every second. Memory is the resident set of the driver, of Spark's JVM
and of its Python workers, read once a second from the operating system, and what the JVM's collector says: the heap in
use after a collection (the smallest of each minute, since most collections are partial) and the space of classes. How
flat each is: the slope of a line through its second half, in MB a minute.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import print_table, save
from benchmarks.yardstick import SECOND, packets, questions
from hemiola.control import request
from hemiola.state_folder import socket_path
from queries.errors import RunError

HEAD = """
state: ./state
results: sqlite:///./results.db
streams:
  packets:
    source: {format: parquet, path: data}
    schema: ts TIMESTAMP, src INT, dst INT, protocol INT, port INT, length BIGINT
    time: ts
    interval: 1s
    lateness: 1s
spark:
  master: local[2]
  conf:
    spark.driver.memory: 1g
    spark.driver.extraJavaOptions: "-Xlog:gc,gc+metaspace:file=GC_LOG:uptime"
queries:
"""


def configured(folder: Path, queries: str) -> Path:
    (folder / "data").mkdir()
    path = folder / "config.yaml"
    path.write_text(HEAD.replace("GC_LOG", str(folder / "gc.log")) + queries)
    return path


def resident(pid: int) -> dict[str, int]:
    """Bytes of the driver, of Spark's JVM, and of its Python workers. A JVM below a JVM is one about to become a
    command it runs: it has no memory of its own."""
    found = dict.fromkeys(("driver", "JVM", "workers"), 0)
    waiting = [(pid, "driver")]
    while waiting:
        one, kind = waiting.pop()
        try:
            found[kind] += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                for child in children.read_text().split():
                    java = Path(f"/proc/{child}/comm").read_text().strip() == "java"
                    if not (java and kind != "driver"):
                        waiting.append((int(child), "JVM" if java else "workers"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def collected(log: Path) -> dict[str, list[tuple[float, float]]]:
    """From the collector's log: (second, MB) of the heap after a collection, the smallest of each minute, and of the
    space of classes."""
    heap: dict[int, float] = {}
    classes: list[tuple[float, float]] = []
    for line in log.read_text().splitlines():
        second = re.match(r"\[([\d.]+)s\]", line)
        after = re.search(r"->(\d+)([MK])\(", line)
        if second is None or after is None:
            continue
        minute, size = int(float(second[1]) // 60), int(after[1]) / (1 if after[2] == "M" else 1024)
        if "Metaspace" in line:
            classes.append((float(second[1]), size))
        elif "Pause" in line:
            heap[minute] = min(size, heap.get(minute, size))
    return {"heap": [(60.0 * minute + 30, size) for minute, size in sorted(heap.items())], "classes": classes}


def slope(points: list[tuple[float, float]], since: float) -> float:
    """MB a minute, of the points from second ``since`` on."""
    late = [point for point in points if point[0] >= since]
    return float(np.polyfit(*zip(*late, strict=True), 1)[0]) * 60 if len(late) > 1 else float("nan")


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
    config = configured(folder, "".join(f'  - {{name: {q.name}, sql: "{q.sql}"}}\n' for q in questions(per_group)))
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
            seen.append(
                {
                    "second": round(time.monotonic() - began, 1),
                    "late": sum(query["late"] for query in found["queries"]),
                    "refreshes": sum(query["refreshes"] for query in found["queries"]),
                    "batch_seconds": found["streams"][0]["batch_seconds"],
                    "waiting": found["streams"][0]["waiting_updates"],
                    **resident(daemon.pid),
                    "state": found["state_bytes"],
                }
            )
        time.sleep(max(0.0, began + number - time.monotonic()))
    daemon.send_signal(signal.SIGTERM)
    stopping = time.monotonic()
    code = daemon.wait(60)
    warm = [line for line in seen if line["second"] >= min(130, minutes * 30)]
    memory = {name: [(line["second"], line[name] / 1e6) for line in seen] for name in ("driver", "JVM", "workers")}
    memory |= collected(folder / "gc.log")
    return {
        "seconds": minutes * 60,
        "queries": 8 * per_group,
        "rate": rate,
        "refreshes after warm-up": warm[-1]["refreshes"] - warm[0]["refreshes"],
        "late after warm-up": warm[-1]["late"] - warm[0]["late"],
        "median batch seconds": median(line["batch_seconds"] for line in warm),
        "longest batch seconds": max(line["batch_seconds"] for line in warm),
        **{f"{name} after warm-up MB": warm[0][name] / 1e6 for name in ("driver", "JVM", "workers")},
        **{f"{name} at the end MB": points[-1][1] for name, points in memory.items()},
        **{f"{name}, MB a minute": slope(points, minutes * 30) for name, points in memory.items()},
        "state at the end MB": warm[-1]["state"] / 1e6,
        "exit code": code,
        "stopped in seconds": time.monotonic() - stopping,
        "course": seen,
        "collected": collected(folder / "gc.log"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--per-group", type=int, default=30)
    parser.add_argument("--rate", type=int, default=3000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), given.minutes, given.per_group, given.rate)
    print_table(
        ("figure", "value"), [(name, value) for name, value in figures.items() if name not in ("course", "collected")]
    )
    print("written to", save("daemon", figures))


if __name__ == "__main__":
    main()
