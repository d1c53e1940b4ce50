"""Which groups a window has, told by a sum that is never zero: the same as COUNT(*) tells, whatever comes and goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.model import Scalar
from queries.types import Type
from synopses.choice import BASIC_INTERVAL, KINDS, RUNNING
from synopses.components import Count, Rows, Total
from synopses.merged import Partials

X = Scalar("x", Type.BIGINT, ("x",))
COMPONENTS = (Rows(), Total(X), Count(X))
B, GROUPS = 3, 6
SUM = 1

positive = st.dictionaries(st.integers(0, GROUPS - 1), st.integers(1, 5), max_size=GROUPS)
any_value = st.dictionaries(st.integers(0, GROUPS - 1), st.integers(-2, 2), max_size=GROUPS)
streams = st.lists(st.one_of(positive, positive, positive, any_value), min_size=1, max_size=16)


def partials(interval: dict[int, int]) -> Partials:
    codes = np.array(sorted(interval), dtype=np.int64)
    ones = np.ones(len(codes), dtype=np.int64)
    return Partials(codes, ((ones,), (np.array([interval[code] for code in codes], dtype=np.int64),), (ones.copy(),)))


@pytest.mark.parametrize("kind", [RUNNING, BASIC_INTERVAL])
@given(stream=streams, longer=st.integers(0, 20))
def test_groups_are_those_that_have_records(kind: str, stream: list[dict[int, int]], longer: int) -> None:
    """``longer`` is the update after which more intervals are kept."""
    synopsis = KINDS[kind](COMPONENTS, B)
    kept = B
    for number, interval in enumerate(stream, 1):
        synopsis.update(partials(interval))
        if number == longer:
            synopsis.extend(B + 2)
            kept = B + 2
        for n, merged in synopsis.probe(range(1, kept + 1), GROUPS):
            window = stream[max(number - n, 0, longer - B if longer <= number else 0) : number]
            sums = merged.at_all_places(SUM)  # asked for first, so that it tells which groups there are
            expected = sorted({group for interval in window for group in interval})
            assert merged.codes.tolist() == expected
            totals = [sum(interval.get(group, 0) for interval in window) for group in expected]
            assert sums[: len(sums)].sum() == sum(totals)
            assert merged.state(SUM)[0].tolist() == totals
            assert merged.state(0)[0].tolist() == [sum(g in interval for interval in window) for g in expected]


@pytest.mark.parametrize("kind", [RUNNING, BASIC_INTERVAL])
def test_a_component_nobody_asks_for_is_not_merged(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    merged_once: list[type] = []
    absorb = Rows.absorb
    monkeypatch.setattr(Rows, "absorb", lambda self, *rest: merged_once.append(Rows) or absorb(self, *rest))
    synopsis = KINDS[kind](COMPONENTS, B)
    for _ in range(2 * B):
        synopsis.update(partials({group: 1 + group for group in range(GROUPS)}))
    ((_, merged),) = synopsis.probe([2], GROUPS)
    assert merged.at_all_places(SUM).tolist() == [2 * (1 + group) for group in range(GROUPS)]
    assert merged.size == GROUPS
    assert not merged_once
    assert merged.state(0)[0].tolist() == [2] * GROUPS
