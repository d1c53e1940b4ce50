"""Partials that stay in Spark: handed from the workers that compute them to those that write them, by slots.

The pre-aggregation job goes on for one more stage: the partials of all its workers meet by ranges of slots, each
(interval, group) becomes one, and each interval one file per range (``synopses.resident_files``). The driver hears the
files' names; they count from when it has made these durable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from spark_jobs.partial_rows import ROW, decoded, row
from synopses.partials_store import describe_need
from synopses.preaggregate import Preaggregation, key_name
from synopses.resident_files import ResidentFile, folder_name, write_intervals
from synopses.slots import SLOTS, slots_of

FILE = -3
"""In the place of a need: the row describes a file."""


@dataclass(frozen=True)
class ResidentTarget:
    """``root``: the folder of a stream. ``name``: what the job's files are called, unlike those of any other job.
    ``parts``: by how many tasks they are written."""

    root: str
    name: str
    parts: int

    def folder(self, need: Preaggregation) -> str:
        return f"{self.root}/{folder_name(describe_need(need))}"


def scattered(partials: pa.Table, keys: int, parts: int) -> Iterator[tuple[int, pa.Table]]:
    """The partials by the range of slots they belong to."""
    columns = [partials[key_name(place)].combine_chunks() for place in range(keys)]
    part = slots_of(columns, partials.num_rows) * parts // SLOTS
    for number in np.unique(part):
        yield int(number), partials.filter(pa.array(part == number))


def written(rows: DataFrame, needs: Sequence[Preaggregation], target: ResidentTarget) -> DataFrame:
    """The rows that are not partials of resident needs, and one for each file that these were written to."""
    return rows.repartitionById(target.parts, rows["part"]).mapInArrow(_writer(tuple(needs), target), ROW)


def described_file(payload: bytes, needs: Sequence[Preaggregation]) -> tuple[Preaggregation, ResidentFile]:
    fields = json.loads(payload)
    return needs[fields.pop("need")], ResidentFile(**fields)


def _writer(
    needs: tuple[Preaggregation, ...], target: ResidentTarget
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered: dict[int, list[pa.Table]] = {}
        for batch in batches:
            others = []
            for at, number in enumerate(batch["need"].to_pylist()):
                if number >= 0 and needs[number].resident:
                    gathered.setdefault(number, []).append(decoded(batch["payload"][at].as_py()))
                else:
                    others.append(at)
            if others:
                yield batch.take(pa.array(others))
        context = TaskContext.get()
        assert context is not None
        name = f"{target.name}-{context.partitionId()}-{context.taskAttemptId()}"
        for number, tables in gathered.items():
            for file in write_intervals(target.folder(needs[number]), name, needs[number], tables):
                yield row(FILE, json.dumps({"need": number, **asdict(file)}).encode(), file.rows)

    return work
