"""Raw rows with everything that makes aggregates go wrong: NULLs, ties, gaps, negative and huge numbers."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2026, 3, 1, 12, 0, 3, tzinfo=UTC)
SECONDS = 200
SCHEMA = (
    "ts TIMESTAMP, src STRING, dst STRING, protocol STRING, port INT, length BIGINT, score DOUBLE, "
    "flag BOOLEAN, day DATE"
)


def events(rows: int = 3000, seed: int = 11) -> pa.Table:
    """Rows over 200 s with two gaps longer than the shortest windows."""
    chance = random.Random(seed)
    records = []
    for _ in range(rows):
        second = chance.uniform(0, SECONDS)
        if 60 <= second < 83 or 120 <= second < 126:
            continue
        huge = chance.choice([2**62, -(2**62), 2**63 - 1, -(2**63)]) if second > 90 else 10**9
        records.append(
            {
                "ts": START + timedelta(microseconds=int(second * 1e6)),
                "src": chance.choice(["a", "ab", "b", "ça", "z", "", None]),
                "dst": chance.choice(["d11", "d21", "d3", "e1", "e2", None]),
                "protocol": chance.choice(["TCP", "TCP", "UDP", "ICMP", None]),
                "port": chance.choice([None, *range(40)]),
                "length": chance.choice([None, 0, 1, -5, 40, 1500, chance.randrange(-(10**6), 10**6), huge]),
                "score": chance.choice([None, 0.0, 1.5, chance.gauss(0, 100), chance.random() * 1e-6]),
                "flag": chance.choice([True, False, None]),
                "day": chance.choice([date(2026, 2, 28), date(2026, 3, 1), date(1969, 12, 31), None]),
            }
        )
    types = [pa.timestamp("us", tz="UTC"), *[pa.string()] * 3, pa.int32(), pa.int64(), pa.float64(), pa.bool_()]
    names = ["ts", "src", "dst", "protocol", "port", "length", "score", "flag", "day"]
    return pa.Table.from_pylist(records, schema=pa.schema(list(zip(names, [*types, pa.date32()], strict=True))))


def write_parquet(table: pa.Table, folder: Path, files: int = 3) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    step = -(-table.num_rows // files)
    for number in range(files):
        pq.write_table(table.slice(number * step, step), folder / f"part-{number}.parquet")
