"""Records that Spark groups before the workers do give the same partial aggregates, merged, and the same counts."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from queries.errors import RunError
from queries.model import Column, Scalar, Source, Stream
from queries.types import Type
from spark_jobs import grouping
from spark_jobs.grouping import grouping_of
from spark_jobs.preaggregation import Batch, preaggregate_records
from spark_jobs.raw_records import LATE
from synopses.components import Count, Greatest, Least, Moments, Rows, Total
from synopses.keys import KeyTree
from synopses.partials import OpenIntervals, split_states
from synopses.preaggregate import Preaggregation

TYPES = {
    "ts": Type.TIMESTAMP, "k": Type.STRING, "p": Type.INT, "n": Type.INT, "big": Type.BIGINT, "x": Type.DOUBLE,
}  # fmt: skip
STREAM = Stream("s", Source("parquet"), tuple(Column(name, type_) for name, type_ in TYPES.items()), "ts", 1_000_000)
K, P, N, BIG, X = (Scalar(f"`{name}`", TYPES[name], (name,)) for name in ("k", "p", "n", "big", "x"))
LOW = Scalar("`p` < 2", Type.BOOLEAN, ("p",))
NEEDS = (
    Preaggregation(None, (K,), (Rows(), Total(N), Count(N), Least(X), Greatest(X))),
    Preaggregation(LOW, (P, K), (Rows(), Total(BIG), Count(X), Least(N), Greatest(BIG))),
    Preaggregation(LOW, (), (Rows(), Total(BIG), Count(BIG))),
)
COLUMNS = {value: value.sql.strip("`") for value in (K, P, N, BIG, X, LOW)}
START = datetime(1970, 1, 1, tzinfo=UTC)

times = st.none() | st.integers(-3_000_000, 3_000_000).map(lambda us: START + timedelta(microseconds=us))
small, large = st.none() | st.integers(-(2**31), 2**31 - 1), st.none() | st.integers(-(2**50), 2**50)
records = st.tuples(
    times, st.sampled_from(["a", "b", "", None]), st.none() | st.integers(0, 3), small, large, st.none() | st.floats()
)


def batch_of(spark: Any, rows: list[tuple[Any, ...]], grouped: bool | None, closed_before: int | None = None) -> Batch:
    schema = ", ".join(f"{name} {type_.value}" for name, type_ in TYPES.items())
    frame = spark.createDataFrame(rows, schema)
    if closed_before is not None:
        frame = frame.withColumn(LATE, F.unix_micros("ts") < closed_before * STREAM.interval)
    return preaggregate_records(frame, STREAM, NEEDS, grouped)


def merged(batch: Batch) -> dict[Any, Any]:
    """By need, interval and keys: the states, as text (so that NaN equals itself and 1 is not 1.0)."""
    found: dict[Any, Any] = {}
    for need in NEEDS:
        node, intervals = KeyTree().node(need.keys), OpenIntervals(need.components)
        seen: set[int] = set()
        for of, table in batch.partials:
            if of == need:
                intervals.add(*split_states(table, need, node))
                seen |= set(table["interval"].to_pylist())
        for interval in seen:
            partials = intervals.close(interval)
            keys = zip(*(column.to_pylist() for column in node.decode(partials.codes)), strict=True)
            names = list(keys) if need.keys else [()] * len(partials.codes)
            for row, key in enumerate(names):
                found[need, interval, key] = [_shown(*(part[row] for part in state)) for state in partials.states]
    return found


def _shown(value: Any, seen: bool = True) -> str:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        plain += 0.0  # either zero is the least of both
    return repr(plain) if seen else "no value"


def rejects(batch: Batch) -> Counter[tuple[str, str]]:
    rows = [row for table in batch.rejects for row in table.to_pylist()]
    return Counter((row["reason"], row["record"]) for row in rows)


@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(rows=st.lists(records, min_size=1, max_size=60), closed_before=st.none() | st.integers(-2, 2))
@example(rows=[(None, "a", 1, 1, 1, 1.0)] * 3 + [(START, "a", 1, 1, 2**50, math.nan)] * 2, closed_before=None)
@example(rows=[(START, "a", 1, None, None, None)], closed_before=None)
def test_equal_either_way(spark, rows, closed_before):
    here, there = (batch_of(spark, rows, grouped, closed_before) for grouped in (True, False))
    assert (here.grouped, there.grouped) == (True, False)
    assert merged(here) == merged(there)
    assert rejects(here) == rejects(there)
    figures = [(b.records, b.rejected, b.late, b.oldest_us, b.newest_us) for b in (here, there)]
    assert figures[0] == figures[1]


def test_sums_that_leave_64_bits_are_left_to_the_workers(spark):
    rows = [(START, "a", 1, 1, 2**62, 1.0)] * 4
    batch = batch_of(spark, rows, grouped=True)
    assert not batch.grouped
    assert merged(batch)[NEEDS[2], 0, ()][1] == repr(2**64)


def test_sums_over_groups_may_leave_64_bits(spark):
    rows = [(START, "a", number, 1, 2**62, 1.0) for number in (0, 1)]
    batch = batch_of(spark, rows, grouped=True)
    assert batch.grouped
    assert merged(batch)[NEEDS[2], 0, ()][1] == repr(2**63)


@pytest.mark.parametrize(("keys", "grouped"), [(1, True), (10_000, False)])
def test_only_what_shrinks_is_grouped(spark, monkeypatch, keys, grouped):
    monkeypatch.setattr(grouping, "_SAMPLE", 64)
    rows = [(START, f"{number % keys}", 1, 1, 1, 1.0) for number in range(200)]
    assert batch_of(spark, rows, grouped=None).grouped is grouped


def test_other_errors_are_not_tried_twice(spark):
    bad = Scalar("CAST(`k` AS INT)", Type.INT, ("k",))
    frame = spark.createDataFrame([(START, "a")], "ts TIMESTAMP, k STRING")
    with pytest.raises(RunError, match=r"in the expression CAST\(k AS INT\)"):
        preaggregate_records(frame, STREAM, [Preaggregation(None, (bad,), (Rows(),))], grouped=True)


@pytest.mark.parametrize("component", [Total(X), Moments(N), Least(K)])
def test_what_depends_on_the_order_of_records_is_left_to_the_workers(component):
    assert grouping_of([Preaggregation(None, (P,), (Rows(), component))], COLUMNS) is None


def test_float_keys_are_left_to_the_workers():
    assert grouping_of([Preaggregation(None, (X,), (Rows(),))], COLUMNS) is None
