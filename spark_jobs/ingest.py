"""Ingest: one stateless Structured Streaming query per stream; each micro-batch becomes one durable batch file.

The file is written before Spark hears that the batch is done, so Spark replays at most the newest one, and a batch
whose file exists is not read again. What was decided about a batch (which of its records were late) is in the file.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from queries.errors import RunError
from queries.model import Stream
from spark_jobs.file_source_log import files_of_batch, forget_old_files, max_file_age_ms
from spark_jobs.live_sources import FILE_FORMATS, read_files, read_live
from spark_jobs.preaggregation import Batch, preaggregate_records
from spark_jobs.raw_records import retaining
from spark_jobs.resident_store import ResidentStore
from spark_jobs.session import wrap_spark_errors
from synopses.event_time import EventTime
from synopses.partials_store import BatchHeader, PartialsStore, StoredBatch, Totals, describe_need
from synopses.preaggregate import Preaggregation

logger = logging.getLogger(__name__)

_SHORTEST_TRIGGER, _LONGEST_TRIGGER = 0.2, 10.0
_ATTEMPTS = 3
"""How often a batch is tried before its unreadable files are set aside."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_POOL = "spark.scheduler.pool"
"""A pool for each stream: a free place goes to a micro-batch before it goes to another task of a long backfill."""
_FORGET_EVERY = 1000
"""Batches between two looks at what Spark's log of files holds for nothing."""

_LIKE_GLOB_OR_URL = re.compile(r"[*?{\[]|^\w+:")

Deliver = Callable[[StoredBatch], None]


