"""Making blocks of merged intervals (``synopses.resident_blocks``), as a job of its own when nothing else is to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.map_reduce import Message, map_reduce
from synopses.preaggregate import INTERVAL, Preaggregation
from synopses.resident_blocks import by_span, covering
from synopses.resident_files import ResidentFile, concatenated, merged_by_interval, read_file, write_file
from synopses.slots import SLOTS


@dataclass(frozen=True)
class Block:
    """Intervals ``[first, last)`` to be merged, out of ``files``; ``folder`` is that of their pre-aggregation."""

    need: Preaggregation
    folder: str
    first: int
    last: int
    files: tuple[ResidentFile, ...]


def block_of(need: Preaggregation, folder: str, files: Sequence[ResidentFile], first: int, last: int) -> Block:
    return Block(need, folder, first, last, tuple(covering(by_span(files), first, last)))


def make_blocks(spark: SparkSession, blocks: Sequence[Block], parts: int) -> list[tuple[Preaggregation, ResidentFile]]:
    """One job; each block is written by ``parts`` tasks."""
    work = _Work(tuple(blocks), parts)
    made = map_reduce(spark, len(blocks) * parts, work, (), parts, "intervals could not be merged into blocks")
    return [(blocks[number].need, ResidentFile(**json.loads(about))) for number, about, _ in made]


@dataclass(frozen=True)
class _Work:
    blocks: tuple[Block, ...]
    parts: int

    def __call__(self, task: int) -> Iterator[Message]:
        number, part = divmod(task, self.parts)
        block = self.blocks[number]
        low, high = SLOTS * part // self.parts, SLOTS * (part + 1) // self.parts
        tables = []
        for file in block.files:
            if file.low < high and low < file.high:
                table = read_file(file, low, high)
                at = pa.array(np.full(table.num_rows, block.first, dtype=np.int64))
                tables.append(table.set_column(table.column_names.index(INTERVAL), INTERVAL, at))
        if not tables:
            return
        for _, table in merged_by_interval(block.need, [concatenated(tables)] if len(tables) == 1 else tables):
            name = f"block-{block.last}-{part}-{uuid4().hex[:8]}"  # another attempt may be writing its own
            file = write_file(f"{block.folder}/{block.first}", name, block.first, block.last, table)
            yield number, json.dumps(asdict(file)), b""
