"""A value keeps its code, whether a table or a dictionary holds it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from queries.types import Type
from synopses.keys import KeyValues

integers = st.one_of(st.integers(0, 30), st.integers(65_530, 65_540), st.integers(-(2**63), 2**63 - 1))
batches = st.lists(st.lists(st.none() | integers, max_size=12), max_size=8)


@given(batches, st.booleans())
def test_integers_small_large_negative_and_missing(batches: list[list[int | None]], nulls: bool) -> None:
    values = KeyValues(Type.BIGINT)
    known: dict[int | None, int] = {}
    for batch in batches:
        column = [value for value in batch if nulls or value is not None]
        for value, code in zip(column, values.encode(pa.array(column, pa.int64())).tolist(), strict=True):
            assert known.setdefault(value, code) == code
    assert [values.array().to_pylist()[code] for code in known.values()] == list(known)
    assert sorted(known.values()) == list(range(len(values)))


@given(batches, st.data())
def test_forgotten_values_come_back_as_new_ones(batches: list[list[int | None]], data: st.DataObject) -> None:
    values = KeyValues(Type.BIGINT)
    for batch in batches:
        values.encode(pa.array(batch, pa.int64()))
    kept = sorted(data.draw(st.sets(st.integers(0, len(values) - 1)))) if len(values) else []
    left = [values.array().to_pylist()[code] for code in kept]
    values.keep(np.array(kept, dtype=np.int64))
    for batch in batches:
        codes = values.encode(pa.array(batch, pa.int64())).tolist()
        assert [values.array().to_pylist()[code] for code in codes] == batch
    assert values.array().to_pylist()[: len(left)] == left
