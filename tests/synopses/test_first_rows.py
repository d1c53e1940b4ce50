"""The rows that can be among the first k, found in the few chunks that have any, against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synopses import answer


@pytest.mark.parametrize("slice_worth", [1, answer._WORTH_A_SLICE])
@pytest.mark.parametrize("descending", [True, False])
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 3000),
    k=st.integers(1, 40),
    spread=st.sampled_from([0, 1, 3, 10**6]),
)
def test_all_that_reach_the_kth_are_among_them(
    slice_worth: int, descending: bool, seed: int, size: int, k: int, spread: int
) -> None:
    numbers = np.random.default_rng(seed).integers(-spread, spread + 1, size)
    k = min(k, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "_WORTH_A_SLICE", slice_worth)
        bound, rows = answer._reaching_kth(numbers, k, descending)
    ordered = np.sort(numbers)[::-1] if descending else np.sort(numbers)
    kth = ordered[k - 1]
    assert (bound <= kth) if descending else (bound >= kth)
    assert rows.tolist() == [
        row for row, value in enumerate(numbers) if (value >= bound) == descending or value == bound
    ]
