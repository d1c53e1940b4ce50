"""One Spark job over a chunk of records: partial aggregates for everything the stream's synopses need.

Spark evaluates every filter, key and argument once per record (whole-stage SQL); its Python workers then group the
Arrow batches for all pre-aggregations in the same pass and hand back Arrow tables, one per pre-aggregation and
worker flush, as bytes. No record reaches the driver, nothing runs per record in Python, and the source is read once
however many groupings there are. Where that shrinks the records, Spark groups them itself (``spark_jobs.grouping``)
and the driver does the workers' part, over the few rows that are left: no Python worker sees a record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import ArithmeticException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from queries.errors import RunError
from queries.model import Microseconds, Scalar, Stream, Value
from spark_jobs.grouping import Grouping, grouping_of, shrinks
from spark_jobs.partial_rows import ROW, decoded, encoded, row
from spark_jobs.raw_records import LATE as LATE_COLUMN
from spark_jobs.resident_partials import FILE, ResidentTarget, described_file, scattered, written
from spark_jobs.session import wrap_spark_errors
from spark_jobs.sources import CORRUPT
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate
from synopses.resident_files import ResidentFile

_FLUSH_ROWS = 1 << 19
"""Records a worker gathers before it groups them: large enough to shrink, small enough to hold."""
_REJECTED, _TIME = "rejected", "event_us"
"""Of a row handed to a worker."""
_UNUSABLE, _OLDEST, _NEWEST, _RECORDS = "unusable", "oldest_us", "newest_us", "records"
"""Of a row that Spark has grouped: whether its records are to be rejected, from when to when and how many they are."""
LATE = "late"
"""The reason of a record whose interval was closed before it came."""
_BETWEEN = ": "
"""Between the reason and the record of a rejected one; no reason has it."""
_REJECTS, _COUNTED = -1, -2
_MOST_REJECTS = 10_000
"""Malformed records kept per flush; all are counted."""


@dataclass
class Batch:
    """The outcome of one job: partial aggregates by pre-aggregation, and what could not be used.

    ``oldest_us`` and ``newest_us`` are the event times of the ``records`` used, None without any; of the ``rejected``
    ones ``late`` came after their interval was closed.
    """

    needs: tuple[Preaggregation, ...] = ()
    """What was computed, whether or not there was anything of it."""
    partials: list[tuple[Preaggregation, pa.Table]] = field(default_factory=list)
    files: list[tuple[Preaggregation, ResidentFile]] = field(default_factory=list)
    """Partials of needs that are resident in Spark, left in files by the job."""
    records: int = 0
    rejected: int = 0
    rejects: list[pa.Table] = field(default_factory=list)
    late: int = 0
    oldest_us: Microseconds | None = None
    newest_us: Microseconds | None = None
    grouped: bool = False
    """Whether Spark has grouped the records, instead of the workers."""


def preaggregate_records(
    frame: DataFrame,
    stream: Stream,
    needs: Sequence[Preaggregation],
    grouped: bool | None = None,
    resident: ResidentTarget | None = None,
) -> Batch:
    """Runs the job. ``frame`` has the stream's declared columns (``spark_jobs.sources``); records that a column
    ``raw_records.LATE`` says are late are among the rejected ones. ``grouped``: whether Spark is to group the records
    itself if it can; None looks at some of them, which computes these twice. ``resident``: where the partials of needs
    that are resident in Spark go."""
    columns = {value: f"v{number}" for number, value in enumerate(_distinct_values(needs))}
    try:
        with wrap_spark_errors(f"stream {stream.name}: the records could not be pre-aggregated"):
            grouping = None if grouped is False else grouping_of(needs, columns)
            if grouping is not None:
                batch = _grouped_by_spark(frame, stream, needs, columns, grouping, grouped)
                if batch is not None:
                    return batch
            records = frame.select(*_projection(frame, stream, columns))
            return _run(records, stream, needs, columns, resident)
    except RunError as error:
        culprit = _failing(frame, columns)
        if culprit is None:
            raise
        raise RunError(f"{error.message} (in the expression {culprit})", hint=error.hint) from error


def _grouped_by_spark(
    frame: DataFrame,
    stream: Stream,
    needs: Sequence[Preaggregation],
    columns: dict[Value, str],
    grouping: Grouping,
    grouped: bool | None,
) -> Batch | None:
    """None if that does not shrink the records, or if a sum leaves 64 bits, which only the workers' may."""
    unusable = F.expr(f"({_reason(frame, stream)}) IS NOT NULL")
    records = frame.select(F.expr(_event_us(stream)).alias(_TIME), unusable.alias(_UNUSABLE), *_values(columns))
    by = [F.expr(f"{_TIME} - pmod({_TIME}, {stream.interval}L)"), F.col(_UNUSABLE), *map(F.col, grouping.by)]
    if grouped is None and not shrinks(records, by):
        return None
    groups = records.groupBy(*by).agg(
        F.min(_TIME).alias(_OLDEST),
        F.max(_TIME).alias(_NEWEST),
        F.count(F.lit(1)).alias(_RECORDS),
        *(F.expr(value.name).alias(grouping.columns[value]) for value in grouping.aggregates),
    )
    try:
        table = groups.select(_UNUSABLE, _OLDEST, _NEWEST, _RECORDS, *grouping.columns.values()).toArrow()
    except ArithmeticException:
        return None
    batch = _of_groups(table, stream, needs, grouping)
    if pc.any(table[_UNUSABLE]).as_py():
        kept = frame.where(unusable).select(*_projection(frame, stream, {}))
        rejected = _run(kept, stream, (), {}, None)
        batch.rejected, batch.late, batch.rejects = rejected.rejected, rejected.late, rejected.rejects
    return batch


