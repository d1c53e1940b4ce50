"""The claims of the dissertation's figure 6.3 on fixed, smaller traces; ``benchmarks/topk_lists.py`` has all of it."""

from __future__ import annotations

import pytest

from benchmarks.topk_lists import averaged, broken_claims, trains, with_lists

TRACES = [trains(seed, 20_000) for seed in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("b", [20, 100, 500])
def test_recall_and_error_are_as_claimed(b: int) -> None:
    found = {k: averaged(with_lists, TRACES, b, k) for k in (3, 5, 7, 10)}
    assert broken_claims({b: found}) == []


def test_larger_lists_lower_the_threshold_and_report_more() -> None:
    found = [averaged(with_lists, TRACES[:2], 100, k) for k in (1, 3, 5, 10)]
    assert [cell.delta for cell in found] == sorted((cell.delta for cell in found), reverse=True)
    assert [cell.reported for cell in found] == sorted(cell.reported for cell in found)
    assert [cell.space for cell in found] == sorted(cell.space for cell in found)


def test_a_broken_claim_is_named() -> None:
    found = averaged(with_lists, TRACES[:1], 500, 1)
    assert broken_claims({20: {7: type(found)(0.1, 5, 1, 0.2, 10, 0.5)}}) == [
        "recall 0.20 < 0.8 at b = 20, k = 7",
        "error 0.500 ≥ 2% at b = 20, k = 7",
    ]
