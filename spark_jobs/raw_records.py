"""Retained raw records: what a micro-batch brought and could be used, as Parquet, for backfill and audit.

They are written by the Spark tasks that read the batch, on their way to pre-aggregation, so that the source is read
once. A run that dies leaves a folder that no batch file names; it is removed later.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from queries.model import Microseconds, Stream
from spark_jobs.sources import CORRUPT

LATE = "_late"
"""Whether a record's interval was closed before it came; not known (NULL) of one without event time."""


def retaining(frame: DataFrame, stream: Stream, folder: Path, closed_before: int | None) -> DataFrame:
    """The same frame with a column ``LATE``: of an interval before ``closed_before``. When it is computed, its usable
    records are left in ``folder``.

    What is late is found in the Python worker: ``closed_before`` is another in every batch, and as a literal in an
    expression it would have Spark generate, compile and load new classes every time.
    """
    schema = StructType([*frame.schema.fields, StructField(LATE, BooleanType())])
    bound = None if closed_before is None else closed_before * stream.interval
    columns = tuple(column.name for column in stream.schema)
    return frame.mapInArrow(_worker(str(folder), columns, stream.time, bound), schema)


def _worker(
    folder: str, columns: Sequence[str], time: str, bound: Microseconds | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        writer, path = None, os.path.join(folder, f"part-{context.partitionId():05d}.parquet")
        temporary = f"{path}.{context.taskAttemptId()}.tmp"
        for batch in batches:
            late = _late(batch[time], bound)
            usable = pc.fill_null(pc.invert(late), False)
            if CORRUPT in batch.schema.names:
                usable = pc.and_(usable, batch[CORRUPT].is_null())
            kept = pa.Table.from_batches([batch.filter(usable)]).select(columns)
            if kept.num_rows:
                if writer is None:
                    os.makedirs(folder, exist_ok=True)
                    writer = pq.ParquetWriter(temporary, kept.schema, compression="lz4")
                writer.write_table(kept)
            yield batch.append_column(LATE, late)
        if writer is not None:
            writer.close()
            os.replace(temporary, path)

    return work


def _late(times: pa.Array, bound: Microseconds | None) -> pa.Array:
    micros = times.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return pc.less(micros, np.iinfo(np.int64).min if bound is None else bound)


def read_retained(spark: SparkSession, stream: Stream, folders: Sequence[Path]) -> DataFrame | None:
    """The records in these folders, in the stream's declared columns; None if there are none."""
    files = [str(path) for folder in folders for path in sorted(folder.glob("part-*.parquet"))]
    if not files:
        return None
    return spark.read.parquet(*files).select(*[F.col(f"`{column.name}`") for column in stream.schema])


def remove_retained(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
