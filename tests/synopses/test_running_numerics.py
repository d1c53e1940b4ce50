"""A running sum is as good as summing the window, however long the stream and whatever passed through it."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest

from synopses.carriers import Array
from synopses.running import RunningSynopsis
from tests.synopses.arrays import COUNT_N, ROWS, SUM_N, SUM_X, read, summed, sums


@pytest.mark.slow
def test_ten_million_updates_of_mixed_magnitude_stay_within_1e_12_of_the_direct_sum() -> None:
    """1,000 groups, each updated 10,000 times with values between 1e-9 and 1e9."""
    groups, updates, b = 1_000, 10_000, 60
    rng = np.random.default_rng(7)
    codes = np.arange(groups)
    synopsis = RunningSynopsis([ROWS, SUM_X], b)
    recent: deque[Array] = deque(maxlen=b)
    worst = 0.0
    for update in range(1, updates + 1):
        values = 10.0 ** rng.uniform(-9, 9, groups)
        synopsis.update(summed(codes, values))
        recent.append(values)
        if update % 500 == 0:
            for n, merged in synopsis.probe([1, 7, 30, 60], groups):
                direct = np.array([math.fsum(column) for column in zip(*list(recent)[-n:], strict=True)])
                worst = max(worst, float(np.max(np.abs(merged.states[1][0] - direct) / direct)))
    assert worst <= 1e-12


@pytest.mark.parametrize("magnitude", [1e16, 1e40, 1e290])
def test_a_tiny_window_behind_a_huge_one(magnitude: float) -> None:
    synopsis = RunningSynopsis([ROWS, SUM_X], 50)
    codes = np.arange(10)
    for _ in range(40):
        synopsis.update(summed(codes, np.full(10, magnitude)))
    for _ in range(20):
        synopsis.update(summed(codes, np.full(10, 1e-7)))
    assert sums(synopsis, 20, 10) == pytest.approx(dict.fromkeys(range(10), 2e-6), rel=1e-12)
    assert sums(synopsis, 21, 10) == pytest.approx(dict.fromkeys(range(10), magnitude), rel=1e-12)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e308])
def test_what_cannot_be_subtracted_is_gone_with_its_interval(poison: float) -> None:
    synopsis = RunningSynopsis([ROWS, SUM_X], 50)
    codes = np.arange(10)
    for update in range(300):
        values = np.full(10, 0.5)
        if update in (100, 101):
            values[3] = poison
        synopsis.update(summed(codes, values))
        if update >= 101:
            found = sums(synopsis, 30, 10)
            assert all(found[code] == 15.0 for code in range(10) if code != 3)
            if update < 130:
                with np.errstate(over="ignore"):
                    expected = np.sum(np.r_[np.full(28, 0.5), [poison] * (2 if update < 130 else 1)])
                assert found[3] == pytest.approx(expected, nan_ok=True)
            elif update > 130:
                assert found[3] == 15.0


def test_integers_widen_beyond_64_bits_and_narrow_again() -> None:
    synopsis = RunningSynopsis([ROWS, SUM_N], 20)
    codes = np.arange(8)
    large = 2**62
    for _ in range(20):
        synopsis.update(summed(codes, np.full(8, large)))
    assert sums(synopsis, 20, 8) == dict.fromkeys(range(8), 20 * large)
    for _ in range(10):
        synopsis.update(summed(codes, np.full(8, 3)))
    assert sums(synopsis, 20, 8) == dict.fromkeys(range(8), 10 * large + 30)
    assert sums(synopsis, 10, 8) == dict.fromkeys(range(8), 30)
    for _ in range(60):
        synopsis.update(summed(codes, np.full(8, -5)))
    assert sums(synopsis, 20, 8) == dict.fromkeys(range(8), -100)
    assert read(synopsis, 20, 8).states[1][0].dtype == np.int32


def test_wide_integers_that_fit_alone_are_not_narrowed_while_their_sum_does_not() -> None:
    synopsis = RunningSynopsis([ROWS, SUM_N], 64)
    for _ in range(200):
        synopsis.update(summed([0, 1], [2**61, -(2**61)]))
    assert sums(synopsis, 64, 2) == {0: 64 * 2**61, 1: -64 * 2**61}


def test_codes_that_come_late_and_go_have_their_own_sums() -> None:
    synopsis = RunningSynopsis([ROWS, SUM_N], 10)
    for update in range(200):
        synopsis.update(summed([update, update // 5, 7], [update, 1, 100]) if update > 40 else summed([7], [1]))
    found = sums(synopsis, 10, 200)
    assert found == {**{update: update for update in range(190, 200)}, 38: 5, 39: 5, 7: 1000}


def test_extending_keeps_what_is_there_and_reaches_further_later() -> None:
    synopsis = RunningSynopsis([ROWS, SUM_X], 5)
    for update in range(100):
        synopsis.update(summed([0], [float(update)]))
        if update == 50:
            synopsis.extend(40)
    assert synopsis.intervals == 40
    assert sums(synopsis, 40, 1) == {0: float(sum(range(60, 100)))}
    assert sums(synopsis, 30, 1, age=10) == {0: float(sum(range(60, 90)))}


def test_extending_at_the_limit_of_32_bits_loses_nothing() -> None:
    """Values that just fit 32 bits over the intervals known at the time, and then have to over more and more."""
    synopsis = RunningSynopsis([ROWS, SUM_N], 4)
    largest = (2**30 - 1) // (2 * 4 + 2)
    seen: list[int] = []
    for update in range(400):
        values = largest - update if update < 200 else update
        seen.append(values)
        synopsis.update(summed(np.arange(3), np.full(3, values)))
        if update in (20, 40, 60, 80):
            synopsis.extend(update)
        n = min(synopsis.intervals, 1 + update % 80)
        assert sums(synopsis, n, 3) == dict.fromkeys(range(3), sum(seen[-n:]))
    assert read(synopsis, 80, 3).states[1][0].dtype == np.int32


def test_a_null_after_prefixes_were_kept_is_not_counted() -> None:
    """COUNT(n) has no prefix of its own while it equals COUNT(*)."""
    synopsis = RunningSynopsis([ROWS, COUNT_N], 20)
    counts = np.ones((3, 200), dtype=np.int64)
    counts[1, [50, 51, 120]] = 0
    for update in range(200):
        synopsis.update(summed(np.arange(3), counts[:, update]))
        n = 1 + update % 20
        assert sums(synopsis, n, 3) == dict(
            enumerate(counts[:, max(update + 1 - n, 0) : update + 1].sum(axis=1).tolist())
        )
