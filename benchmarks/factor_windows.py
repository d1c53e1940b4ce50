"""MIN and MAX over windows that are multiples of each other: all sharing off against the shared plan.

    python -m benchmarks.factor_windows

The setting of Factor Windows (correlated windows, aggregates that do not subtract): 20 windows of 10, 20, … 200
intervals, MIN and MAX over each, per device, every query refreshed every 10 intervals. Without sharing every query has
its own pre-aggregation, its own synopsis and its own probe; with sharing there is one of each. Everything but Spark and
the results table is timed: pre-aggregation (the Arrow kernel that Spark's workers run), coding, updates, probes,
answers. Both give the same answers, compared one by one.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

from benchmarks.measuring import Ratio, medians, print_ratios, print_table, rounds_of, save
from benchmarks.replaying import conservative_engine, prepared, replay
from benchmarks.yardstick import SECOND
from queries.language import parse_query
from queries.model import Column, Query, Source, Stream
from queries.types import Type
from scheduler.engine import Answer
from sharing.plan import StreamPlan, plan_stream, plan_unshared

INTERVALS = 400
STREAM = Stream(
    "sensors",
    Source("parquet", None),
    (Column("ts", Type.TIMESTAMP), Column("device", Type.INT), Column("reading", Type.INT)),
    "ts",
    SECOND,
)


def queries(windows: int) -> tuple[Query, ...]:
    schemas = {"sensors": {column.name: column.type for column in STREAM.schema}}
    made = []
    for length in range(10, 10 * windows + 1, 10):
        for function in ("MIN", "MAX"):
            name = f"{function.lower()}_{length}"
            sql = f"SELECT device, {function}(reading) AS x FROM sensors [WINDOW {length} s SLIDE 10 s] GROUP BY device"
            made.append(Query(name, sql, parse_query(name, sql, schemas)))
    return tuple(made)


def readings(rate: int, devices: int) -> pa.Table:
    chance = np.random.default_rng(7)
    rows = INTERVALS * rate
    return pa.table(
        {
            "ts": pa.array(np.arange(rows, dtype=np.int64) * SECOND // rate).cast(pa.timestamp("us", tz="UTC")),
            "device": chance.integers(0, devices, rows, dtype=np.int32),
            "reading": chance.integers(-(10**6), 10**6, rows, dtype=np.int32),
        }
    )


def run(plans: tuple[StreamPlan, ...], rows: pa.Table) -> dict[tuple[str, int], pa.Table]:
    answers: dict[tuple[str, int], pa.Table] = {}

    def keep(answer: Answer) -> None:
        answers[answer.query, answer.window_end] = answer.table

    for plan in plans:
        replay(conservative_engine(plan), prepared(rows, plan.needs, INTERVALS), INTERVALS, answered=keep)
    return answers


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--windows", type=int, default=20, help="window lengths; MIN and MAX of each")
    arguments.add_argument("--rate", type=int, default=5000, help="records per interval")
    arguments.add_argument("--devices", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    rows, asked = readings(options.rate, options.devices), queries(options.windows)
    shared, unshared = (plan_stream(STREAM, asked),), plan_unshared(STREAM, asked)
    with_sharing, without = run(shared, rows), run(unshared, rows)
    assert with_sharing.keys() == without.keys()
    for asked_for, table in with_sharing.items():
        assert table.sort_by("device").equals(without[asked_for].sort_by("device")), asked_for
    contenders = {"sharing on": lambda: run(shared, rows), "sharing off": lambda: run(unshared, rows)}
    times = rounds_of(contenders, options.rounds)
    wall, cpu = medians(times)
    what = f"all sharing off, {len(asked)} MIN/MAX queries over windows that are multiples of each other"
    ratio = Ratio(what, "itself with sharing", wall["sharing off"] / wall["sharing on"], 16.8)
    print(f"{len(with_sharing):,} refreshes of {rows.num_rows:,} records, the same answers")
    print_table(("", "seconds", "CPU seconds"), [(name, wall[name], cpu[name]) for name in wall])
    print_ratios([ratio])
    print(save("factor_windows", {"refreshes": len(with_sharing), "seconds": wall, "cpu": cpu}, [ratio], wall))


if __name__ == "__main__":
    main()
