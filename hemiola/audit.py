"""The self-check: a share of refreshes computed again from the retained raw records, sharing nothing.

Each audited refresh is one Spark job over the raw records of its window, for a plan of that query alone, on a thread
that takes one at a time and drops what it cannot keep up with: auditing never delays a refresh.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from hemiola.status import time_text
from hemiola.stream_runtime import StreamRuntime
from queries.model import Query, Stream
from scheduler.engine import Answer
from scheduler.execution import execute
from sharing.plan import plan_stream
from spark_jobs.preaggregation import preaggregate_records
from spark_jobs.raw_records import read_retained
from synopses.stream_synopses import StreamSynopses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

AUDIT_TAG = "hemiola-audit"
_MOST_WAITING = 100
_APPROXIMATE = ("APPROX_", "TOP_K_LISTS")

Report = Callable[[str, str | None], None]
"""Called with a query's name and, if its answer was wrong, in what."""


class Auditor:
    def __init__(self, spark: SparkSession, share: float, stopping: threading.Event, report: Report) -> None:
        self._spark, self._share, self._stopping, self._report = spark, share, stopping, report
        self._waiting: queue.Queue[tuple[StreamRuntime, Query, Answer]] = queue.Queue(_MOST_WAITING)
        threading.Thread(target=self._work, name="audit", daemon=True).start()

    def consider(self, runtime: StreamRuntime, answers: Sequence[Answer]) -> None:
        queries = {query.name: query for query in runtime.queries}
        for answer in answers:
            query = queries.get(answer.query)
            if query is None or not answer.complete or not _chosen(answer, self._share) or not _exact(query):
                continue
            try:
                self._waiting.put_nowait((runtime, query, answer))
            except queue.Full:
                return

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                runtime, query, answer = self._waiting.get(timeout=0.5)
            except queue.Empty:
                continue
            try:
                self._spark.sparkContext.addJobTag(AUDIT_TAG)
                folders = _folders(runtime, answer)
                if folders is not None:
                    naive = recomputed(self._spark, runtime.stream, query, answer, folders)
                    self._report(query.name, difference(query.name, answer, naive))
            except Exception as error:
                if not self._stopping.is_set():
                    logger.warning("query %s could not be audited: %s", query.name, error)


def _chosen(answer: Answer, share: float) -> bool:
    digest = sha256(f"{answer.query} {answer.window_end}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def _exact(query: Query) -> bool:
    return not any(call.function.upper().startswith(_APPROXIMATE) for call in query.select.leaf.aggregates)


def _folders(runtime: StreamRuntime, answer: Answer) -> list[Path] | None:
    """The raw records of the answer's window; None if they are not all kept any more."""
    s = runtime.stream.interval
    first, end = answer.window_start // s, answer.window_end // s
    headers = runtime.store.headers()
    if not headers or (headers[0].batch > 0 and (headers[0].first or 0) > first):
        return None
    folders = []
    for header in headers:
        if (
            header.raw is None
            or header.first is None
            or header.last is None
            or header.last < first
            or header.first >= end
        ):
            continue
        folder = runtime.state.raw(runtime.stream.name) / header.raw
        if not folder.is_dir():
            return None
        folders.append(folder)
    return folders


def recomputed(spark: SparkSession, stream: Stream, query: Query, answer: Answer, folders: Sequence[Path]) -> pa.Table:
    """The answer from the raw records of its window, by a plan of this query alone."""
    plan = plan_stream(stream, [query])
    synopses = StreamSynopses(plan.synopses)
    frame = read_retained(spark, stream, folders)
    if frame is not None:
        time = F.col(f"`{stream.time}`")
        within = (time >= F.timestamp_micros(F.lit(answer.window_start))) & (
            time < F.timestamp_micros(F.lit(answer.window_end))
        )
        for need, table in preaggregate_records(frame.where(within), stream, plan.needs).partials:
            synopses.ingest(need, table)
    for interval in range(answer.window_start // stream.interval, answer.window_end // stream.interval):
        synopses.close(interval)
    return execute(synopses, plan.queries)[query.name]


def difference(query: str, answer: Answer, naive: pa.Table) -> str | None:
    """In what the answer differs from the recomputed one; None if it does not."""
    got, wanted = (sorted(map(_sortable, table.to_pylist())) for table in (answer.table, naive))
    if len(got) == len(wanted) and all(_alike(a, b) for a, b in zip(got, wanted, strict=True)):
        return None
    end = time_text(answer.window_end)
    return f"query {query} as of {end} has {len(got)} rows that differ from the {len(wanted)} computed again"


def _sortable(row: dict[str, Any]) -> tuple[tuple[bool, str, Any], ...]:
    return tuple(
        (value is None, f"{value:.6g}" if isinstance(value, float) else str(value), _Value(value))
        for value in row.values()
    )


class _Value:
    """Takes no part in sorting."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: object) -> bool:
        return False


def _alike(got: Sequence[tuple[bool, str, Any]], wanted: Sequence[tuple[bool, str, Any]]) -> bool:
    return all(_same(a[2].value, b[2].value) for a, b in zip(got, wanted, strict=True))


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(got, float) and isinstance(wanted, float):
        return math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(got) and math.isnan(wanted))
    return bool(got == wanted)