class StreamIngest:
    """Reads one stream until ``stop``. ``deliver`` gets each batch once it is durable, on Spark's thread.

    ``error`` is the reason why nothing comes in at present; reading is tried again for ever, at growing pauses.
    """

    def __init__(
        self,
        spark: SparkSession,
        stream: Stream,
        store: PartialsStore,
        event_time: EventTime,
        folders: tuple[Path, Path],
        deliver: Deliver,
        resident: ResidentStore,
    ) -> None:
        """``folders``: of Spark's checkpoint and of raw records. ``resident``: where partials that stay in Spark go."""
        self.stream, self.store, self.event_time, self._resident = stream, store, event_time, resident
        self.needs: tuple[Preaggregation, ...] = ()
        self.batch_seconds = 0.0
        self._spark, self._deliver = spark, deliver
        self._checkpoint, self._raw = folders
        self._run = uuid.uuid4().hex[:8]
        self._query: StreamingQuery | None = None
        self._stopping = threading.Event()
        self._failures = 0
        self._stopped_by: str | None = None
        self._failed_with: str | None = None
        self._thread = threading.Thread(target=self._supervise, name=f"ingest-{stream.name}", daemon=True)

    @property
    def error(self) -> str | None:
        path = self.stream.source.path
        if path is not None and not _LIKE_GLOB_OR_URL.search(path) and not os.path.exists(path):
            return f"stream {self.stream.name}: there is nothing at {path}"
        return self._stopped_by

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Cancels the batch that is being read; it will be read again."""
        self._stopping.set()
        if self._query is not None:
            try:
                self._query.stop()
            except Exception as error:  # the JVM may be gone already
                logger.info("stream %s: Spark is gone already (%s)", self.stream.name, type(error).__name__)

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _supervise(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._query = self._started()
                with wrap_spark_errors(f"stream {self.stream.name}"):
                    self._query.awaitTermination()
            except Exception as error:
                if not self._stopping.is_set():
                    self._stopped_by = self._failed_with or str(error).splitlines()[0]
                    logger.warning("%s; reading will be tried again", self._stopped_by)
            pause = _FIRST_PAUSE if time.monotonic() - began > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
            self._stopping.wait(pause)

    def _started(self) -> StreamingQuery:
        trigger = min(max(self.stream.interval / 1e6, _SHORTEST_TRIGGER), _LONGEST_TRIGGER)
        with wrap_spark_errors(f"stream {self.stream.name}"):
            self._spark.sparkContext.setLocalProperty(_POOL, f"hemiola-{self.stream.name}")
            writer = read_live(self._spark, self.stream).writeStream.foreachBatch(self._on_batch)
            writer = writer.queryName(f"hemiola-{self.stream.name}-{self._run}").trigger(
                processingTime=f"{round(trigger * 1000)} milliseconds"
            )
            return writer.option("checkpointLocation", str(self._checkpoint)).start()

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        if batch in self.store or self._stopping.is_set():
            if self._stopping.is_set():
                raise RunError("stopping")
            return
        began = time.monotonic()
        closed_before = self.event_time.begin(batch)
        known = None
        try:
            stored = self._read(frame, batch, closed_before)
            self.store.write(stored)
            known = self.event_time.after(stored.header.newest)
        except Exception as error:
            self._failed_with = str(error).splitlines()[0]
            raise
        finally:
            self.event_time.end(batch, known, time.monotonic_ns() // 1000)
            self._failures = 0 if known is not None else self._failures + 1
        self._stopped_by = self._failed_with = None
        self.batch_seconds = time.monotonic() - began
        self._deliver(stored)
        if batch % _FORGET_EVERY == 0 and self.stream.source.format in FILE_FORMATS:
            self._forget_old_files()

    def _forget_old_files(self) -> None:
        age = max_file_age_ms(self.stream)
        try:
            if age is not None and (count := forget_old_files(self._checkpoint, age)):
                logger.info("stream %s: %d files older than maxFileAge are forgotten", self.stream.name, count)
        except (OSError, ValueError, KeyError) as error:
            logger.warning("stream %s: old files stay in Spark's log: %s", self.stream.name, error)

    def _read(self, frame: DataFrame, batch: int, closed_before: int | None) -> StoredBatch:
        needs = self.needs
        raw = f"{batch:012d}-{self._run}-{self._failures}"
        unreadable: list[pa.Table] = []
        if self._failures >= _ATTEMPTS and self.stream.source.format in FILE_FORMATS:
            frame, unreadable = self._without_unreadable_files(frame, batch)
        records = retaining(frame, self.stream, self._raw / raw, closed_before)
        target = self._resident.target(raw)
        done = preaggregate_records(records, self.stream, needs, grouped=False, resident=target)
        header = self._header(batch, done, raw, needs, closed_before, len(unreadable))
        return StoredBatch(header, done.partials, [*done.rejects, *unreadable], done.files)

    def _header(
        self,
        batch: int,
        done: Batch,
        raw: str,
        needs: Sequence[Preaggregation],
        closed_before: int | None,
        unreadable: int,
    ) -> BatchHeader:
        before = self.store.newest() or BatchHeader(-1)
        rejected = done.rejected + unreadable
        totals = Totals(
            before.totals.records + done.records,
            before.totals.late + done.late,
            before.totals.malformed + rejected - done.late,
        )
        known = self.event_time.after(done.newest_us)
        s = self.stream.interval
        seen = [time for time in (before.seen_from, done.oldest_us) if time is not None]
        return BatchHeader(
            batch=batch,
            totals=totals,
            records=done.records,
            rejected=rejected,
            closed_before=closed_before,
            watermark=known.watermark,
            newest=known.newest,
            seen_from=min(seen, default=None),
            first=None if done.oldest_us is None else done.oldest_us // s,
            last=None if done.newest_us is None else done.newest_us // s,
            raw=raw if done.records else None,
            needs=tuple(describe_need(need) for need in needs),
            files=tuple((needs.index(need), self._resident.named(file)) for need, file in done.files),
        )

    def _without_unreadable_files(self, frame: DataFrame, batch: int) -> tuple[DataFrame, list[pa.Table]]:
        """The batch without the files that cannot be read, and those as rejects: their names, and why."""
        good: list[str] = []
        rejects = []
        for path in files_of_batch(self._checkpoint, batch):
            try:
                with wrap_spark_errors():
                    preaggregate_records(read_files(self._spark, self.stream, [path]), self.stream, ())
                good.append(path)
            except RunError as error:
                logger.error("stream %s: %s is set aside: %s", self.stream.name, path, error.message)
                rejects.append(pa.table({"reason": [f"unreadable file: {error.message}"], "record": [path]}))
        if not rejects:
            return frame, []
        if not good:
            return self._spark.createDataFrame([], frame.schema), rejects
        return read_files(self._spark, self.stream, good), rejects
