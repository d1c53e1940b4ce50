"""A small stream for plans: its schema, its rows, and a shorthand for queries over it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from queries.language import parse_query
from queries.model import Column, Query, Source, Stream
from queries.types import Type

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS = 40
SECOND = 1_000_000
TYPES = {
    "ts": Type.TIMESTAMP,
    "src": Type.STRING,
    "protocol": Type.STRING,
    "usr": Type.STRING,
    "port": Type.INT,
    "length": Type.BIGINT,
    "score": Type.DOUBLE,
    "flag": Type.BOOLEAN,
}
STREAM = Stream(
    "events", Source("parquet", "data"), tuple(Column(*pair) for pair in TYPES.items()), "ts", interval=SECOND
)


def query(name: str, sql: str, **settings: object) -> Query:
    """A query whose ``@w/p`` stands for the stream with a window of w and a slide of p seconds."""
    head, _, rest = sql.partition("@")
    lengths, _, tail = rest.partition(" ")
    window, slide = lengths.split("/")
    full = f"{head}events [WINDOW {window} s SLIDE {slide} s] {tail}".strip()
    return Query(name, full, parse_query(name, full, {"events": TYPES}), **settings)  # type: ignore[arg-type]


def queries(texts: Iterable[tuple[str, str]]) -> tuple[Query, ...]:
    return tuple(query(name, sql) for name, sql in texts)


def rows(count: int = 400, seed: int = 1) -> pa.Table:
    chance = random.Random(seed)
    records = []
    for _ in range(count):
        second = chance.uniform(0, SECONDS)
        if 20 <= second < 24:
            continue
        records.append(
            {
                "ts": START + timedelta(microseconds=int(second * 1e6)),
                "src": chance.choice(["a", "b", "c", None]),
                "protocol": chance.choice(["TCP", "TCP", "UDP", "ICMP", None]),
                "usr": chance.choice(["U", "V", None]),
                "port": chance.choice([None, *range(10)]),
                "length": chance.choice([None, 0, -5, 40, 1500, 2**62, chance.randrange(-1000, 1000)]),
                "score": chance.choice([None, 0.0, 1.5, chance.gauss(0, 100)]),
                "flag": chance.choice([True, False, None]),
            }
        )
    types = [pa.timestamp("us", tz="UTC"), *[pa.string()] * 3, pa.int32(), pa.int64(), pa.float64(), pa.bool_()]
    return pa.Table.from_pylist(records, schema=pa.schema(list(zip(TYPES, types, strict=True))))
