from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.durations import DurationError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("250 ms", 250_000),
        ("500ms", 500_000),
        ("7us", 7),
        ("5 s", 5_000_000),
        ("5s", 5_000_000),
        ("10 min", 600_000_000),
        ("10m", 600_000_000),
        ("10 minutes", 600_000_000),
        ("2 h", 7_200_000_000),
        ("1.5 hours", 5_400_000_000),
        ("1 day", 86_400_000_000),
        ("1d", 86_400_000_000),
        (" 2  WEEKS ", 1_209_600_000_000),
        ("0s", 0),
        ("-1 s", -1_000_000),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    "text", ["", "5", "min", "5 parsecs", "1 h 30 min", "0.1 us", "1e3 s", "200 years", "99999 weeks"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(DurationError):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**15))
def test_a_formatted_duration_reads_back(length: int) -> None:
    assert parse_duration(format_duration(length)) == length


def test_the_longest_unit_that_fits_is_used() -> None:
    assert [format_duration(n) for n in (0, 90_000_000, 120_000_000, 86_400_000_000, 1_500)] == [
        "0 s",
        "90 s",
        "2 min",
        "1 day",
        "1500 us",
    ]
