"""One query per refresh, over rows that are there already: DuckDB, Polars, Spark SQL.

Each answers all refreshes due at an update, in whichever way of its own was faster when tried (``Peer.form``): one
after the other, or at once (DuckDB: a cursor per core; Polars: one ``collect_all``). Rows are in the order of time, so
that DuckDB and Spark can skip by their minima and maxima; the time is an int32 interval number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.yardstick import SECOND, Question
from queries.model import SparkSettings

Asked = tuple[Question, int]
"""A question as of an update."""
Rows = list[tuple[Any, ...]]
Answers = Callable[[Sequence[Asked]], list[Rows]]
"""Answers what is due at one update, in order."""
ONE_BY_ONE, AT_ONCE = "one by one", "at once"


@dataclass(frozen=True)
class Peer:
    name: str
    answers: Answers
    form: str = ONE_BY_ONE


def with_time(rows: pa.Table) -> pa.Table:
    """The interval's number, ``t``, instead of the time."""
    number = pc.divide(rows["ts"].cast(pa.int64()), SECOND).cast(pa.int32())
    return rows.append_column("t", number).drop_columns(["ts"])


def faster_form(name: str, forms: dict[str, Answers], tried_on: Sequence[Asked]) -> Peer:
    """The form that took less time for the same refreshes, each tried twice."""
    taken: dict[str, float] = {}
    for form in (*forms, *reversed(forms)):
        began = perf_counter()
        forms[form](tried_on)
        taken[form] = min(taken.get(form, float("inf")), perf_counter() - began)
    best = min(taken, key=lambda form: taken[form])
    return Peer(name, forms[best], best)


class DuckDB:
    """The rows as a table in memory, and as one rollup per grouping by interval."""

    def __init__(self, rows: pa.Table, groupings: Sequence[tuple[str, ...]]) -> None:
        self.connection = duckdb.connect()
        self.connection.register("arrow", with_time(rows))
        self.connection.execute("CREATE TABLE raw AS SELECT * FROM arrow")
        for grouping in groupings:
            keys = ", ".join(grouping)
            rollup = f"SELECT t, {keys}, SUM(length)::BIGINT AS length FROM raw GROUP BY t, {keys} ORDER BY t"
            self.connection.execute(f"CREATE TABLE {rollup_name(grouping)} AS {rollup}")
        self._cursors = [self.connection.cursor() for _ in range(os.cpu_count() or 1)]

    def raw(self, tried_on: Sequence[Asked]) -> Peer:
        return faster_form("DuckDB, raw rows", self._forms(lambda question: "raw"), tried_on)

    def rollups(self, tried_on: Sequence[Asked]) -> Peer:
        return faster_form("DuckDB, rollups", self._forms(lambda question: rollup_name(question.keys)), tried_on)

    def answer(self, table: str, asked: Asked) -> Rows:
        return _fetched(self.connection, table, asked)

    def interpolated(self, question: Question, end: int) -> float:
        """The quantile between the two nearest sums, as PERCENTILE of other engines has it."""
        asked = replace(question, top=False), end
        found = self.connection.execute(_sql("raw", asked, "quantile_cont(bytes, 0.9)")).fetchone()
        assert found is not None
        return float(found[0])

    def _forms(self, table: Callable[[Question], str]) -> dict[str, Answers]:
        def one_by_one(due: Sequence[Asked]) -> list[Rows]:
            return [_fetched(self.connection, table(asked[0]), asked) for asked in due]

        def at_once(due: Sequence[Asked]) -> list[Rows]:
            count = len(self._cursors)

            def share(number: int) -> list[Rows]:
                cursor = self._cursors[number]
                return [_fetched(cursor, table(asked[0]), asked) for asked in due[number::count]]

            with ThreadPoolExecutor(count) as pool:
                shares = list(pool.map(share, range(count)))
            return [shares[place % count][place // count] for place in range(len(due))]

        return {ONE_BY_ONE: one_by_one, AT_ONCE: at_once}


def rollup_name(grouping: tuple[str, ...]) -> str:
    return "rollup_" + "_".join(grouping)


def _fetched(connection: duckdb.DuckDBPyConnection, table: str, asked: Asked) -> Rows:
    return connection.execute(_sql(table, asked, "quantile_disc(bytes, 0.9)")).fetchall()


def _sql(table: str, asked: Asked, quantile: str) -> str:
    question, end = asked
    keys = ", ".join(question.keys)
    window = f"t >= {end - question.window} AND t < {end}"
    inner = f"SELECT {keys}, SUM(length) AS bytes FROM {table} WHERE {window} GROUP BY {keys}"
    return f"{inner} ORDER BY bytes DESC, {keys} LIMIT 10" if question.top else f"SELECT {quantile} FROM ({inner})"


def polars_raw(rows: pa.Table, tried_on: Sequence[Asked]) -> Peer:
    frame = pl.from_arrow(with_time(rows))
    assert isinstance(frame, pl.DataFrame)

    def lazy(asked: Asked) -> pl.LazyFrame:
        question, end = asked
        window = frame.lazy().filter((pl.col("t") >= end - question.window) & (pl.col("t") < end))
        grouped = window.group_by(question.keys).agg(pl.col("length").sum().alias("bytes"))
        if not question.top:
            rank = (0.9 * pl.len()).ceil().cast(pl.Int64) - 1
            return grouped.select(pl.col("bytes").sort().get(rank))
        order = ["bytes", *question.keys]
        down = [True] + [False] * len(question.keys)
        return grouped.sort(order, descending=down).head(10).select([*question.keys, "bytes"])

    forms: dict[str, Answers] = {
        ONE_BY_ONE: lambda due: [lazy(asked).collect().rows() for asked in due],
        AT_ONCE: lambda due: [table.rows() for table in pl.collect_all([lazy(asked) for asked in due])],
    }
    return faster_form("Polars, raw rows", forms, tried_on)


@contextmanager
def spark_sql(rows: pa.Table) -> Iterator[Peer]:
    """Rows cached in as many partitions as there are cores, which is also the number of shuffle partitions."""
    from spark_jobs.session import spark_session

    with spark_session(SparkSettings(), "benchmark") as spark, TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(with_time(rows), path)
        cached = spark.read.parquet(str(path)).repartition(os.cpu_count() or 1).cache()
        cached.createOrReplaceTempView("raw")
        cached.count()

        def answers(due: Sequence[Asked]) -> list[Rows]:
            quantile = "percentile_disc(0.9) WITHIN GROUP (ORDER BY bytes)"
            return [[tuple(row) for row in spark.sql(_sql("raw", asked, quantile)).collect()] for asked in due]

        yield Peer("Spark SQL, cached", answers)
