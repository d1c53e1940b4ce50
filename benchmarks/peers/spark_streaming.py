"""Spark Structured Streaming: one query with a sliding ``window`` per registered query, over files.

Windows are final when the watermark has passed them (append mode); ``foreachBatch`` then takes the top 10 or the
quantile of each, as Structured Streaming sorts nothing by itself. State is in the JVM's heap, Spark's default. A few
large micro-batches are kinder to it than one per interval would be, which is what live answers need.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.window import Window

from benchmarks.peers.streams import ByEnd
from benchmarks.yardstick import SECOND, Question

FILES = 4
"""Each is one micro-batch."""


class SparkStreaming:
    name = "Spark Structured Streaming"

    def __init__(self, spark: SparkSession, rows: pa.Table, folder: Path) -> None:
        """``folder`` gets the records, and one that is later than all others: it ends the last windows."""
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.shuffle.partitions", str(os.cpu_count() or 1))
        self._folder = str(folder)
        each = -(-rows.num_rows // FILES)
        for number in range(FILES):
            pq.write_table(rows.slice(number * each, each), folder / f"{number}.parquet")
        newest = pa.compute.max(rows["ts"]).cast(pa.int64()).as_py() // SECOND + 1
        end = pa.array([newest * SECOND]).cast(rows["ts"].type)
        pq.write_table(rows.slice(0, 1).set_column(0, "ts", end), folder / f"{FILES}.parquet")
        self._schema = self._spark.read.parquet(self._folder).schema

    def prepare(self, asked: Sequence[Question]) -> None:
        pass

    def run(self, asked: Sequence[Question]) -> list[ByEnd]:
        found: list[ByEnd] = [{} for _ in asked]
        with TemporaryDirectory() as folder:
            queries = [self._started(question, answers, folder) for question, answers in zip(asked, found, strict=True)]
            for query in queries:
                query.awaitTermination()
        return found

    def _started(self, question: Question, found: ByEnd, checkpoints: str) -> StreamingQuery:
        files = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1).parquet(self._folder)
        window = F.window("ts", f"{question.window} seconds", f"{question.slide} seconds")
        sums = files.withWatermark("ts", "0 seconds").groupBy(window, *question.keys)

        def answered(batch: DataFrame, number: int) -> None:
            for end, *row in _answers(batch, question).collect():
                found.setdefault(end // SECOND, []).append(tuple(row))

        writing = sums.agg(F.sum("length").alias("bytes")).writeStream.outputMode("append").foreachBatch(answered)
        return writing.option("checkpointLocation", f"{checkpoints}/{question.name}").trigger(availableNow=True).start()


def _answers(batch: DataFrame, question: Question) -> Any:
    end = F.unix_micros("window.end").alias("end")
    if not question.top:
        return batch.groupBy(end).agg(F.expr("percentile_disc(0.9) WITHIN GROUP (ORDER BY bytes)"))
    order = Window.partitionBy("window").orderBy(F.desc("bytes"), *question.keys)
    ranked = batch.withColumn("rank", F.row_number().over(order)).where("rank <= 10")
    return ranked.select(end, *question.keys, "bytes", "rank").orderBy("end", "rank").drop("rank")
