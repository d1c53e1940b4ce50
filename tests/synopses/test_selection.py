"""Values at places of the sorted order, found without sorting."""

from __future__ import annotations

import numpy as np
import pytest

from synopses.selection import values_at, values_at_but_for

CHANCE = np.random.default_rng(4)
SHAPES = {
    "few": CHANCE.integers(0, 50, 100),
    "skewed": (1e9 * CHANCE.random(100_000) ** 6).astype(np.int64),
    "all equal": np.full(50_000, 7),
    "two values": np.repeat(np.array([3, 9]), 25_000),
    "ascending": np.arange(40_000),
    "descending": np.arange(40_000)[::-1].copy(),
    "the sample misses the large ones": np.where(np.arange(65_536) % 64 == 0, 0, np.arange(65_536)),
    "extremes of int64": np.tile(np.array([np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max]), 10_000),
    "int32": CHANCE.integers(-1000, 10**6, 100_000).astype(np.int32),
    "doubles": CHANCE.normal(size=30_000),
    "NaN last": np.r_[np.full(20_000, np.nan), CHANCE.normal(size=20_000)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_as_if_sorted(shape: str) -> None:
    values = SHAPES[shape]
    last = len(values) - 1
    for places in ([0], [last], [last // 2, last // 2 + 1], [last * 9 // 10], [0, last // 100, last]):
        np.testing.assert_array_equal(values_at(values, np.array(places)), np.sort(values)[places])


def test_the_values_stay_as_they_are() -> None:
    values = CHANCE.integers(0, 10**6, 60_000)
    before = values.copy()
    values_at(values, np.array([54_000]))
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("negative", [0, 1, 30_000])
@pytest.mark.parametrize("zeros", [0, 1, 30_000])
@pytest.mark.parametrize("absent", [0, 1, 50_000])
def test_zeros_that_are_not_meant_are_as_if_not_there(negative: int, zeros: int, absent: int) -> None:
    meant = np.r_[CHANCE.integers(-9, 0, negative), np.zeros(zeros, int), CHANCE.integers(1, 9999, 20_000)]
    values = CHANCE.permutation(np.r_[meant, np.zeros(absent, int)])
    last = len(meant) - 1
    for places in ([0], [last], [last // 2, last // 2 + 1], [negative, min(negative + zeros, last)], [last * 9 // 10]):
        np.testing.assert_array_equal(values_at_but_for(values, absent, np.array(places)), np.sort(meant)[places])
