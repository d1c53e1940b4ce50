"""The bytes of our sketches and of Spark's built-in ones, held against each other in both directions.

What is proven here is what ``docs/decisions/sketches.md`` relies on: HLL and KLL pass both ways; frequent items pass
from Spark to us for strings.
"""

from __future__ import annotations

from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from queries.model import Scalar
from queries.types import Type
from synopses.algebra import Component
from synopses.preaggregate import INTERVAL, Preaggregation, part_name, preaggregate
from synopses.sketches.frequent_items import FrequentItemsSketch
from synopses.sketches.hll import DistinctSketch
from synopses.sketches.kll import QuantileSketch

NUMBERS = (np.arange(20_000) * 7919) % 6_151
TEXTS = [f"host-{number % 700}" for number in NUMBERS]


def _ours(component: Component, values: pa.Array) -> bytes:
    """The transported sketch of one group."""
    records = pa.table({INTERVAL: np.zeros(len(values), dtype=np.int64), "x": values})
    assert component.argument is not None
    table = preaggregate(records, {component.argument: "x"}, Preaggregation(None, (), (component,)))
    payload: bytes = table[part_name(0, 0)][0].as_py()
    return payload


def _sparks(spark: SparkSession, expression: str) -> Any:
    frame = spark.createDataFrame(
        list(zip(NUMBERS.tolist(), TEXTS, (NUMBERS / 3).tolist(), strict=True)), "n BIGINT, s STRING, f DOUBLE"
    ).coalesce(1)
    return frame.selectExpr(f"{expression} AS x").collect()[0].x


def _evaluated(spark: SparkSession, payload: bytes, expression: str) -> Any:
    return spark.createDataFrame([(bytearray(payload),)], "x BINARY").selectExpr(f"{expression} AS y").collect()[0].y


@pytest.mark.parametrize(
    ("column", "type_", "values"), [("n", Type.BIGINT, pa.array(NUMBERS)), ("s", Type.STRING, pa.array(TEXTS))]
)
def test_hll_both_ways(spark: SparkSession, column: str, type_: Type, values: pa.Array) -> None:
    component = DistinctSketch(Scalar(column, type_, (column,)))
    ours = _ours(component, values)
    sparks = bytes(_sparks(spark, f"hll_sketch_agg({column}, {component.lg_k})"))
    exact = len(values.unique())
    for sketch in (ours, sparks):
        loaded = component.deserialized(sketch)
        assert loaded.get_lower_bound(3) <= exact <= loaded.get_upper_bound(3)
    assert _evaluated(spark, ours, "hll_sketch_estimate(x)") == round(component.deserialized(ours).get_estimate())
    both = component.union([component.deserialized(ours), component.deserialized(sparks)])
    alone = component.union([component.deserialized(ours)] * 2)
    assert both.get_estimate() == pytest.approx(alone.get_estimate()), "the same values hash alike on both sides"


def test_kll_doubles_both_ways(spark: SparkSession) -> None:
    component = QuantileSketch(Scalar("f", Type.DOUBLE, ("f",)))
    values = NUMBERS / 3
    ours = _ours(component, pa.array(values))
    theirs = component.deserialized(bytes(_sparks(spark, "kll_sketch_agg_double(f)")))
    both = component.union([component.deserialized(ours), theirs])
    assert (theirs.n, both.n) == (len(values), 2 * len(values))
    for found in (
        theirs.get_quantile(0.9, True),
        both.get_quantile(0.9, True),
        _evaluated(spark, ours, "kll_sketch_get_quantile_double(x, 0.9D)"),
    ):
        assert abs(np.mean(values <= found) - 0.9) < 0.03


def test_frequent_strings_from_spark(spark: SparkSession) -> None:
    component = FrequentItemsSketch(Scalar("s", Type.STRING, ("s",)))
    theirs = component.deserialized(bytes(_sparks(spark, "approx_top_k_accumulate(s, 3000)").sketch))
    ours = component.deserialized(_ours(component, pa.array(TEXTS)))
    kind = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES
    assert sorted(theirs.get_frequent_items(kind)) == sorted(ours.get_frequent_items(kind))


def test_frequent_numbers_of_spark_are_not_ours(spark: SparkSession) -> None:
    """Spark carries numbers as numbers, we as text: why this sketch is not built by Spark."""
    payload = bytes(_sparks(spark, "approx_top_k_accumulate(n, 3000)").sketch)
    ours = _ours(FrequentItemsSketch(Scalar("n", Type.BIGINT, ("n",))), pa.array(NUMBERS))
    assert payload[:1] == ours[:1], "the same preamble, so nothing but the item type tells them apart"
    assert payload != ours
