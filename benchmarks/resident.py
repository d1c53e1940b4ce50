"""Synopses that live in Spark: many windows of many groups refreshed jointly, against one Spark query each.

    python -m benchmarks.resident                     # 1,000,000 groups × 100 intervals, 30 windows
    python -m benchmarks.resident --curves            # cost against groups and windows, plotted

The partials lie in the very files that a pre-aggregation job leaves. Contender one is the joint probe, one job. The
peer reads the same files with Spark SQL: per window one ``groupBy(key).agg(sum)`` and its top 10 or its exact
quantile. Of the 30 it runs a sample spread over all window lengths (``--separate 30`` runs all); its total is the
sample's mean times 30. Answers are compared before a time counts. Memory is the largest resident set of the driver's
process since it began to probe.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.measuring import Ratio, print_ratios, print_table, save
from benchmarks.yardstick import SCHEMA, stream
from queries.language import parse_query
from queries.model import Query, SparkSettings
from scheduler.resident import probe_jointly
from scheduler.resident_probe import Asked
from sharing.plan import StreamPlan, plan_stream
from spark_jobs.resident_store import ResidentStore
from spark_jobs.session import spark_session
from synopses.preaggregate import INTERVAL, key_name, part_name
from synopses.resident_files import write_file
from synopses.slots import SLOTS, slots_of

PARTS = 2
"""Files per interval, as two cores write them."""


def questions(windows: Sequence[int]) -> list[Query]:
    """Top 10 and quantile over the per-key sum of lengths, in turns."""
    types = {column.name: column.type for column in SCHEMA}
    made = []
    for number, window in enumerate(windows):
        inner = f"SELECT src, SUM(length) AS bytes FROM packets [WINDOW {window} s] GROUP BY src"
        sql = (
            f"{inner} ORDER BY bytes DESC LIMIT 10"
            if number % 2 == 0
            else f"SELECT QUANTILE(bytes, 0.9) AS q FROM ({inner})"
        )
        made.append(Query(f"q{number}", sql, parse_query(f"q{number}", sql, {"packets": types}), placement="spark"))
    return made


def spread(count: int, shortest: int, longest: int) -> list[int]:
    return [shortest + (longest - shortest) * number // max(1, count - 1) for number in range(count)]


def write_partials(store: ResidentStore, plan: StreamPlan, groups: int, intervals: int) -> None:
    """Every group in every interval, sums drawn at random; the columns of the one pre-aggregation there is."""
    (need,) = plan.needs
    chance = np.random.default_rng(7)
    keys = (np.arange(groups, dtype=np.int64) * 2_654_435_761) % (2**31 - 1)
    part = slots_of([pa.array(keys)], groups) * PARTS // SLOTS
    target = store.target("made")
    names = [component.__class__.__name__ for component in need.components]
    for interval in range(intervals):
        sums, rows = chance.integers(1, 100_000, groups), chance.integers(1, 5, groups)
        columns = {"Rows": rows, "Count": rows, "Total": sums}
        for number in range(PARTS):
            mine = part == number
            table = {INTERVAL: np.full(mine.sum(), interval), key_name(0): keys[mine]}
            table |= {part_name(place, 0): columns[name][mine] for place, name in enumerate(names)}
            file = write_file(f"{target.folder(need)}/{interval}", f"{number}", interval, interval + 1, pa.table(table))
            store.add([(need, file)])


def separate(spark: SparkSession, store: ResidentStore, plan: StreamPlan, asked: Asked) -> Any:
    """One query over the partials of its window, as its user would write it."""
    (need,) = plan.needs
    files = [file.path for file in store.files(need) if asked.start <= file.first < asked.end]
    total = next(place for place, part in enumerate(need.components) if type(part).__name__ == "Total")
    sums: DataFrame = spark.read.parquet(*files).groupBy("k0").agg(F.sum(part_name(total, 0)).alias("bytes"))
    if asked.plan.query.select.order:
        rows = sums.orderBy(F.desc("bytes"), "k0").limit(10).collect()
        return [(row["k0"], row["bytes"]) for row in rows]
    return sums.agg(F.expr("percentile_disc(0.9) WITHIN GROUP (ORDER BY bytes)").alias("q")).collect()[0]["q"]


def plain(table: pa.Table) -> Any:
    if table.num_columns == 1:
        return table.column(0)[0].as_py()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


class PeakMemory:
    """The driver's largest resident set while it is watched, in bytes."""

    def __enter__(self) -> PeakMemory:
        self.peak, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.peak = max(self.peak, pages * 4096)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def prepared(
    spark: SparkSession, folder: str, groups: int, windows: Sequence[int], intervals: int
) -> tuple[ResidentStore, StreamPlan, list[Asked]]:
    store = ResidentStore(spark, folder, "packets")
    plan = plan_stream(stream(), questions(windows))
    write_partials(store, plan, groups, intervals)
    return store, plan, [Asked(intervals, query) for query in plan.queries]


