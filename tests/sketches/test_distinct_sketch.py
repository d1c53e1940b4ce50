"""APPROX_COUNT_DISTINCT: bounds over many seeds, sizes, types, NULLs, any order of merging."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from queries.types import Type
from synopses.sketches.hll import GREATEST_LG_K, LEAST_LG_K, lg_k_for, relative_error
from tests.sketches.approximate_reading import bounded


def _split(values: pa.Array, pieces: int, rng: np.random.Generator) -> list[pa.Array]:
    cuts = np.sort(rng.integers(0, len(values) + 1, pieces - 1))
    bounds = [0, *cuts.tolist(), len(values)]
    return [values.slice(start, end - start) for start, end in pairwise(bounds)]


@pytest.mark.slow
def test_bounds_hold_in_95_of_100_windows() -> None:
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.integers(-(2**62), 2**62, int(rng.integers(3_000, 9_000)))
        values = np.r_[values, values[: len(values) // 2]]
        answer, low, high = bounded("APPROX_COUNT_DISTINCT", Type.BIGINT, (), _split(pa.array(values), 5, rng))
        exact = len(np.unique(values))
        held += low <= exact <= high
        assert low <= answer <= high
        assert abs(answer - exact) < 3 * relative_error(12) * exact
    assert held >= 190


@pytest.mark.parametrize("error", [0.3, 0.1, 0.03, 0.01])
def test_the_error_asked_for_is_the_width_of_the_bounds(error: float) -> None:
    values = pa.array(np.arange(50_000))
    answer, low, high = bounded("APPROX_COUNT_DISTINCT", Type.BIGINT, (error,), [values, values])
    assert answer - low <= 1.1 * error * answer + 1
    assert high - answer <= 1.1 * error * answer + 1
    assert relative_error(lg_k_for(error)) <= error < relative_error(lg_k_for(error) - 1)


def test_sizes_are_registers_rounded_up_within_what_hll_allows() -> None:
    assert [lg_k_for(size) for size in (1, 16, 17, 4096, 5000, 1e9)] == [LEAST_LG_K, 4, 5, 12, 13, GREATEST_LG_K]
    assert lg_k_for(1e-9) == GREATEST_LG_K


def test_every_order_of_merging_says_the_same() -> None:
    rng = np.random.default_rng(7)
    pieces = _split(pa.array([f"v{n}" for n in rng.integers(0, 20_000, 30_000)]), 9, rng)
    answers = {
        bounded("APPROX_COUNT_DISTINCT", Type.STRING, (), [pieces[i] for i in rng.permutation(9)]) for _ in range(6)
    }
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("type_", "values", "distinct"),
    [
        (Type.STRING, ["", "a", "", None, "b", "ä"], 4),
        (Type.BIGINT, [2**63 - 1, -(2**63), 0, None, 0], 3),
        (Type.DOUBLE, [0.0, -0.0, float("nan"), float("nan"), float("inf"), None, 1.5], 4),
        (Type.BOOLEAN, [True, False, None, True], 2),
        (Type.DATE, [date(2026, 1, 1), None, date(1960, 1, 1)], 2),
        (Type.TIMESTAMP, [datetime(2026, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC), None], 2),
        (Type.STRING, [None, None], 0),
        (Type.STRING, [], 0),
    ],
)
def test_few_values_are_counted_exactly_and_nulls_not_at_all(type_: Type, values: list[Any], distinct: int) -> None:
    arrow = {Type.STRING: pa.string(), Type.DOUBLE: pa.float64(), Type.TIMESTAMP: pa.timestamp("us", tz="UTC")}.get(
        type_
    )
    column = pa.array(values, type=arrow)
    answer, low, high = bounded("APPROX_COUNT_DISTINCT", type_, (), [column, column.slice(0, 1), column])
    assert (answer, low) == (distinct, distinct)
    assert high in (distinct, distinct + 1)
