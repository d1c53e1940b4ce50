"""What new records cost: pre-aggregation by Spark for all synopses of a stream, and the updates of the synopses.

    python -m benchmarks.ingest

- 1,000 queries in the yardstick's 8 groupings against 1 query, the longest, in each of them: Spark's pass over the
  records, and the coding and updates of the synopses in the driver.
- All 8 groupings in one pass (partial aggregates in the driver) against ONE plain Spark ``groupBy(interval, src)``
  with a sum over the same file, its result fetched as well. As in every micro-batch of the daemon and in all chunks of
  a replay but the first, it is known that Spark need not group the records first: no sample is looked at.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from benchmarks.measuring import Ratio, medians, print_ratios, print_table, rounds_of, save
from benchmarks.replaying import advance, by_interval, columns_of, conservative_engine
from benchmarks.yardstick import GROUPINGS, packets, questions, registered, stream
from queries.model import SparkSettings
from sharing.plan import StreamPlan, plan_stream
from spark_jobs.preaggregation import preaggregate_records
from spark_jobs.session import spark_session
from spark_jobs.sources import read_bounded


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--intervals", type=int, default=100)
    arguments.add_argument("--rate", type=int, default=30_000, help="records per interval")
    arguments.add_argument("--rounds", type=int, default=7)
    options = arguments.parse_args()
    rows = packets(options.intervals, options.rate)
    with tempfile.TemporaryDirectory() as folder, spark_session(SparkSettings(), "benchmark") as spark:
        pq.write_table(rows, f"{folder}/packets.parquet", row_group_size=1 << 19)
        frame = read_bounded(spark, stream(folder))
        assert frame.count() == rows.num_rows
        asked = questions(125)
        longest = [max((q for q in asked if q.keys == keys), key=lambda q: q.window) for keys in GROUPINGS]
        many, few = (plan_stream(stream(folder), registered(queries)) for queries in (asked, longest))
        assert many.needs == few.needs, "the queries of a group share one pre-aggregation"
        interval = F.expr("unix_micros(ts) DIV 1000000L").alias("interval")

        def plain() -> pa.Table:
            return frame.groupBy(interval, "src").agg(F.sum("length").alias("bytes")).toArrow()

        contenders: dict[str, Callable[[], Any]] = {
            "1,000 queries, Spark's pass": lambda: preaggregate_records(frame, many.stream, many.needs, grouped=False),
            "8 queries, Spark's pass": lambda: preaggregate_records(frame, few.stream, few.needs, grouped=False),
            "one groupBy(interval, src)": plain,
            "1,000 queries, updates": updates(frame, many, options.intervals),
            "8 queries, updates": updates(frame, few, options.intervals),
        }
        check(frame, few, plain())
        rounds_of(contenders, 2)
        times = rounds_of(contenders, options.rounds)
    wall, cpu = medians(times)
    parts = ("Spark's pass", "updates")
    many_s, few_s = (sum(wall[f"{count} queries, {part}"] for part in parts) for count in ("1,000", "8"))
    one_pass = wall["8 queries, Spark's pass"]
    ratios = [
        Ratio("ingest with 1,000 queries in 8 groups", "with 1 query in each", many_s / few_s, 1.1, at_most=True),
        Ratio(
            "pre-aggregation for all 8 groupings",
            "one plain Spark groupBy(interval, src)",
            one_pass / wall["one groupBy(interval, src)"],
            3.0,
            at_most=True,
        ),
    ]
    print(f"{rows.num_rows:,} records in {options.intervals} intervals")
    print_table(("", "seconds", "CPU seconds"), [(name, wall[name], cpu[name]) for name in wall])
    print_ratios(ratios)
    print(save("ingest", {"records": rows.num_rows, "seconds": wall, "cpu": cpu}, ratios))


def updates(frame: Any, plan: StreamPlan, intervals: int) -> Callable[[], None]:
    batch = preaggregate_records(frame, plan.stream, plan.needs)
    pieces = {
        need: by_interval(pa.concat_tables([table for of, table in batch.partials if of == need]), intervals)
        for need in plan.needs
    }

    def run() -> None:
        engine = conservative_engine(plan)
        while engine.now < intervals:
            advance(engine, pieces)

    return run


def check(frame: Any, plan: StreamPlan, plain: pa.Table) -> None:
    """The partial aggregates by src add up to what the plain query says."""
    batch = preaggregate_records(frame, plan.stream, plan.needs)
    (need,) = [need for need in plan.needs if [columns_of([need])[key] for key in need.keys] == ["src"]]
    tables = pa.concat_tables([table for of, table in batch.partials if of == need])
    place = next(n for n, component in enumerate(need.components) if type(component).__name__ == "Total")
    ours = tables.group_by(["interval", "k0"]).aggregate([(f"c{place}_0", "sum")])
    mine = sorted(zip(*(ours[name].to_pylist() for name in ("interval", "k0", f"c{place}_0_sum")), strict=True))
    theirs = sorted(zip(*(plain[name].to_pylist() for name in ("interval", "src", "bytes")), strict=True))
    assert mine == theirs


if __name__ == "__main__":
    main()