def _of_groups(table: pa.Table, stream: Stream, needs: Sequence[Preaggregation], grouping: Grouping) -> Batch:
    """What the workers would make of the records, from Spark's groups of them."""
    table = table.filter(pc.invert(table[_UNUSABLE])).combine_chunks()
    batch = Batch(tuple(needs), records=pc.sum(table[_RECORDS]).as_py() or 0, grouped=True)
    if not table.num_rows:
        return batch
    batch.oldest_us, batch.newest_us = pc.min(table[_OLDEST]).as_py(), pc.max(table[_NEWEST]).as_py()
    intervals = np.floor_divide(table[_OLDEST].to_numpy(), stream.interval)
    table = table.append_column(INTERVAL, pa.array(intervals))
    for need, over_groups in zip(needs, grouping.needs, strict=True):
        partials = preaggregate(table, grouping.columns, over_groups)
        if partials.num_rows:
            batch.partials.append((need, partials))
    return batch


def _run(
    records: DataFrame,
    stream: Stream,
    needs: Sequence[Preaggregation],
    columns: dict[Value, str],
    resident: ResidentTarget | None,
) -> Batch:
    """The workers' job, over projected records."""
    worker = _worker(tuple(needs), columns, stream.interval, 1 if resident is None else resident.parts)
    grouped = records.mapInArrow(worker, ROW)
    if resident is not None and any(need.resident for need in needs):
        grouped = written(grouped, needs, resident)
    answers = grouped.drop("part").toArrow()
    batch = Batch(tuple(needs))
    partials: list[tuple[Preaggregation, bytes]] = []
    for need, payload, count in zip(*(answers[name].to_pylist() for name in answers.column_names), strict=True):
        if need == FILE:
            batch.files.append(described_file(payload, needs))
        elif need == _COUNTED:
            batch.records += count
            _note(batch, json.loads(payload))
        elif need == _REJECTS:
            batch.rejected += count
            batch.rejects.append(decoded(payload))
        else:
            partials.append((needs[need], payload))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Arrow lets go of the interpreter
        tables = pool.map(decoded, (payload for _, payload in partials))
        batch.partials = [(need, table) for (need, _), table in zip(partials, tables, strict=True)]
    return batch


def _failing(frame: DataFrame, columns: dict[Value, str]) -> str | None:
    """The first expression that Spark cannot evaluate on these records; None if the fault lies elsewhere."""
    try:
        with wrap_spark_errors():
            frame.select(F.count(F.lit(1))).collect()
    except RunError:
        return None
    for value in columns:
        assert isinstance(value, Scalar)
        try:
            with wrap_spark_errors():
                frame.select(F.count(F.expr(value.sql))).collect()
        except RunError:
            return value.sql.replace("`", "")
    return None


def _note(batch: Batch, counted: dict[str, int | None]) -> None:
    batch.late += counted["late"] or 0
    if counted["oldest"] is not None and counted["newest"] is not None:
        batch.oldest_us = min(counted["oldest"], counted["oldest"] if batch.oldest_us is None else batch.oldest_us)
        batch.newest_us = max(counted["newest"], counted["newest"] if batch.newest_us is None else batch.newest_us)


