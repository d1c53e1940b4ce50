"""240 periodic queries refreshed by Hemiola, against the same refreshes as one query each.

    python -m benchmarks.shared_refresh --rate 3000

200 intervals are replayed and the second half is counted: every refresh on the exact slide grid, by everyone, and all
answers compared before a time counts. Hemiola's time has everything after pre-aggregation (which is Spark's, see
``benchmarks.ingest``): coding the partials, updates, probes, post-processing, results committed to SQLite. The peers
query tables in memory and keep nothing. They answer a seeded sample of the refreshes; rates are per refresh.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.measuring import Ratio, Time, print_ratios, print_table, save, timed
from benchmarks.replaying import conservative_engine, opened, prepared, replay
from benchmarks.yardstick import SECOND, Question, packets, questions, registered, stream
from queries.model import SparkSettings
from results import ResultsStore
from scheduler.engine import Answer, Engine
from sharing.plan import StreamPlan, plan_stream

INTERVALS = 200
OURS = "Hemiola"
SPARK = "Spark SQL, cached"
STEPS = 10
"""Parts that the second half is cut into. Everyone does a part in turn: what else the machine does then hits all."""
Asked = tuple[Question, int]
"""A question as of an update."""
Step = Callable[[int], None]


class Hemiola:
    """The engine and the results store, fed with the partial aggregates of one interval after the other."""

    def __init__(self, rows: pa.Table, asked: list[Question]) -> None:
        self.queries = registered(asked)
        self.plan = _on_their_own_grid(plan_stream(stream(), self.queries))
        self.partials = prepared(rows, self.plan.needs, INTERVALS)
        self.answers: dict[tuple[str, int], pa.Table] = {}
        self.engine: Engine | None = None

    def first_half(self) -> None:
        """Fills the synopses; not counted."""
        self.engine = conservative_engine(self.plan)
        self._run(INTERVALS // 2, None)

    def second_half(self, store: ResultsStore) -> None:
        for step in range(STEPS):
            self.step(store, step)

    def step(self, store: ResultsStore, step: int) -> None:
        """The next part of the second half."""
        self._run(INTERVALS // 2 + (step + 1) * INTERVALS // 2 // STEPS, store)

    def _run(self, until: int, store: ResultsStore | None) -> None:
        assert self.engine is not None
        keep = self._keep if store is not None else None
        replay(self.engine, self.partials, until, store, keep)

    def _keep(self, answer: Answer) -> None:
        self.answers[answer.query, answer.window_end // SECOND] = answer.table


def _on_their_own_grid(plan: StreamPlan) -> StreamPlan:
    """Identical queries of other slides refreshed when due, instead of whenever the most frequent is: every peer
    refreshes on the exact slide grid."""
    return replace(plan, queries=tuple(replace(query, output_slide=None) for query in plan.queries))


def duckdb_answer(connection: duckdb.DuckDBPyConnection, table: str, asked: Asked) -> list[tuple[Any, ...]]:
    question, end = asked
    keys = ", ".join(question.keys)
    window = f"t >= {end - question.window} AND t < {end}"
    inner = f"SELECT {keys}, SUM(length) AS bytes FROM {table} WHERE {window} GROUP BY {keys}"
    sql = (
        f"{inner} ORDER BY bytes DESC, {keys} LIMIT 10"
        if question.top
        else f"SELECT quantile_disc(bytes, 0.9) FROM ({inner})"
    )
    return connection.execute(sql).fetchall()


def polars_answer(frame: pl.DataFrame, asked: Asked) -> list[tuple[Any, ...]]:
    question, end = asked
    window = frame.lazy().filter((pl.col("t") >= end - question.window) & (pl.col("t") < end))
    grouped = window.group_by(question.keys).agg(pl.col("length").sum().alias("bytes"))
    if not question.top:
        rank = (0.9 * pl.len()).ceil().cast(pl.Int64) - 1
        return grouped.select(pl.col("bytes").sort().get(rank)).collect().rows()
    order = ["bytes", *question.keys]
    down = [True] + [False] * len(question.keys)
    return grouped.sort(order, descending=down).head(10).select([*question.keys, "bytes"]).collect().rows()


def peers(rows: pa.Table, sample: list[Asked], hemiola: Hemiola) -> dict[str, Step]:
    """Each peer as a function that answers a step's part of the sample; all its answers were found equal to ours."""
    timed = rows.append_column("t", pc.divide(rows["ts"].cast(pa.int64()), SECOND)).drop_columns(["ts"])
    connection = duckdb.connect()
    connection.register("arrow", timed)
    connection.execute("CREATE TABLE raw AS SELECT * FROM arrow")
    for question in {q.keys: q for q, _ in sample}.values():
        keys = ", ".join(question.keys)
        name = "rollup_" + "_".join(question.keys)
        connection.execute(
            f"CREATE TABLE {name} AS SELECT t, {keys}, SUM(length) AS length FROM raw GROUP BY t, {keys}"
        )
    frame = pl.from_arrow(timed)
    assert isinstance(frame, pl.DataFrame)

    def checked(answer: Callable[[Asked], list[tuple[Any, ...]]]) -> Step:
        for asked in sample:
            got = [tuple(int(value) for value in row) for row in answer(asked)]
            expected = [tuple(row.values()) for row in hemiola.answers[asked[0].name, asked[1]].to_pylist()]
            if got != expected:
                raise AssertionError(f"{asked}: {got} against {expected}")

        def run(step: int) -> None:
            for asked in sample[step::STEPS]:
                answer(asked)

        return run

    return {
        "DuckDB, raw rows": checked(lambda asked: duckdb_answer(connection, "raw", asked)),
        "DuckDB, rollups": checked(lambda asked: duckdb_answer(connection, "rollup_" + "_".join(asked[0].keys), asked)),
        "Polars, raw rows": checked(lambda asked: polars_answer(frame, asked)),
    }


