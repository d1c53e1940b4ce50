"""Each synopsis of each legal aggregate equals recomputation from raw records, for any stream, cut and order."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries.types import Type
from synopses.choice import legal_kinds_of
from synopses.naive import Record, recompute, window
from tests.synopses.feeding import Fed, call

EXAMPLES = max(settings.default.max_examples // 4, 1)
"""A quarter of the profile's: there are many pairings here."""

KINDS = ("running", "interval", "basic_interval")
NUMERIC = ("ROWS", "COUNT", "SUM", "AVG", "MIN", "MAX", "VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP")
HOLISTIC = (("COUNT_DISTINCT", None), ("QUANTILE", 0.0), ("QUANTILE", 0.9), ("QUANTILE", 1.0), ("QUANTILE_CONT", 0.5))

small = st.integers(-1000, 1000)
wide = st.one_of(small, st.integers(-(2**63), 2**63 - 1))
around_32_bits = st.one_of(small, st.integers(-(2**32), 2**32), st.sampled_from([2**25, -(2**25), 2**31, -(2**31)]))
plain = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 6))
wild = st.one_of(plain, st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e300, 0.0, -0.0]))
groups = st.sampled_from(["a", "b", "c", "d", None])


def streams(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Record]]:
    return st.lists(st.builds(Record, st.integers(0, 24), groups, st.none() | values), max_size=60)


def agree(found: Any, expected: Any, values: list[Any]) -> bool:
    """Integers and everything ordered: equal. Doubles: within 1e-9 of the magnitudes that went in."""
    if isinstance(found, float) and isinstance(expected, float):
        if math.isnan(found) or math.isnan(expected) or math.isinf(expected):
            return math.isnan(found) == math.isnan(expected) and (math.isnan(found) or found == expected)
        scale = max([abs(value) for value in values if value is not None and math.isfinite(value)], default=0.0)
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9 * max(scale, abs(expected)))
    return bool(found == expected) and type(found) is type(expected)


def check(fed: Fed, records: list[Record], windows: list[int], b: int, age: int, end: int) -> None:
    found = fed.answers(windows, age)
    assert {n for n, _ in found} == set(windows)
    for (n, wanted), answers in found.items():
        reach = min(n, max(b - age, 0))
        expected = window(records, end - age, reach)
        assert set(answers) == set(expected)
        for group, values in expected.items():
            function = "ROWS" if wanted.argument is None else wanted.function
            right = recompute(function, values, wanted.parameters[0] if wanted.parameters else None)
            assert agree(answers[group], right, values), (n, function, group, answers[group], right)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type_", [Type.BIGINT, Type.DOUBLE], ids=["integers", "doubles"])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_every_legal_aggregate_over_numbers(kind: str, type_: Type, data: st.DataObject) -> None:
    records = data.draw(streams(small if type_ is Type.BIGINT else plain))
    windows = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    age = data.draw(st.integers(0, 4))
    b = max(windows) + data.draw(st.integers(0, 4))
    end = data.draw(st.integers(0, 30))
    calls = [call(name, type_) for name in NUMERIC if kind in legal_kinds_of(call(name, type_))]
    pieces, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 99))
    seen = [record for record in records if record.interval < end]
    fed = Fed(seen, calls, type_, b, kind=kind, pieces=pieces, seed=seed, intervals=end)
    check(fed, seen, windows, b, age, end)


@pytest.mark.parametrize("kind", ("interval", "basic_interval"))
@settings(max_examples=EXAMPLES)
@given(records=streams(small), windows=st.lists(st.integers(1, 12), min_size=1, max_size=5), pieces=st.integers(1, 3))
def test_counters_of_holistic_aggregates(kind: str, records: list[Record], windows: list[int], pieces: int) -> None:
    calls = [call(name, Type.BIGINT, parameter) for name, parameter in HOLISTIC]
    fed = Fed(records, calls, Type.BIGINT, 12, kind=kind, counters=True, pieces=pieces, intervals=25)
    check(fed, records, windows, 12, 0, 25)


@settings(max_examples=EXAMPLES)
@given(records=streams(plain), windows=st.lists(st.integers(1, 12), min_size=1, max_size=5), age=st.integers(0, 3))
def test_components_of_one_need_in_synopses_of_different_kinds(
    records: list[Record], windows: list[int], age: int
) -> None:
    calls = [call(name, Type.DOUBLE) for name in NUMERIC]
    need_kinds = {"Rows": "running", "Count": "running", "Total": "running", "Least": "interval"}
    fed = Fed(records, calls, Type.DOUBLE, 15)
    kinds = tuple(need_kinds.get(type(component).__name__, "basic_interval") for component in fed.need.components)
    assert set(kinds) == set(KINDS)
    fed = Fed(records, calls, Type.DOUBLE, 15, kinds=kinds, intervals=25)
    check(fed, records, windows, 15, age, 25)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES)
@given(records=streams(wide), windows=st.lists(st.integers(1, 9), min_size=1, max_size=4), pieces=st.integers(1, 3))
def test_integer_sums_are_exact_beyond_64_bits(
    kind: str, records: list[Record], windows: list[int], pieces: int
) -> None:
    check_exact(records, windows, kind, pieces)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES)
@given(
    records=streams(around_32_bits),
    windows=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    pieces=st.integers(1, 3),
)
def test_integer_sums_are_exact_beyond_32_bits(
    kind: str, records: list[Record], windows: list[int], pieces: int
) -> None:
    check_exact(records, windows, kind, pieces)


def check_exact(records: list[Record], windows: list[int], kind: str, pieces: int) -> None:
    fed = Fed(records, [call("SUM", Type.BIGINT), call("ROWS", Type.BIGINT)], Type.BIGINT, 9, kind=kind, pieces=pieces)
    end = max((record.interval + 1 for record in records), default=0)
    for (n, wanted), answers in fed.answers(windows).items():
        function = "ROWS" if wanted.argument is None else "SUM"
        expected = {key: recompute(function, values) for key, values in window(records, end, n).items()}
        assert {key: None if value is None else int(value) for key, value in answers.items()} == expected


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES)
@given(records=streams(wild), windows=st.lists(st.integers(1, 9), min_size=1, max_size=4), age=st.integers(0, 3))
def test_nan_and_infinity_leave_with_their_interval(
    kind: str, records: list[Record], windows: list[int], age: int
) -> None:
    names = [name for name in ("SUM", "AVG", "MIN", "MAX") if kind in legal_kinds_of(call(name, Type.DOUBLE))]
    fed = Fed(records, [call(name, Type.DOUBLE) for name in names], Type.DOUBLE, 12, kind=kind, intervals=25)
    check(fed, records, windows, 12, age, 25)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ORDERED: dict[Type, st.SearchStrategy[Any]] = {
    Type.STRING: st.text("abcé€😀", max_size=3),
    Type.DATE: st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    Type.TIMESTAMP: st.integers(-(10**15), 10**15).map(lambda us: EPOCH + timedelta(microseconds=us)),
    Type.BOOLEAN: st.booleans(),
}


@pytest.mark.parametrize("kind", ("interval", "basic_interval"))
@pytest.mark.parametrize("type_", ORDERED, ids=lambda type_: type_.value)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_extremes_of_everything_that_has_an_order(kind: str, type_: Type, data: st.DataObject) -> None:
    records = data.draw(streams(ORDERED[type_]))
    windows = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    fed = Fed(records, [call("MIN", type_), call("MAX", type_)], type_, 12, kind=kind, pieces=2, intervals=25)
    check(fed, records, windows, 12, 0, 25)
