"""APPROX_TOP_K: bounds that always hold, every type, NULLs, any order of merging."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.types import Type
from synopses.sketches.frequent_items import GREATEST_LG_SIZE, LEAST_LG_SIZE, count_error, lg_size_for
from tests.sketches.approximate_reading import items


@pytest.mark.parametrize("seed", range(20))
def test_bounds_always_hold_and_no_heavy_item_is_missed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.zipf(1.2, 20_000) % 5_000
    pieces = [pa.array(values[start::7]) for start in rng.permutation(7)]
    rows = items(Type.BIGINT, (3, 128), pieces)
    counts = Counter(values.tolist())
    for item, estimate, low, high in rows:
        assert low <= counts[item] <= high
        assert low <= estimate <= high
        assert high - low <= count_error(7) * len(values)
    known = {item for item, *_ in rows}
    assert {item for item, count in counts.items() if count > count_error(7) * len(values)} <= known


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=30), max_size=5))
def test_few_items_are_counted_exactly(pieces: list[list[str]]) -> None:
    rows = items(Type.STRING, (3,), [pa.array(piece, type=pa.string()) for piece in pieces])
    counts = Counter(item for piece in pieces for item in piece)
    assert sorted(rows) == sorted((item, count, count, count) for item, count in counts.items())


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (Type.STRING, ["", "a", "", "ä\n"]),
        (Type.BIGINT, [2**63 - 1, -(2**63), 0, 0]),
        (Type.DOUBLE, [0.1, 1e300, 5e-324, 0.1, float("inf"), 1 / 3]),
        (Type.BOOLEAN, [True, False, True]),
        (Type.DATE, [date(2026, 1, 1), date(1960, 1, 1)]),
        (Type.TIMESTAMP, [datetime(2026, 1, 1, 1, 2, 3, 4, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)]),
    ],
)
def test_items_come_back_in_their_type_and_nulls_do_not_count(type_: Type, values: list[Any]) -> None:
    rows = items(type_, (5,), [pa.array([*values, None])])
    assert {item: count for item, count, *_ in rows} == Counter(values)


def test_zeros_are_one_item_and_so_are_nans() -> None:
    rows = items(Type.DOUBLE, (5,), [pa.array([0.0, -0.0, float("nan"), float("nan")])])
    assert sorted((str(item), count) for item, count, *_ in rows) == [("0.0", 2), ("nan", 2)]


def test_nothing_seen_gives_no_rows() -> None:
    assert items(Type.STRING, (5,), []) == []
    assert items(Type.STRING, (5,), [pa.array([None], type=pa.string())]) == []


def test_sizes() -> None:
    assert [lg_size_for(size) for size in (1, 8, 9, 4096, 1e12)] == [LEAST_LG_SIZE, 3, 4, 12, GREATEST_LG_SIZE]
    for error in (0.1, 0.01, 0.001):
        assert count_error(lg_size_for(error)) <= error < count_error(lg_size_for(error) - 1)