def spark_rate(rows: pa.Table, sample: list[Asked]) -> float:
    """Refreshes per second of Spark SQL on cached data."""
    from spark_jobs.session import spark_session

    timed = rows.append_column("t", pc.divide(rows["ts"].cast(pa.int64()), SECOND)).drop_columns(["ts"])
    with spark_session(SparkSettings(), "benchmark") as spark, tempfile.TemporaryDirectory() as folder:
        pq.write_table(timed, f"{folder}/rows.parquet")
        spark.read.parquet(f"{folder}/rows.parquet").cache().createOrReplaceTempView("raw")
        spark.sql("SELECT COUNT(*) FROM raw").collect()

        def run(asked: Asked) -> None:
            question, end = asked
            keys = ", ".join(question.keys)
            window = f"t >= {end - question.window} AND t < {end}"
            inner = f"SELECT {keys}, SUM(length) AS bytes FROM raw WHERE {window} GROUP BY {keys}"
            top = f"{inner} ORDER BY bytes DESC, {keys} LIMIT 10"
            quantile = f"SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY bytes) FROM ({inner})"
            spark.sql(top if question.top else quantile).collect()

        for asked in sample[:3]:
            run(asked)
        began = perf_counter()
        for asked in sample[3:]:
            run(asked)
        return (len(sample) - 3) / (perf_counter() - began)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rate", type=int, default=3000, help="records per interval")
    arguments.add_argument("--sample", type=int, default=200, help="refreshes each peer answers in a round")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--spark-sample", type=int, default=40, help="refreshes Spark SQL answers")
    arguments.add_argument("--no-spark", action="store_true")
    options = arguments.parse_args()
    rows, asked = packets(INTERVALS, options.rate), questions()
    grid = [
        (question, end)
        for question in asked
        for end in range(INTERVALS // 2 + 1, INTERVALS + 1)
        if end % question.slide == 0
    ]
    hemiola = Hemiola(rows, asked)
    hemiola.first_half()
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), hemiola.queries) as store:
        hemiola.second_half(store)
    missing = [asked for asked in grid if (asked[0].name, asked[1]) not in hemiola.answers]
    assert not missing, missing[:3]
    sample = Random(3).sample(grid, min(options.sample, len(grid)))
    others = peers(rows, sample, hemiola)
    chance = Random(4)
    walls: dict[str, list[float]] = {}
    cpus: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        hemiola.first_half()
        with tempfile.TemporaryDirectory() as folder, opened(Path(folder), hemiola.queries) as store:
            contenders: dict[str, Step] = {OURS: partial(hemiola.step, store), **others}
            times: dict[str, list[Time]] = {name: [] for name in contenders}
            for step in range(STEPS):
                for name in chance.sample(list(contenders), len(contenders)):
                    times[name].append(timed(partial(contenders[name], step)))
        for name, taken in times.items():
            count = len(grid) if name == OURS else len(sample)
            walls.setdefault(name, []).append(count / sum(time.wall for time in taken))
            cpus.setdefault(name, []).append(count / sum(time.cpu for time in taken))
    rates = {name: median(values) for name, values in walls.items()}
    per_cpu = {name: median(values) for name, values in cpus.items()}
    compared = [name for name in rates if name != OURS and (options.rate < 30_000 or "raw" in name)]
    fastest = max(compared, key=lambda name: rates[name])
    what, asked_for = f"shared refresh, {options.rate:,} records per interval", 25.0 if options.rate >= 30_000 else 5.0
    ratios = [Ratio(what, f"{fastest} (the fastest)", rates[OURS] / rates[fastest], asked_for)]
    if not options.no_spark:
        rates[SPARK] = spark_rate(rows, sample[: options.spark_sample + 3])
        ratios.append(Ratio(what, SPARK, rates[OURS] / rates[SPARK], 200.0))
    print(f"{len(grid)} refreshes, {options.rate} records per interval; answers of the peers equal Hemiola's")
    print_table(
        ("", "refreshes/s", "Hemiola is faster by", "refreshes per CPU second"),
        [(name, rate, rates[OURS] / rate, per_cpu.get(name, "")) for name, rate in rates.items()],
    )
    print_ratios(ratios)
    figures = {"refreshes": len(grid), "rate": options.rate, "rates": rates, "per_cpu_second": per_cpu, "rounds": walls}
    print(save(f"shared_refresh_{options.rate}", figures, ratios))


if __name__ == "__main__":
    main()
