"""Numbered tasks on Spark whose messages meet by target: one job, no rows of records, everything in Arrow.

For work that is Hemiola's own code over files (``scheduler.resident_probe``): Spark places the tasks, runs them again
where an executor is lost, and carries the messages between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.session import wrap_spark_errors

_SCHEMA = "target INT, about STRING, payload BINARY"
_ARROW = pa.schema([("target", pa.int32()), ("about", pa.string()), ("payload", pa.binary())])


Message = tuple[int, str, bytes]
"""For whoever handles this target (any number from 0 on); what it is about; its content."""
Produce = Callable[[int], Iterable[Message]]
Consume = Callable[[Sequence[Message]], Iterable[Message]]


def map_reduce(
    spark: SparkSession, tasks: int, produce: Produce, consume: Sequence[Consume], partitions: int, doing: str
) -> list[Message]:
    """Runs ``produce(0…tasks−1)``; then for each of ``consume`` all messages of a target meet in one call, which gets
    the messages of some targets. What the last one says comes back."""
    if not tasks:
        return []
    with wrap_spark_errors(doing):
        frame = spark.range(0, tasks, 1, tasks).mapInArrow(_producer(produce), _SCHEMA)
        for function in consume:
            frame = frame.repartitionById(partitions, frame["target"] % partitions)
            frame = frame.mapInArrow(_consumer(function), _SCHEMA)
        found = frame.toArrow()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def _producer(produce: Produce) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from map(_batch, produce(task))

    return work


def _consumer(consume: Consume) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = [row for batch in batches for row in zip(*(column.to_pylist() for column in batch), strict=True)]
        if messages:
            yield from map(_batch, consume(messages))

    return work


def _batch(message: Message) -> pa.RecordBatch:
    columns = [pa.array([value], field.type) for value, field in zip(message, _ARROW, strict=True)]
    return pa.record_batch(columns, schema=_ARROW)
