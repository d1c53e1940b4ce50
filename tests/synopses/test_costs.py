"""Reads and merges, as semantics.md 3 promises them."""

from __future__ import annotations

from collections import deque
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synopses.basic_interval import BasicIntervalSynopsis
from synopses.choice import KINDS
from synopses.interval import IntervalSynopsis, dyadic_cover, power_of_two
from synopses.running import RunningSynopsis
from tests.synopses.arrays import COUNT_N, MAX_N, ROWS, SUM_N, largest, summed, sums

EXACT = ("running", "interval", "basic_interval")
WINDOWS = range(3, 63, 2)


def test_running_reads_two_prefixes_per_window() -> None:
    synopsis = RunningSynopsis([ROWS, SUM_N], 64)
    for update in range(200):
        synopsis.update(summed(range(50), np.full(50, update)))
    for age in (0, 1, 2):
        for count, _ in enumerate(synopsis.probe(WINDOWS, 50, age), start=1):
            assert synopsis.last_probe.reads == 2 * count
            assert synopsis.last_probe.merges == count


@pytest.mark.parametrize("b", [2, 4, 16, 64, 100, 128])
def test_interval_reads_at_most_twice_the_logarithm_of_b_per_window(b: int) -> None:
    synopsis = IntervalSynopsis([ROWS, MAX_N], b)
    most = 0
    for update in range(3 * b):
        synopsis.update(largest([0], [update]))
        for n in range(1, min(update + 1, b) + 1, 1 if b <= 64 else 7):
            assert sums(synopsis, n, 1) == {0: update}
            most = max(most, synopsis.last_probe.reads)
            assert synopsis.last_probe.merges == synopsis.last_probe.reads - 1
    assert most <= 2 * log2(power_of_two(b))


@pytest.mark.parametrize("b", [1, 2, 7, 64, 100])
def test_interval_merges_at_most_twice_per_update_on_average(b: int) -> None:
    synopsis = IntervalSynopsis([ROWS, MAX_N], b)
    merges = []
    for update in range(6 * power_of_two(b)):
        synopsis.update(largest([0], [update]))
        merges.append(synopsis.last_update.merges)
    for start in range(len(merges) - b):
        assert sum(merges[start : start + b]) <= 2 * b


def test_interval_keeps_about_two_values_per_interval() -> None:
    synopsis = IntervalSynopsis([ROWS, MAX_N], 128)
    for update in range(1000):
        synopsis.update(largest([0], [update]))
        assert synopsis.entries <= 2 * 128


@pytest.mark.parametrize("b", [1, 7, 16, 24, 100])
@pytest.mark.parametrize(("groups", "present"), [(20, 20), (20, 19), (40, 20), (100, 20), (2000, 20), (10**6, 20)])
def test_interval_takes_at_most_twice_the_arrays_of_its_intervals(b: int, groups: int, present: int) -> None:
    rng = np.random.default_rng(b)
    synopsis = IntervalSynopsis([ROWS, MAX_N], b)
    recent: deque[tuple[list[int], list[int]]] = deque(maxlen=b)
    for update in range(3 * b):
        codes = np.sort(rng.choice(groups, present, replace=False)) if groups < 10**6 else rng.integers(0, groups, 20)
        values = rng.integers(0, 1000, present)
        recent.append((codes.tolist(), values.tolist()))
        synopsis.update(largest(codes, values))
        raw = sum(len(set(codes)) for codes, _ in recent)
        assert synopsis.entries <= 2 * raw
        assert _held_bytes(synopsis) == synopsis.nbytes
        if update % 5 == 0:
            n = int(rng.integers(1, len(recent) + 1))
            expected: dict[int, int] = {}
            for code, value in (pair for interval in list(recent)[-n:] for pair in zip(*interval, strict=True)):
                expected[code] = max(value, expected.get(code, 0))
            assert sums(synopsis, n, groups) == expected
            assert synopsis.last_probe.reads <= max(2 * log2(power_of_two(b)), 1)


