"""Grouping by integer keys gives what Arrow's hash aggregation gives, by a table of places and by sorting."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synopses import integer_groups as module
from synopses.algebra import Reduction
from synopses.integer_groups import integer_groups

LEAST, MOST = -(2**63), 2**63 - 1
REDUCTIONS = [
    (Reduction(None, "count_all"), ""),
    (Reduction("", "count"), "x"),
    (Reduction("", "sum"), "x"),
    (Reduction("", "min"), "y"),
    (Reduction("", "max"), "y"),
]
keys = st.none() | st.integers(-3, 3) | st.sampled_from([LEAST + 1, LEAST + 2, MOST - 1, MOST, -(2**40), 2**40])
rows = st.tuples(
    st.integers(-2, 2),
    st.none() | st.integers(-128, 127),
    keys,
    st.none() | st.integers(-(2**55), 2**55),
    st.integers(-(2**31), 2**31 - 1),
)
TYPES = {"interval": pa.int64(), "k0": pa.int8(), "k1": pa.int64(), "x": pa.int64(), "y": pa.int32()}


def table_of(found: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*found, strict=True)
    return pa.table({name: pa.array(list(column), TYPES[name]) for name, column in zip(TYPES, columns, strict=True)})


def by_arrow(table: pa.Table, group_by: list[str]) -> list[Any]:
    wanted = [([] if r.column is None else column, r.function, r.options) for r, column in REDUCTIONS]
    grouped = table.group_by(group_by, use_threads=False).aggregate(wanted)
    sums = grouped["x_sum"].combine_chunks().fill_null(0)
    columns = [*(grouped[name] for name in group_by), grouped["count_all"], grouped["x_count"], sums]
    return _rows([*columns, grouped["y_min"], grouped["y_max"]])


def _rows(columns: list[Any]) -> list[Any]:
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=repr)


@pytest.mark.parametrize("places_per_row", [0, 1 << 40], ids=["sorted", "tabled"])
@given(found=st.lists(rows, min_size=1, max_size=40), finest=st.booleans())
@example(found=[(0, 0, MOST - 1, 2**60, 0), (0, 0, MOST - 1, 2**60 + 1, 0), (0, 0, MOST, 1, 0)], finest=True)
@example(found=[(0, None, None, None, 5), (0, None, None, None, 3)], finest=True)
def test_as_arrow_groups(places_per_row, found, finest):
    table, group_by = table_of(found), ["interval", "k0", *(["k1"] if finest else [])]
    tallest = max((abs(row[2] or 0) for row in found), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TABLE", places_per_row if tallest <= 3 or not finest else 0)
        ours = integer_groups(table, group_by, REDUCTIONS)
    if ours is None:
        assert finest and tallest > 2**20, "only keys that are far apart are left to Arrow"
        return
    assert _rows(ours.columns) == by_arrow(table, group_by)
    assert ours.schema.types[: len(group_by)] == [TYPES[name] for name in group_by]
    assert ours.schema.types[len(group_by) :] == [pa.int64(), pa.int64(), pa.int64(), pa.int32(), pa.int32()]


def test_keys_come_in_ascending_order():
    ours = integer_groups(table_of([(1, 2, 0, 1, 1), (0, 5, 0, 1, 1), (0, None, 0, 1, 1)]), ["interval", "k0"], [])
    assert ours is not None
    assert ours.to_pydict() == {"interval": [0, 0, 1], "k0": [None, 5, 2]}


@pytest.mark.parametrize(
    ("key", "reduction", "value"),
    [
        (pa.array([1.0]), Reduction("", "sum"), pa.array([1])),
        (pa.array(["a"]), Reduction("", "sum"), pa.array([1])),
        (pa.array([LEAST]), Reduction("", "sum"), pa.array([1])),
        (pa.array([1]), Reduction("", "sum"), pa.array([1.0])),
        (pa.array([1]), Reduction("", "min"), pa.array([None], pa.int32())),
        (pa.array([1]), Reduction("", "mean"), pa.array([1])),
    ],
)
def test_the_rest_is_left_to_arrow(key, reduction, value):
    assert integer_groups(pa.table({"k": key, "x": value}), ["k"], [(reduction, "x")]) is None
