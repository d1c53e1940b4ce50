"""The yardstick workload of the dissertation's section 8.5: packets, 8 groupings, 30 queries each.

Shared by the benchmarks; seeded, so that everyone answers the same questions over the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from queries.language import parse_query
from queries.model import Column, Query, Source, Stream
from queries.types import Type

SECOND = 1_000_000
GROUPINGS: tuple[tuple[str, ...], ...] = (
    ("src",), ("dst",), ("src", "dst"), ("protocol",), ("port",), ("protocol", "port"), ("src", "protocol"),
    ("dst", "port"),
)  # fmt: skip
SCHEMA = (
    Column("ts", Type.TIMESTAMP),
    Column("src", Type.INT),
    Column("dst", Type.INT),
    Column("protocol", Type.INT),
    Column("port", Type.INT),
    Column("length", Type.BIGINT),
)


@dataclass(frozen=True)
class Question:
    """One periodic query, in intervals; ``top`` or ``quantile`` over the per-key sum of lengths."""

    name: str
    keys: tuple[str, ...]
    window: int
    slide: int
    top: bool

    @property
    def sql(self) -> str:
        keys = ", ".join(self.keys)
        window = f"[WINDOW {self.window} s SLIDE {self.slide} s]"
        inner = f"SELECT {keys}, SUM(length) AS bytes FROM packets {window} GROUP BY {keys}"
        return (
            f"{inner} ORDER BY bytes DESC LIMIT 10" if self.top else f"SELECT QUANTILE(bytes, 0.9) AS q FROM ({inner})"
        )


def questions(per_group: int = 30, seed: int = 85) -> list[Question]:
    """Windows of 20 to 100 intervals, slides from 1 to half the window, alternating top 10 and quantile."""
    chance = Random(seed)
    made = []
    for group, keys in enumerate(GROUPINGS):
        for number in range(per_group):
            window = chance.randint(20, 100)
            made.append(Question(f"q{group}_{number}", keys, window, chance.randint(1, window // 2), number % 2 == 0))
    return made


def packets(intervals: int, rate: int, seed: int = 85) -> pa.Table:
    """``rate`` packets per interval of one second; skewed: 1,000 sources, destinations, 100 protocols, ports."""
    chance = np.random.default_rng(seed)
    rows = intervals * rate

    def skewed(size: int) -> np.ndarray:
        return (size * chance.random(rows) ** 2).astype(np.int32)

    times = np.arange(rows, dtype=np.int64) * SECOND // rate
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
            "src": skewed(1000),
            "dst": skewed(1000),
            "protocol": skewed(100),
            "port": skewed(100),
            "length": chance.integers(40, 1500, rows),
        }
    )


def stream(path: str | None = None) -> Stream:
    return Stream("packets", Source("parquet", path), SCHEMA, "ts", SECOND)


def registered(asked: list[Question]) -> tuple[Query, ...]:
    schemas = {"packets": {column.name: column.type for column in SCHEMA}}
    return tuple(Query(q.name, q.sql, parse_query(q.name, q.sql, schemas)) for q in asked)
