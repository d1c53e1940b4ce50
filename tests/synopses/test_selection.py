"""Values at places of the sorted order, found without sorting."""

from __future__ import annotations

import numpy as np
import pytest

from synopses.selection import values_at

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
