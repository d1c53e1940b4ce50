"""1,000 SUM/COUNT/AVG/MIN/MAX queries with range predicates, refreshed once, against re-running them from raw rows.

    python -m benchmarks.many_predicates                                   # 1,000 queries, 20 million events
    python -m benchmarks.many_predicates --constants 1 --events 2000000    # 100 queries, 2 million events

5 aggregates × 10 window lengths × the constants c of ``p < c`` × with and without GROUP BY (100 keys). Hemiola's time
is everything from the raw rows to the answers: one Spark job over cached rows that pre-aggregates for all synopses
(``spark_jobs.preaggregation``), coding, 100 updates, one joint refresh. DuckDB has the rows as a table in memory and
runs one query after the other, each on all cores; Polars has them as a frame and runs all in one ``collect_all``, on
its in-memory or its streaming engine, whichever was faster when tried. At 1,000 queries the peers run a seeded sample
and are extrapolated in proportion: all ten queries of some (window, predicate), so that what ``collect_all`` can share
among them it can share in the sample too. Every answer of a peer is compared with Hemiola's.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import Ratio, print_ratios, print_table, rounds_of, save, timed
from benchmarks.replaying import by_interval, conservative_engine, refreshed, with_intervals
from benchmarks.yardstick import SECOND
from queries.language import parse_query
from queries.model import Column, Query, Source, SparkSettings, Stream
from queries.types import Type
from sharing.plan import StreamPlan, plan_stream
from spark_jobs.preaggregation import preaggregate_records
from spark_jobs.session import spark_session
from spark_jobs.sources import read_bounded
from synopses.preaggregate import INTERVAL

INTERVALS = 100
SCHEMA = (
    Column("ts", Type.TIMESTAMP),
    Column("k", Type.INT),
    Column("p", Type.INT),
    Column("v", Type.INT),
)
FUNCTIONS = ("SUM", "COUNT", "AVG", "MIN", "MAX")


@dataclass(frozen=True)
class Question:
    name: str
    function: str
    window: int
    below: int
    grouped: bool

    def query(self) -> Query:
        keys, group = ("k, ", " GROUP BY k") if self.grouped else ("", "")
        source = f"events [WINDOW {self.window} s SLIDE {INTERVALS} s]"
        sql = f"SELECT {keys}{self.function}(v) AS x FROM {source} WHERE p < {self.below}{group}"
        return Query(self.name, sql, parse_query(self.name, sql, {"events": {c.name: c.type for c in SCHEMA}}))


def questions(constants: int) -> list[Question]:
    bounds = [1000 * (number + 1) // (constants + 1) for number in range(constants)]
    return [
        Question(f"{function}_{window}_{bound}_{'k' if grouped else 'all'}".lower(), function, window, bound, grouped)
        for function in FUNCTIONS
        for window in range(10, INTERVALS + 1, 10)
        for bound in bounds
        for grouped in (False, True)
    ]


def events(rows: int) -> pa.Table:
    chance = np.random.default_rng(11)
    times = np.arange(rows, dtype=np.int64) * INTERVALS // rows * SECOND
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
            "k": chance.integers(0, 100, rows, dtype=np.int32),
            "p": chance.integers(0, 1000, rows, dtype=np.int32),
            "v": chance.integers(-1000, 100_000, rows, dtype=np.int32),
        }
    )


class Hemiola:
    """From cached rows to the answers of all queries; ``parts`` says where the last run's seconds went."""

    def __init__(self, spark: Any, path: str, asked: list[Question]) -> None:
        stream = Stream("events", Source("parquet", path), SCHEMA, "ts", SECOND)
        began = perf_counter()
        self.plan: StreamPlan = plan_stream(stream, [question.query() for question in asked])
        self.planning = perf_counter() - began
        self.frame = read_bounded(spark, stream).cache()
        self.frame.count()
        self.answers: dict[str, pa.Table] = {}
        self.parts: dict[str, float] = {}

    def run(self) -> None:
        began = perf_counter()
        batch = preaggregate_records(self.frame, self.plan.stream, self.plan.needs)
        preaggregated = perf_counter()
        pieces = {
            need: by_interval(pa.concat_tables([table for of, table in batch.partials if of == need]), INTERVALS)
            for need in self.plan.needs
        }
        engine = conservative_engine(self.plan)
        while engine.now < INTERVALS:
            for need, tables in pieces.items():
                engine.ingest(need, tables[engine.now])
            engine.update()
        updated = perf_counter()
        self.answers = {answer.query: answer.table for answer in refreshed(engine)}
        self.parts = {
            "pre-aggregation": preaggregated - began,
            "updates": updated - preaggregated,
            "refresh": perf_counter() - updated,
        }


