"""APPROX_QUANTILE: rank error over many seeds, exact while small, NaN greatest, integers, dates, any order."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from queries.types import Type
from synopses.sketches.kll import GREATEST_K, LEAST_K, k_for, rank_error
from tests.sketches.approximate_reading import bounded


def _discrete(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


@pytest.mark.slow
def test_bounds_hold_in_95_of_100_windows() -> None:
    held = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values, share = rng.lognormal(0, 2, 12_000), float(rng.uniform(0, 1))
        pieces = [pa.array(piece) for piece in np.split(values, np.sort(rng.integers(0, 12_000, 4)))]
        answer, low, high = bounded("APPROX_QUANTILE", Type.DOUBLE, (share,), pieces)
        held += low <= _discrete(values.tolist(), share) <= high
        assert low <= answer <= high
        assert abs(np.mean(values <= answer) - share) < 2 * rank_error(200)
    assert held >= 190


@pytest.mark.parametrize("error", [0.1, 0.02, 0.005])
def test_k_is_the_smallest_with_the_rank_error_asked_for(error: float) -> None:
    assert rank_error(k_for(error)) <= error < rank_error(k_for(error) - 1)


def test_a_precision_from_1_is_k_itself_within_what_kll_allows() -> None:
    assert [k_for(k) for k in (1, 8, 350, 1e9)] == [LEAST_K, 8, 350, GREATEST_K]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_few_values_are_answered_exactly(share: float) -> None:
    values = [5, 1, 4, 2, 3, 10, 9, 8, 7, 6]
    column = pa.array([*values, None])
    exact = int(_discrete([float(value) for value in values], share))
    assert bounded("APPROX_QUANTILE", Type.INT, (share,), [column.slice(0, 4), column.slice(4)]) == (exact,) * 3


def test_nan_is_the_greatest_value() -> None:
    column = pa.array([float("nan"), 1.0, 2.0, 3.0, None])
    answers = [bounded("APPROX_QUANTILE", Type.DOUBLE, (share,), [column])[0] for share in (0.25, 0.5, 0.75)]
    assert answers == [1.0, 2.0, 3.0]
    assert math.isnan(bounded("APPROX_QUANTILE", Type.DOUBLE, (1.0,), [column])[0])
    assert math.isnan(bounded("APPROX_QUANTILE", Type.DOUBLE, (0.5,), [pa.array([float("nan")])])[0])


def test_infinities_are_values() -> None:
    column = pa.array([float("-inf"), 0.0, float("inf")])
    assert [bounded("APPROX_QUANTILE", Type.DOUBLE, (q,), [column])[0] for q in (0.0, 0.5, 1.0)] == column.to_pylist()


def test_integers_too_large_for_doubles_stay_within_bounds() -> None:
    values = [2**63 - 1, 2**53 + 1, -(2**62) - 1]
    for share, exact in ((0.0, values[2]), (0.5, values[1]), (1.0, values[0])):
        answer, low, high = bounded("APPROX_QUANTILE", Type.BIGINT, (share,), [pa.array(values)])
        assert low <= exact
        assert exact <= high or high == math.nextafter(2.0**63, 0)
        assert answer == pytest.approx(exact, rel=1e-15)


def test_dates_and_nothing() -> None:
    days = [date(1969, 12, 30), date(2026, 1, 1), date(2026, 1, 2)]
    assert bounded("APPROX_QUANTILE", Type.DATE, (0.5,), [pa.array(days)]) == (days[1],) * 3
    nothing = pa.array([None, None], type=pa.float64())
    assert bounded("APPROX_QUANTILE", Type.DOUBLE, (0.5,), [nothing]) == (None,) * 3
    assert bounded("APPROX_QUANTILE", Type.DOUBLE, (0.5,), []) == (None,) * 3


def test_every_order_of_merging_stays_within_bounds() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=20_000)
    pieces = [pa.array(piece) for piece in np.split(values, 10)]
    for _ in range(10):
        _, low, high = bounded("APPROX_QUANTILE", Type.DOUBLE, (0.5, 0.02), [pieces[i] for i in rng.permutation(10)])
        assert np.mean(values <= low) >= 0.5 - 2 * 0.02
        assert np.mean(values <= high) <= 0.5 + 2 * 0.02
