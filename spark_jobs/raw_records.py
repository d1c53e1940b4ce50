"""Retained raw records: what a micro-batch brought and could be used, as Parquet, for backfill and audit.

They are written by the Spark tasks that read the batch, on their way to pre-aggregation, so that the source is read
once. A run that dies leaves a folder that no batch file names; it is removed later.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from queries.model import Stream
from spark_jobs.sources import CORRUPT

_KEEP = "_keep"


def retaining(frame: DataFrame, stream: Stream, folder: Path, closed_before: int | None) -> DataFrame:
    """The same frame; when it is computed, its usable records are left in ``folder``."""
    time = F.col(f"`{stream.time}`")
    keep = time.isNotNull()
    if CORRUPT in frame.columns:
        keep = keep & F.col(CORRUPT).isNull()
    if closed_before is not None:
        keep = keep & (F.unix_micros(time) >= F.lit(closed_before * stream.interval))
    flagged = frame.withColumn(_KEEP, F.coalesce(keep, F.lit(False)))
    return flagged.mapInArrow(_worker(str(folder), tuple(column.name for column in stream.schema)), frame.schema)


def _worker(folder: str, columns: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        writer, path = None, os.path.join(folder, f"part-{context.partitionId():05d}.parquet")
        temporary = f"{path}.{context.taskAttemptId()}.tmp"
        for batch in batches:
            kept = pa.Table.from_batches([batch.filter(batch[_KEEP])]).select(columns)
            if kept.num_rows:
                if writer is None:
                    os.makedirs(folder, exist_ok=True)
                    writer = pq.ParquetWriter(temporary, kept.schema, compression="lz4")
                writer.write_table(kept)
            yield batch.drop_columns([_KEEP])
        if writer is not None:
            writer.close()
            os.replace(temporary, path)

    return work


def read_retained(spark: SparkSession, stream: Stream, folders: Sequence[Path]) -> DataFrame | None:
    """The records in these folders, in the stream's declared columns; None if there are none."""
    files = [str(path) for folder in folders for path in sorted(folder.glob("part-*.parquet"))]
    if not files:
        return None
    return spark.read.parquet(*files).select(*[F.col(f"`{column.name}`") for column in stream.schema])


def remove_retained(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