def rejected_records(frame: DataFrame, stream: Stream) -> list[pa.Table]:
    """The records that cannot be placed (malformed, or without event time): tables of ``reason`` and ``record``."""
    bad = F.col(f"`{stream.time}`").isNull()
    if CORRUPT in frame.columns:
        bad = bad | F.col(CORRUPT).isNotNull()
    return preaggregate_records(frame.where(bad), stream, ()).rejects


def _distinct_values(needs: Sequence[Preaggregation]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(value for need in needs for value in need.values))


def _projection(frame: DataFrame, stream: Stream, columns: dict[Value, str]) -> list[Column]:
    """The event time, for records that cannot be used the reason and the record, and the values. As little as can be:
    most of the job's time goes into handing columns to the workers. Nothing in it may change from batch to batch:
    Spark would compile it anew every time."""
    reason = _reason(frame, stream)
    names = [name.replace("`", "``") for name in frame.columns if name != LATE_COLUMN]
    record = f"to_json(struct({', '.join(f'`{name}`' for name in names)}))"
    if CORRUPT in frame.columns:
        record = f"coalesce(`{CORRUPT}`, {record})"
    rejected = f"CASE WHEN ({reason}) IS NOT NULL THEN concat({reason}, '{_BETWEEN}', {record}) END"
    return [F.expr(_event_us(stream)).alias(_TIME), F.expr(rejected).alias(_REJECTED), *_values(columns)]


def _event_us(stream: Stream) -> str:
    return f"unix_micros(CAST(`{stream.time}` AS TIMESTAMP))"


def _reason(frame: DataFrame, stream: Stream) -> str:
    """Why a record cannot be used; NULL if it can."""
    late = f" WHEN `{LATE_COLUMN}` THEN '{LATE}'" if LATE_COLUMN in frame.columns else ""
    reason = f"CASE WHEN `{stream.time}` IS NULL THEN 'no event time'{late} END"
    if CORRUPT in frame.columns:
        reason = f"CASE WHEN `{CORRUPT}` IS NOT NULL THEN 'malformed' ELSE {reason} END"
    return reason


def _values(columns: dict[Value, str]) -> list[Column]:
    projected = []
    for value, name in columns.items():
        assert isinstance(value, Scalar)
        projected.append(F.expr(f"CAST(({value.sql}) AS {value.type.value})").alias(name))
    return projected


def _worker(
    needs: tuple[Preaggregation, ...], columns: dict[Value, str], interval: Microseconds, parts: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            gathered.append(batch)
            rows += batch.num_rows
            if rows >= _FLUSH_ROWS:
                yield from _flush(gathered, needs, columns, interval, parts)
                gathered, rows = [], 0
        if gathered:
            yield from _flush(gathered, needs, columns, interval, parts)

    return work


def _flush(
    gathered: list[pa.RecordBatch],
    needs: tuple[Preaggregation, ...],
    columns: dict[Value, str],
    interval: Microseconds,
    parts: int,
) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches(gathered)
    late = 0
    if table[_REJECTED].null_count < table.num_rows:
        rejected = table[_REJECTED].drop_null()
        late = pc.sum(pc.starts_with(rejected, LATE + _BETWEEN)).as_py()
        table = table.filter(table[_REJECTED].is_null())
        yield row(_REJECTS, encoded(_split(rejected.slice(0, _MOST_REJECTS))), len(rejected))
    counted = {"late": late, "oldest": pc.min(table[_TIME]).as_py(), "newest": pc.max(table[_TIME]).as_py()}
    yield row(_COUNTED, json.dumps(counted).encode(), table.num_rows)
    if not table.num_rows:
        return
    table = table.drop_columns([_REJECTED]).combine_chunks()
    intervals = np.floor_divide(table[_TIME].to_numpy(), interval)
    table = table.append_column(INTERVAL, pa.array(intervals))
    for number, need in enumerate(needs):
        partials = preaggregate(table, columns, need)
        if not partials.num_rows:
            continue
        if need.resident:
            for part, some in scattered(partials, len(need.keys), parts):
                yield row(number, encoded(some), some.num_rows, part)
        else:
            yield row(number, encoded(partials), table.num_rows)


def _split(rejected: pa.ChunkedArray) -> pa.Table:
    halves = pc.split_pattern(rejected, _BETWEEN, max_splits=1)
    return pa.table({"reason": pc.list_element(halves, 0), "record": pc.list_element(halves, 1)})
