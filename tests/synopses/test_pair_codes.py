"""Pairs keep their codes, whether a table or a dictionary holds them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synopses.pair_codes import CODE_BITS, PairCodes

places = st.one_of(st.integers(0, 40), st.integers(0, 2**31 - 1))


@given(st.lists(st.lists(st.tuples(places, places), max_size=20), max_size=8))
def test_a_pair_has_one_code_for_ever(batches: list[list[tuple[int, int]]]) -> None:
    codes = PairCodes()
    known: dict[tuple[int, int], int] = {}
    for batch in batches:
        parents, values = np.array(batch, dtype=np.int64).reshape(-1, 2).T
        for pair, code in zip(batch, codes.encode(parents, values).tolist(), strict=True):
            assert known.setdefault(pair, code) == code
    assert sorted(known.values()) == list(range(codes.size))
    for (parent, value), code in known.items():
        assert int(codes.pairs(np.array([code]))[0]) == parent << CODE_BITS | value


@given(st.sets(st.tuples(places, places), max_size=30))
def test_forgetting_renumbers_in_the_order_given(pairs: set[tuple[int, int]]) -> None:
    packed = np.array([parent << CODE_BITS | value for parent, value in pairs], dtype=np.int64)
    codes = PairCodes.of(packed)
    parents, values = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    assert codes.encode(parents, values).tolist() == list(range(len(pairs)))
