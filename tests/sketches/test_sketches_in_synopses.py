"""Sketches kept by interval and basic interval synopses: every window of every group against the naive answer.

Few values per group: there the sketches are exact, so any cut of the stream and any order of merging must be, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.model import Scalar
from queries.types import Type
from synopses.aggregates import AGGREGATES
from synopses.algebra import Component
from synopses.basic_interval import BasicIntervalSynopsis
from synopses.choice import IllegalSynopsis, choose_kind
from synopses.interval import IntervalSynopsis
from synopses.keys import KeyTree
from synopses.partials import OpenIntervals, split_states
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate
from synopses.sketches.frequent_items import FrequentItemsSketch
from synopses.sketches.hll import DistinctSketch
from synopses.sketches.kll import QuantileSketch
from synopses.synopsis import Synopsis
from tests.sketches.approximate_reading import call

X, KEY = Scalar("x", Type.INT, ("x",)), Scalar("k", Type.STRING, ("k",))
COMPONENTS: tuple[Component, ...] = (DistinctSketch(X), QuantileSketch(X), FrequentItemsSketch(X))
NEED = Preaggregation(None, (KEY,), COMPONENTS)
Record = tuple[int, str, int | None]

streams = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.none() | st.integers(-4, 4)), max_size=60)


def _pieces(records: Sequence[Record], cuts: Sequence[int]) -> list[pa.Table]:
    bounds = sorted({0, len(records), *(cut % (len(records) + 1) for cut in cuts)})
    tables = []
    for start, end in pairwise(bounds):
        intervals, keys, values = zip(*records[start:end], strict=True)
        columns = {INTERVAL: pa.array(intervals, pa.int64()), "k": pa.array(keys), "x": pa.array(values, pa.int32())}
        tables.append(preaggregate(pa.table(columns), {KEY: "k", X: "x"}, NEED))
    return tables


@pytest.mark.slow
@pytest.mark.parametrize("make", [BasicIntervalSynopsis, IntervalSynopsis])
@given(records=streams, cuts=st.lists(st.integers(0, 60), max_size=4), windows=st.sets(st.integers(1, 8), min_size=1))
def test_every_window_of_every_group(
    make: Callable[[Sequence[Component], int], Synopsis], records: list[Record], cuts: list[int], windows: set[int]
) -> None:
    node = KeyTree().node(NEED.keys)
    waiting, synopsis = OpenIntervals(COMPONENTS), make(COMPONENTS, 8)
    for table in _pieces(records, cuts):
        waiting.add(*split_states(table, NEED, node))
    for now in range(10):
        synopsis.update(waiting.close(now))
        for window, found in synopsis.probe(sorted(windows), node.size):
            keys = node.decode(found.codes)[0].to_pylist()
            states = dict(zip(COMPONENTS, found.states, strict=True))
            groups: dict[str, list[int]] = {}
            for interval, key, value in records:
                if now - window < interval <= now:
                    groups.setdefault(key, []).extend([value] if value is not None else [])
            assert sorted(keys) == sorted(groups)
            distinct = AGGREGATES["APPROX_COUNT_DISTINCT"].lower(
                call("APPROX_COUNT_DISTINCT", Type.INT, result=Type.BIGINT), states
            )
            assert distinct.to_pylist() == [len(set(groups[key])) for key in keys]
            median = AGGREGATES["APPROX_QUANTILE"].lower(call("APPROX_QUANTILE", Type.INT, 0.5), states)
            naive = [sorted(groups[key])[(len(groups[key]) + 1) // 2 - 1] if groups[key] else None for key in keys]
            assert median.to_pylist() == naive
            for row, key in enumerate(keys):
                one = {COMPONENTS[2]: (found.states[2][0][row : row + 1],)}
                rows = AGGREGATES["APPROX_TOP_K"].lower_items(call("APPROX_TOP_K", Type.INT, 3), one, {})
                assert dict(zip(rows.item.to_pylist(), rows.count.to_pylist(), strict=True)) == Counter(groups[key])


def test_states_handed_out_survive_longer_windows_and_later_updates() -> None:
    """A sketch is never changed once it is in a state."""
    component = QuantileSketch(X)
    synopsis = BasicIntervalSynopsis((component,), 4)
    rng = np.random.default_rng(1)
    tables = []
    for _ in range(4):
        values = pa.array(rng.integers(0, 1000, 3000), pa.int32())
        records = pa.table({INTERVAL: np.zeros(3000, dtype=np.int64), "x": values})
        tables.append(preaggregate(records, {X: "x"}, Preaggregation(None, (), (component,))))
    need = Preaggregation(None, (), (component,))
    for table in tables:
        waiting = OpenIntervals((component,))
        waiting.add(*split_states(table, need, KeyTree().root))
        synopsis.update(waiting.close(0))
    sizes = [found.states[0][0][0].n for _, found in synopsis.probe([1, 2, 4], 1)]
    held = [found.states[0][0][0] for _, found in synopsis.probe([1, 2, 4], 1)]
    assert sizes == [sketch.n for sketch in held] == [3000, 6000, 12000]


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_running_synopsis_of_a_sketch_is_refused(component: Component) -> None:
    with pytest.raises(IllegalSynopsis, match="not subtractable"):
        choose_kind(component, 16, forced="running")