def _held_bytes(synopsis: IntervalSynopsis) -> int:
    """Of the arrays that the blocks are, or are views of, each once."""
    blocks = [block for level in synopsis._blocks.levels for block in level.values()]
    arrays = [array for block in blocks for array in (block.codes, *(part for state in block.states for part in state))]
    owners = {id(owner): owner for array in arrays for owner in [array if array.base is None else array.base]}
    return sum(owner.nbytes for owner in owners.values())


def test_basic_interval_reads_b_intervals_for_thirty_windows() -> None:
    synopsis = BasicIntervalSynopsis([ROWS, MAX_N], 64)
    for update in range(100):
        synopsis.update(largest([0], [-update]))
    windows = [*WINDOWS[:-1], 64]
    assert len(windows) == 30
    for n, merged in synopsis.probe(windows, 1):
        assert merged.states[1][0].tolist() == [n - 100]
    assert (synopsis.last_probe.reads, synopsis.last_probe.merges) == (64, 63)


@given(start=st.integers(0, 10**6), length=st.integers(1, 512))
def test_dyadic_cover_is_disjoint_aligned_and_complete(start: int, length: int) -> None:
    covered: list[int] = []
    for level, index in dyadic_cover(start, start + length, 9):
        covered.extend(range(index << level, (index + 1) << level))
    assert covered == list(range(start, start + length))


@pytest.mark.parametrize("kind", EXACT)
def test_windows_longer_than_what_was_seen_give_what_there_is(kind: str) -> None:
    synopsis = KINDS[kind]([ROWS, SUM_N], 10)
    assert sums(synopsis, 5, 3) == {}
    for update in range(3):
        synopsis.update(summed([update], [update + 1]))
    assert sums(synopsis, 99, 3) == {0: 1, 1: 2, 2: 3}
    assert sums(synopsis, 99, 3, age=2) == {0: 1}
    assert sums(synopsis, 99, 3, age=50) == {}
    for _ in range(9):
        synopsis.update(summed([], np.empty(0, dtype=np.int64)))
    assert sums(synopsis, 99, 3) == {2: 3}


@pytest.mark.parametrize("kind", EXACT)
def test_a_code_may_come_in_several_times(kind: str) -> None:
    synopsis = KINDS[kind]([ROWS, SUM_N], 4)
    synopsis.update(summed([2, 0, 2, 2], [1, 2, 3, 2**62]))
    assert sums(synopsis, 1, 3) == {0: 2, 2: 2**62 + 4}


@pytest.mark.parametrize("kind", EXACT)
def test_extending_loses_nothing(kind: str) -> None:
    synopsis = KINDS[kind]([ROWS, SUM_N], 6)
    for update in range(300):
        synopsis.update(summed([update % 3], [2**56 + update]))
        if update in (20, 33):
            synopsis.extend(6 + update)
        elif update == 40:
            synopsis.extend(7)
        known = 6 if update <= 20 else min(26, 6 + update - 20) if update <= 33 else min(39, 6 + update - 20)
        expected: dict[int, int] = {}
        for past in range(max(update + 1 - known, 0), update + 1):
            expected[past % 3] = expected.get(past % 3, 0) + 2**56 + past
        assert sums(synopsis, 39, 3) == expected


@pytest.mark.parametrize("kind", EXACT)
def test_counts_are_stored_only_while_there_are_nulls(kind: str) -> None:
    """COUNT(n) is COUNT(*) until a NULL comes, and again when it has left."""
    synopsis = KINDS[kind]([ROWS, COUNT_N], 5)
    for update in range(40):
        nulls = int(update in (10, 12))
        synopsis.update(summed([0, 1], [1 - nulls, 1]))
        if update == 11:
            synopsis.extend(8)
        span = min(update + 1, 5 if update <= 11 else min(update - 6, 8))
        recent = range(update + 1 - span, update + 1)
        assert sums(synopsis, 8, 2) == {0: span - sum(past in (10, 12) for past in recent), 1: span}
