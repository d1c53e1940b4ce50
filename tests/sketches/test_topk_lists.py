"""TOP_K_LISTS against naive counting: never a false positive, δ bounds what is on no list, counters never exceed.

Figure 6.2's shape: one list per interval, global counters over the last n of them.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.model import Scalar
from queries.types import Type
from synopses.components import Count, Total
from synopses.merged import Merged, Partials
from synopses.topk_lists import Listed, TopKLists

ITEM = Scalar("src", Type.STRING, ("src",))
Weights = dict[int, int] | dict[int, float]

intervals = st.lists(
    st.dictionaries(st.integers(0, 11), st.integers(0, 6) | st.integers(2**40, 2**41), max_size=12), max_size=12
)
doubles = st.lists(
    st.dictionaries(st.integers(0, 11), st.floats(0, 1e9) | st.floats(0, 1e-3), max_size=12), max_size=12
)


def _lists(k: int, b: int, type_: Type | None = None) -> TopKLists:
    inner = Count(ITEM) if type_ is None else Total(Scalar("bytes", type_, ("bytes",)))
    return TopKLists((Listed(inner, k),), b)


def _closed(weights: Weights, dtype: type = np.int64) -> Partials:
    codes = np.array(list(weights), dtype=np.int64)
    return Partials(codes, ((np.array(list(weights.values()), dtype=dtype),),))


def _heaviest(weights: Weights, k: int) -> tuple[Weights, int | float]:
    """The list and δi by the book."""
    order = sorted((item for item, weight in weights.items() if weight > 0), key=lambda item: (-weights[item], item))[
        :k
    ]
    return {item: weights[item] for item in order}, weights[order[k - 1]] if len(order) == k else 0


def _check(found: Merged, window: list[Weights], k: int, slack: float = 0.0) -> None:
    true: Counter[int] = Counter()
    counters: dict[int, Fraction] = {}
    delta = Fraction(0)
    for weights in window:
        listed, delta_i = _heaviest(weights, k)
        delta += Fraction(delta_i)
        for item, weight in weights.items():
            true[item] += Fraction(weight)  # type: ignore[assignment]
        for item, weight in listed.items():
            counters[item] = counters.get(item, Fraction(0)) + Fraction(weight)
    (counts,), (covered,), (deltas,) = found.states
    for code, counter, cover, delta_found in zip(found.codes.tolist(), counts, covered, deltas, strict=True):
        assert abs(delta_found - delta) <= slack * delta
        assert true[code] > delta, "a false positive"
        assert abs(counter - counters[code]) <= slack * counters[code]
        assert counter <= true[code] + slack * true[code]
        assert true[code] <= counter + (delta_found - cover) + slack * true[code]
    if not slack:
        assert found.codes.tolist() == sorted(item for item, counter in counters.items() if counter > delta)
    assert all(weight <= delta for item, weight in true.items() if item not in counters)


@given(intervals, st.integers(1, 5), st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(1, 3))
def test_every_window_after_every_update(stream: list[Weights], k: int, windows: list[int], probe_every: int) -> None:
    lists = _lists(k, b=max(windows))
    for number, weights in enumerate(stream, start=1):
        lists.update(_closed(weights))
        if number % probe_every == 0:
            probed = list(lists.probe(windows, size=12))
            assert [window for window, _ in probed] == sorted(set(windows))
            for window, found in probed:
                _check(found, stream[max(number - window, 0) : number], k)


@given(doubles, st.integers(1, 5), st.integers(1, 4))
def test_double_weights_within_rounding(stream: list[Weights], k: int, window: int) -> None:
    lists = _lists(k, window, Type.DOUBLE)
    for number, weights in enumerate(stream, start=1):
        lists.update(_closed(weights, np.float64))
        ((_, found),) = lists.probe([window], size=12)
        _check(found, stream[max(number - window, 0) : number], k, slack=1e-13)


@given(intervals, st.integers(1, 5), st.integers(1, 4), st.integers(0, 4))
def test_windows_that_ended_earlier(stream: list[Weights], k: int, window: int, age: int) -> None:
    lists = _lists(k, window + age)
    for weights in stream:
        lists.update(_closed(weights))
    ((_, found),) = lists.probe([window], size=12, age=age)
    end = max(len(stream) - age, 0)
    _check(found, stream[max(end - window, 0) : end], k)


@given(intervals, st.integers(1, 5), st.permutations(range(12)), st.integers(0, 11))
def test_codes_may_be_renumbered_at_any_time(stream: list[Weights], k: int, order: list[int], when: int) -> None:
    lists, renumbered = _lists(k, 4), np.arange(12)
    for number, weights in enumerate(stream):
        lists.update(_closed({int(renumbered[item]): weight for item, weight in weights.items()}))
        list(lists.probe([4], size=12))
        if number == when:
            renumbered = np.array(order)
            lists.translate_codes(renumbered)
    ((_, found),) = lists.probe([4], size=12)
    (counts,) = found.states[0]
    true: Counter[int] = Counter()
    for weights in stream[-4:]:
        true.update(weights)
    original = np.argsort(renumbered)
    assert all(count <= true[original[code]] for code, count in zip(found.codes, counts, strict=True))


def test_worked_example() -> None:
    """k = 2 over three intervals: δ = 3 + 3 + 0; item 0 is on every list but the second."""
    lists = _lists(k=2, b=3)
    for weights in ({0: 9, 1: 3, 2: 1}, {2: 4, 1: 3, 0: 2}, {0: 5}):
        lists.update(_closed(weights))
    ((_, found),) = lists.probe([3], size=3)
    assert found.codes.tolist() == [0]
    assert [state[0].tolist() for state in found.states] == [[14], [3], [6]]


def test_probing_costs_one_read_once_the_counters_exist_and_updates_two_merges() -> None:
    lists = _lists(k=3, b=10)
    for number in range(20):
        lists.update(_closed({number % 5: 2, 7: 1}))
    list(lists.probe([10], size=8))
    assert lists.last_probe.reads == 10
    lists.update(_closed({1: 1}))
    assert lists.last_update.merges == 2
    list(lists.probe([10], size=8))
    assert lists.last_probe.reads == 1
    for _ in range(11):
        lists.update(_closed({1: 1}))
    assert lists.last_update.merges == 0


def test_space_is_k_per_interval_however_many_items() -> None:
    lists = _lists(k=4, b=5)
    rng = np.random.default_rng(0)
    for _ in range(50):
        lists.update(_closed(dict(enumerate(rng.integers(1, 100, 1_000).tolist()))))
    assert (lists.intervals, lists.entries, len(np.unique(lists.codes_in_use())) <= 20) == (5, 20, True)


def test_sums_beyond_int64_are_exact() -> None:
    lists = _lists(k=1, b=4, type_=Type.BIGINT)
    for _ in range(4):
        lists.update(_closed({0: 2**62 + 1, 1: 2**61}))
    ((_, found),) = lists.probe([4], size=2)
    assert found.codes.tolist() == []
    lists.update(Partials(np.array([0]), ((np.array([2**70], dtype=object),),)))
    ((_, found),) = lists.probe([4], size=2)
    assert found.codes.tolist() == []
    wide = _lists(k=2, b=4, type_=Type.BIGINT)
    for _ in range(4):
        wide.update(_closed({0: 2**62 + 1}))
    ((_, found),) = wide.probe([4], size=2)
    assert found.states[0][0].tolist() == [4 * (2**62 + 1)]


@pytest.mark.parametrize("windows", [[1], [3, 5]])
def test_empty_windows(windows: list[int]) -> None:
    lists = _lists(k=2, b=5)
    assert all(len(found.codes) == 0 for _, found in lists.probe(windows, size=0))
    lists.update(_closed({}))
    lists.update(_closed({0: 0}))
    assert all(len(found.codes) == 0 for _, found in lists.probe(windows, size=1))


def test_a_large_double_that_has_left_leaves_nothing_behind() -> None:
    lists = _lists(k=2, b=1, type_=Type.DOUBLE)
    for weights in ({0: 1e9, 1: 1e-3}, {0: 1e-3, 1: 1e9}, {2: 1e-9}):
        lists.update(_closed(weights, np.float64))
        ((_, found),) = lists.probe([1], size=3)
    assert found.codes.tolist() == [2]
