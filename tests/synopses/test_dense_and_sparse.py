"""The three kinds against plain numpy, on streams where every group comes, few come, or both take turns."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from synopses.carriers import Array
from synopses.choice import KINDS
from tests.synopses.arrays import ROWS, SUM_N, SUM_X, summed


def share_of_groups(stream: str, update: int) -> float:
    return {"dense": 1.0, "sparse": 0.01, "in turns": 1.0 if update // 25 % 2 else 0.005}[stream]


@pytest.mark.parametrize("kind", ["running", "interval", "basic_interval"])
@pytest.mark.parametrize("stream", ["dense", "sparse", "in turns"])
@pytest.mark.parametrize("total", [SUM_N, SUM_X], ids=["integers", "doubles"])
def test_windows_are_the_sums_of_their_intervals(kind: str, stream: str, total: object, groups: int = 400) -> None:
    rng = np.random.default_rng(11)
    b = 40
    synopsis = KINDS[kind]([ROWS, total], b)  # type: ignore[list-item]
    recent: deque[tuple[Array, Array]] = deque(maxlen=b)
    size = groups
    for update in range(160):
        codes = rng.permutation(size)[: max(int(groups * share_of_groups(stream, update)), 1)]
        values = rng.integers(-1000, 1000, len(codes))
        recent.append((codes, values))
        synopsis.update(summed(codes, values if total is SUM_N else values / 8))
        if update % 37 == 36:
            size = _renumber(synopsis, recent, size, groups)
        if update % 10 == 0:
            for age in (0, 3):
                for n, merged in synopsis.probe([1, 2, 9, 25, 37, 80], size, age):
                    window = list(recent)[: len(recent) - age][-min(n, b - age) :]
                    sums, rows = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
                    for some_codes, some_values in window:
                        sums[some_codes] += some_values
                        rows[some_codes] += 1
                    assert np.array_equal(merged.codes, np.flatnonzero(rows))
                    assert np.array_equal(merged.states[0][0], rows[rows > 0])
                    assert np.array_equal(merged.states[1][0] * (1 if total is SUM_N else 8), sums[rows > 0])


def _renumber(synopsis: object, recent: deque[tuple[Array, Array]], size: int, groups: int) -> int:
    """Forgets the codes no interval has, as a key tree would."""
    live = np.unique(synopsis.codes_in_use())  # type: ignore[attr-defined]
    new_codes = np.zeros(size, dtype=np.int64)
    new_codes[live] = np.arange(len(live))
    synopsis.translate_codes(new_codes)  # type: ignore[attr-defined]
    for position, (codes, values) in enumerate(recent):
        recent[position] = new_codes[codes], values
    return max(len(live), groups)
