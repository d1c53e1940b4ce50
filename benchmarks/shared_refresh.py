"""240 periodic queries refreshed by Hemiola, against the same refreshes as one query each.

    python -m benchmarks.shared_refresh --rate 3000

200 intervals are replayed and the second half is counted: every refresh on the exact slide grid, by everyone, and all
answers compared before a time counts. (Hemiola refreshes a query more often where that is free; only the grid counts.) Hemiola's time has everything after pre-aggregation (which is Spark's, see
``benchmarks.ingest``): coding the partials, updates, probes, post-processing, results committed to SQLite. The peers
query tables in memory and keep nothing. They answer a seeded sample of the refreshes; rates are per refresh.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.measuring import print_table, save, side_by_side
from benchmarks.yardstick import SECOND, Question, packets, questions, registered, stream
from results import Refresh, StreamProgress, Update, open_store
from scheduler.clocks import VirtualClock
from scheduler.cost import CostModel
from scheduler.engine import Engine
from scheduler.policies import make_policy
from sharing.plan import plan_stream
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate

INTERVALS = 200
Asked = tuple[Question, int]
"""A question as of an update."""


class Hemiola:
    """The engine and the results store, fed with the partial aggregates of one interval after the other."""

    def __init__(self, rows: pa.Table, asked: list[Question]) -> None:
        self.queries = registered(asked)
        self.plan = plan_stream(stream(), self.queries)
        records = rows.append_column(INTERVAL, pc.divide(rows["ts"].cast(pa.int64()), SECOND))
        columns = {value: value.columns[0] for need in self.plan.needs for value in need.values}
        self.partials = {need: _by_interval(preaggregate(records, columns, need)) for need in self.plan.needs}
        self.answers: dict[tuple[str, int], pa.Table] = {}
        self.engine: Engine | None = None

    def first_half(self) -> None:
        """Fills the synopses; not counted."""
        policy = make_policy("conservative", "off")
        self.engine = Engine(self.plan, policy, CostModel(), VirtualClock(), start=0, seen_from=0)
        self._run(INTERVALS // 2, None)

    def second_half(self, folder: Path) -> None:
        with open_store(f"sqlite:///{folder}/results.db") as store:
            store.register(self.queries, 0)
            self._run(INTERVALS, store)

    def _run(self, until: int, store: Any) -> None:
        assert self.engine is not None
        engine = self.engine
        while engine.now < until:
            for need, tables in self.partials.items():
                engine.ingest(need, tables[engine.now])
            engine.update()
            refreshes = []
            while (answers := engine.run_next()) is not None:
                refreshes += answers
            if store is not None:
                store.commit(
                    Update(
                        StreamProgress("packets", SECOND, engine.now * SECOND),
                        tuple(Refresh(**vars(answer)) for answer in refreshes),
                    )
                )
                self.answers |= {(answer.query, engine.now): answer.table for answer in refreshes}


def _by_interval(partials: pa.Table) -> list[pa.Table]:
    ordered = partials.sort_by(INTERVAL)
    intervals = ordered[INTERVAL].to_numpy()
    starts = [int(i) for i in intervals.searchsorted(range(INTERVALS + 1))]
    return [ordered.slice(a, b - a) for a, b in zip(starts, starts[1:], strict=False)]


def duckdb_answer(connection: duckdb.DuckDBPyConnection, table: str, asked: Asked) -> list[tuple[Any, ...]]:
    question, end = asked
    keys = ", ".join(question.keys)
    inner = f"SELECT {keys}, SUM(length) AS bytes FROM {table} WHERE t >= {end - question.window} AND t < {end} GROUP BY {keys}"
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


def peers(rows: pa.Table, sample: list[Asked], hemiola: Hemiola) -> dict[str, Callable[[], None]]:
    """Each peer as a function that answers the sample."""
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

    def checked(answer: Callable[[Asked], list[tuple[Any, ...]]]) -> Callable[[], None]:
        def run() -> None:
            for asked in sample:
                got = answer(asked)
                expected = [tuple(row.values()) for row in hemiola.answers[asked[0].name, asked[1]].to_pylist()]
                if [tuple(int(v) for v in row) for row in got] != expected:
                    raise AssertionError(f"{asked}: {got} against {expected}")

        return run

    return {
        "DuckDB, raw rows": checked(lambda asked: duckdb_answer(connection, "raw", asked)),
        "DuckDB, rollups": checked(lambda asked: duckdb_answer(connection, "rollup_" + "_".join(asked[0].keys), asked)),
        "Polars, raw rows": checked(lambda asked: polars_answer(frame, asked)),
    }


def spark_rate(rows: pa.Table, sample: list[Asked]) -> float:
    """Refreshes per second of Spark SQL on cached data."""
    from time import perf_counter

    from queries.model import SparkSettings
    from spark_jobs.session import spark_session

    timed = rows.append_column("t", pc.divide(rows["ts"].cast(pa.int64()), SECOND)).drop_columns(["ts"])
    with spark_session(SparkSettings(), "benchmark") as spark, tempfile.TemporaryDirectory() as folder:
        import pyarrow.parquet as pq

        pq.write_table(timed, f"{folder}/rows.parquet")
        spark.read.parquet(f"{folder}/rows.parquet").cache().createOrReplaceTempView("raw")
        spark.sql("SELECT COUNT(*) FROM raw").collect()

        def run(asked: Asked) -> None:
            question, end = asked
            keys = ", ".join(question.keys)
            inner = f"SELECT {keys}, SUM(length) AS bytes FROM raw WHERE t >= {end - question.window} AND t < {end} GROUP BY {keys}"
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
    with tempfile.TemporaryDirectory() as folder:
        hemiola.second_half(Path(folder))
    missing = [asked for asked in grid if (asked[0].name, asked[1]) not in hemiola.answers]
    assert not missing, missing[:3]
    sample = Random(3).sample(grid, min(options.sample, len(grid)))
    rates: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        hemiola.first_half()
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            seconds = side_by_side({"Hemiola": lambda: hemiola.second_half(place), **peers(rows, sample, hemiola)}, 1)
        for name, taken in seconds.items():
            rates.setdefault(name, []).append((len(grid) if name == "Hemiola" else len(sample)) / taken)
    medians = {name: sorted(values)[len(values) // 2] for name, values in rates.items()}
    if not options.no_spark:
        medians["Spark SQL, cached"] = spark_rate(rows, sample[:43])
    print(f"{len(grid)} refreshes, {options.rate} records per interval; answers of the peers equal Hemiola's")
    ours = medians["Hemiola"]
    print_table(("", "refreshes/s", "Hemiola is faster by"), [(n, r, ours / r) for n, r in medians.items()])
    print(save(f"shared_refresh_{options.rate}", {"refreshes": len(grid), "rates": medians}))


if __name__ == "__main__":
    main()