def joint(store: ResidentStore, plan: StreamPlan, asked: list[Asked]) -> tuple[float, list[Any]]:
    began = time.perf_counter()
    found = probe_jointly(store, plan.needs, asked)
    return time.perf_counter() - began, [plain(one.table) for one in found]


def compare(spark: SparkSession, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder, PeakMemory() as memory:
        windows = spread(options.windows, options.intervals // 5, options.intervals)
        store, plan, asked = prepared(spark, folder, options.groups, windows, options.intervals)
        sample = [asked[number] for number in spread(options.separate, 0, options.windows - 1)]
        joint(store, plan, asked[:1])
        separate(spark, store, plan, sample[0])
        memory.peak = 0
        together, alone = [], []
        for number in range(options.rounds):
            seconds, answers = joint(store, plan, asked)
            together.append(seconds)
            for one in sample if number == 0 else sample[:1]:
                began = time.perf_counter()
                found = separate(spark, store, plan, one)
                alone.append(time.perf_counter() - began) if number == 0 else None
                assert found == answers[asked.index(one)], (one.plan.query.sql, found, answers[asked.index(one)])
        peak = memory.peak
    total = mean(alone) * options.windows
    ratio = Ratio(
        f"{options.groups:,} groups × {options.intervals} intervals in Spark, {options.windows} windows jointly",
        "as many separate Spark queries over the same partials",
        total / median(together),
        10,
    )
    figures = {
        "groups": options.groups,
        "intervals": options.intervals,
        "joint seconds": together,
        "separate seconds": alone,
        "separate run": options.separate,
        "driver MB": peak / 1e6,
        "ratio": ratio.measured,
    }
    print_table(("figure", "value"), [(name, str(value)) for name, value in figures.items()])
    print_ratios([ratio])
    print("written to", save("resident", figures, [ratio]))


def curves(spark: SparkSession, options: argparse.Namespace) -> None:
    """Groups from 10^4 to 10^6.5 with 30 windows, and windows from 1 to 30 with a million groups; 32 intervals."""
    by_groups, by_windows = [], []
    for groups in (10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278):
        with tempfile.TemporaryDirectory() as folder:
            store, plan, asked = prepared(spark, folder, groups, range(3, 33), 32)
            joint(store, plan, asked[:1])
            by_groups.append((groups, median(joint(store, plan, asked)[0] for _ in range(options.rounds))))
            if groups == 1_000_000:
                for count in (1, 2, 5, 10, 20, 30):
                    some = [asked[-1 - 30 * number // count] for number in range(count)]
                    by_windows.append((count, median(joint(store, plan, some)[0] for _ in range(options.rounds))))
    print_table(("groups", "seconds, 30 windows"), by_groups)
    print_table(("windows", "seconds, 1,000,000 groups"), by_windows)
    path = save("resident_curves", {"by groups": by_groups, "by windows": by_windows})
    _plot(by_groups, by_windows, path.with_suffix(".svg"))
    print("written to", path, "and", path.with_suffix(".svg"))


def _plot(by_groups: list[tuple[int, float]], by_windows: list[tuple[int, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.loglog(*zip(*by_groups, strict=True), marker="o")
    left.set(xlabel="groups", ylabel="seconds", title="30 windows of up to 32 intervals, one job")
    right.plot(*zip(*by_windows, strict=True), marker="o")
    right.set(xlabel="windows refreshed jointly", ylim=(0, None), title="1,000,000 groups × 32 intervals")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--intervals", type=int, default=100)
    parser.add_argument("--windows", type=int, default=30)
    parser.add_argument("--separate", type=int, default=4, help="how many of the windows the peer runs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--curves", action="store_true")
    options = parser.parse_args()
    settings = SparkSettings(master="local[2]", conf=(("spark.driver.memory", "2g"),))
    with spark_session(settings, "hemiola benchmark") as spark:
        curves(spark, options) if options.curves else compare(spark, options)


if __name__ == "__main__":
    main()