def duckdb_answers(connection: duckdb.DuckDBPyConnection, asked: list[Question]) -> dict[str, list[tuple[Any, ...]]]:
    def sql(question: Question) -> str:
        keys, group = ("k, ", " GROUP BY k") if question.grouped else ("", "")
        return (
            f"SELECT {keys}{question.function}(v) FROM raw"
            f" WHERE t >= {INTERVALS - question.window} AND p < {question.below}{group}"
        )

    return {question.name: connection.execute(sql(question)).fetchall() for question in asked}


def sampled(asked: list[Question], count: int) -> list[Question]:
    """All queries of some (window, predicate), about ``count`` in all."""
    filters = sorted({(question.window, question.below) for question in asked})
    chosen = set(Random(5).sample(filters, max(1, min(count * len(filters) // len(asked), len(filters)))))
    return [question for question in asked if (question.window, question.below) in chosen]


def polars_answers(frame: pl.DataFrame, asked: list[Question], engine: Any) -> dict[str, list[tuple[Any, ...]]]:
    def lazy(question: Question) -> pl.LazyFrame:
        kept = frame.lazy().filter((pl.col("t") >= INTERVALS - question.window) & (pl.col("p") < question.below))
        value = pl.col("v").cast(pl.Int64) if question.function == "SUM" else pl.col("v")
        method = {"SUM": "sum", "COUNT": "count", "AVG": "mean", "MIN": "min", "MAX": "max"}[question.function]
        expression = getattr(value, method)()
        return kept.group_by("k").agg(expression) if question.grouped else kept.select(expression)

    tables = pl.collect_all([lazy(question) for question in asked], engine=engine)
    return {question.name: table.rows() for question, table in zip(asked, tables, strict=True)}


def check(answers: dict[str, pa.Table], theirs: dict[str, list[tuple[Any, ...]]]) -> None:
    for name, rows in theirs.items():
        ours = sorted(tuple(row.values()) for row in answers[name].to_pylist())
        assert len(ours) == len(rows), (name, len(ours), len(rows))
        for mine, other in zip(ours, sorted(rows), strict=True):
            assert mine[:-1] == other[:-1] and abs(mine[-1] - other[-1]) <= 1e-12 * abs(mine[-1]), (name, mine, other)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--constants", type=int, default=10, help="predicates; there are 100 queries for each")
    arguments.add_argument("--events", type=int, default=20_000_000)
    arguments.add_argument("--sample", type=int, default=100, help="queries each peer runs in a round")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    asked = questions(options.constants)
    sample = sampled(asked, options.sample)
    rows = events(options.events)
    with tempfile.TemporaryDirectory() as folder, spark_session(SparkSettings(), "benchmark") as spark:
        pq.write_table(rows, f"{folder}/events.parquet", row_group_size=1 << 20)
        hemiola = Hemiola(spark, folder, asked)
        table = rows.append_column("t", with_intervals(rows)[INTERVAL].cast(pa.int32())).drop_columns(["ts"])
        connection = duckdb.connect()
        connection.register("arrow", table)
        connection.execute("CREATE TABLE raw AS SELECT * FROM arrow")
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        hemiola.run()
        check(hemiola.answers, duckdb_answers(connection, sample))
        tried = {}
        for engine in ("in-memory", "streaming"):
            check(hemiola.answers, polars_answers(frame, sample, engine))
            tried[engine] = timed(lambda engine=engine: polars_answers(frame, sample, engine)).wall  # type: ignore[misc]
        polars_engine = min(tried, key=lambda engine: tried[engine])
        parts: list[dict[str, float]] = []

        def ours() -> None:
            hemiola.run()
            parts.append(hemiola.parts)

        contenders = {
            "Hemiola": ours,
            "DuckDB": lambda: duckdb_answers(connection, sample),
            "Polars collect_all": lambda: polars_answers(frame, sample, polars_engine),
        }
        times = rounds_of(contenders, options.rounds)
    share = {name: 1.0 if name == "Hemiola" else len(asked) / len(sample) for name in times}
    seconds = {name: sorted(t.wall for t in taken)[len(taken) // 2] * share[name] for name, taken in times.items()}
    middle = {name: sorted(part[name] for part in parts)[len(parts) // 2] for name in parts[0]}
    what = f"{len(asked):,} aggregates with predicates over {options.events // 1_000_000} million events"
    least = 10.0 if len(asked) >= 1000 else 1.0
    ratios = [
        Ratio(what, name, taken / seconds["Hemiola"], least) for name, taken in seconds.items() if name != "Hemiola"
    ]
    print(
        f"{len(asked)} queries, {len(hemiola.plan.needs)} synopses, planned in {hemiola.planning:.2f} s; answers equal"
    )
    print_table(("", "seconds for all"), list(seconds.items()))
    print_table(("of Hemiola's", "seconds"), list(middle.items()))
    print_ratios(ratios)
    figures = {"queries": len(asked), "sampled": len(sample), "seconds": seconds, "parts": middle}
    figures |= {"polars_engine": polars_engine}
    print(save(f"many_predicates_{len(asked)}", figures, ratios, seconds))


if __name__ == "__main__":
    main()
