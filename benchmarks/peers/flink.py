"""PyFlink SQL with HOP windows, in an environment and a process of its own (``benchmarks.peers.installed``).

This side writes the records as CSV (the reader that comes with PyFlink from PyPI; Parquet's does not) and asks;
``flink_worker`` runs on the other Python and stays alive between rounds, so that its JVM is warm. Flink's PERCENTILE
interpolates between two values: its answers are compared with such quantiles.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from benchmarks.peers.installed import FLINK, FLINK_PYTHON
from benchmarks.peers.streams import ByEnd
from benchmarks.yardstick import Question
from spark_jobs.session import find_java_home

WORKER = Path(__file__).with_name("flink_worker.py")


class Flink:
    name = FLINK

    def __init__(self, rows: pa.Table, folder: Path) -> None:
        path = folder / "packets.csv"
        milliseconds = pc.divide(rows["ts"].cast(pa.int64()), 1000)
        options = pa.csv.WriteOptions(include_header=False)
        pa.csv.write_csv(rows.set_column(0, "ms", milliseconds), path, options)
        self._process = subprocess.Popen(
            [str(FLINK_PYTHON), str(WORKER), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"JAVA_HOME": find_java_home(), "PATH": "/usr/bin:/bin"},
        )
        self.version: str = self._heard()["version"]

    def __enter__(self) -> Flink:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def prepare(self, asked: Sequence[Question]) -> None:
        pass

    def run(self, asked: Sequence[Question]) -> list[ByEnd]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([vars(question) for question in asked]) + "\n")
        self._process.stdin.flush()
        said = self._heard()
        if "error" in said:
            raise RuntimeError(said["error"])
        found: list[ByEnd] = [{} for _ in asked]
        for answers, rows in zip(found, said["rows"], strict=True):
            for end, *row in rows:
                answers.setdefault(end, []).append(tuple(row))
        return found

    def _heard(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"PyFlink ended with code {self._process.wait()}; run {WORKER.name} by hand to see why")
