"""A real daemon in a process of its own, fed through a folder, watched through its results."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.daemon.waiting import until

ROOT = Path(__file__).resolve().parents[2]
START = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("src", pa.string()), ("length", pa.int64())])
HEAD = """
state: ./state
results: sqlite:///./results.db
streams:
  packets:
    source: {format: parquet, path: data}
    schema: ts TIMESTAMP, src STRING, length BIGINT
    time: ts
    interval: 1s
    lateness: LATENESS
    OTHER
spark:
  master: local[2]
  conf: {spark.driver.memory: 512m, spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
scheduler: {policy: POLICY}
queries:
"""


class Daemon:
    """``hemiola run`` on a folder. ``feed`` adds whole files to its source; everything fed is kept for the judge."""

    def __init__(
        self, folder: Path, queries: str, lateness: str = "0s", policy: str = "none", other: str = "weight: 1.0"
    ) -> None:
        self.folder, self.process = folder, None
        self.fed = 0
        (folder / "data").mkdir(parents=True, exist_ok=True)
        head = HEAD.replace("LATENESS", lateness).replace("POLICY", policy).replace("OTHER", other)
        self.config = folder / "config.yaml"
        self.config.write_text(head + queries)

    def limit_files(self, most: int) -> None:
        """At most so many files per micro-batch."""
        options = f"path: data, options: {{maxFilesPerTrigger: {most}}}"
        self.config.write_text(self.config.read_text().replace("path: data", options))

    def start(self) -> None:
        command = [sys.executable, "-m", "hemiola", "run", str(self.config), "--json"]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self, patience: float = 60) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=patience)

    def hemiola(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "hemiola", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    def status(self) -> dict[str, Any]:
        from hemiola.control import request
        from hemiola.state_folder import socket_path

        found: dict[str, Any] = request(socket_path(str(self.folder / "state")), "status")
        return found

    def status_of(self, query: str) -> dict[str, Any]:
        return next(line for line in self.status()["queries"] if line["query"] == query)

    def feed(self, table: pa.Table) -> None:
        self.fed += 1
        path = self.folder / "data" / f"{self.fed:06d}.parquet"
        pq.write_table(table, path.with_name(f".{path.name}"))
        os.rename(path.with_name(f".{path.name}"), path)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if not (self.folder / "results.db").exists():
            return []
        with sqlite3.connect(f"file:{self.folder / 'results.db'}?mode=ro", uri=True) as results:
            try:
                return results.execute(sql).fetchall()
            except sqlite3.OperationalError:
                return []

    def ends(self, query: str) -> list[int]:
        """The window ends published, in seconds since START."""
        rows = self.rows(f"SELECT window_end FROM hemiola_refreshes WHERE query = '{query}' ORDER BY 1")
        return [round((datetime.fromisoformat(end) - START).total_seconds()) for (end,) in rows]

    def updated_until(self) -> int:
        """The newest committed update, in seconds since START; −1 before the first."""
        rows = self.rows("SELECT updated_until FROM hemiola_streams")
        return round((datetime.fromisoformat(rows[0][0]) - START).total_seconds()) if rows else -1

    def wait(self, what: str, reached: Callable[[], Any], patience: float = 120) -> Any:
        def checked() -> Any:
            assert self.process is not None and self.process.poll() is None, self.log()[-3000:]
            return reached()

        try:
            return until(checked, patience)
        except TimeoutError:
            raise AssertionError(f"waited in vain for {what}; log:\n{self.log()[-3000:]}") from None

    def wait_until_updated(self, second: int) -> None:
        self.wait(f"update {second}", lambda: self.updated_until() >= second)

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def raw(self) -> duckdb.DuckDBPyConnection:
        """All rows fed, as the table ``packets``."""
        rows = duckdb.connect()
        rows.execute("SET TimeZone = 'UTC'")
        files = str(self.folder / "data" / "[0-9]*.parquet")
        rows.execute(f"CREATE TABLE packets AS SELECT ts::TIMESTAMP AS ts, src, length FROM read_parquet('{files}')")
        return rows


def second(number: int, records: int = 20) -> pa.Table:
    """The records of second ``number``, all a function of it."""
    times = [START + timedelta(seconds=number, microseconds=i * (1_000_000 // records)) for i in range(records)]
    sources = [f"s{(number * 7 + i * i) % 5}" for i in range(records)]
    lengths = [(number * 31 + i * 17) % 1000 for i in range(records)]
    return pa.table([times, sources, lengths], schema=SCHEMA)
