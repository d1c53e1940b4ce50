"""What holds of the dissertation's figure 6.3 on fixed, smaller traces; ``benchmarks/topk_lists.py`` has all of it.

The one cell of the claim about recall that does not hold on the fitted trace, b = 20 and k = 3, is not asserted here;
docs/synopses-approximate.md tells.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.topk_lists import averaged, broken_claims, with_lists
from benchmarks.topk_traces import FITTED

TRACES = [FITTED.packets(seed, 20_000) for seed in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("b", [20, 100, 500])
def test_recall_and_error_are_as_claimed(b: int) -> None:
    sizes = (4, 5, 7, 10) if b == 20 else (3, 5, 7, 10)
    found = {k: averaged(with_lists, TRACES, b, k) for k in sizes}
    assert broken_claims({b: found}) == []


def test_larger_lists_lower_the_threshold_and_report_more() -> None:
    found = [averaged(with_lists, TRACES[:2], 100, k) for k in (1, 3, 5, 10)]
    assert [cell.delta for cell in found] == sorted((cell.delta for cell in found), reverse=True)
    assert [cell.reported for cell in found] == sorted(cell.reported for cell in found)
    assert [cell.space for cell in found] == sorted(cell.space for cell in found)


def test_a_broken_claim_is_named() -> None:
    found = averaged(with_lists, TRACES[:1], 500, 1)
    assert broken_claims({20: {7: replace(found, recall=0.2, error=0.5)}}) == [
        "recall 0.20 < 0.8 at b = 20, k = 7",
        "error 0.500 ≥ 2% at b = 20, k = 7",
    ]
