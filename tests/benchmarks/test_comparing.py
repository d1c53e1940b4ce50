"""When two runs of the benchmarks count as alike."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.comparing import compare


def run(ratio: float = 6.0, **seconds: float) -> dict[str, Any]:
    """A summary with one ratio and one benchmark with these contenders."""
    listed = {"key": "refresh 0", "what": "refresh", "against": "DuckDB", "measured": ratio}
    return {"ratios": [listed], "contenders": {"refresh": seconds}}


@pytest.mark.parametrize(("now", "alike"), [(6.0, True), (9.0, True), (9.1, False), (4.0, True), (3.9, False)])
def test_ratios_are_alike_within_half_as_much_again(now: float, alike: bool) -> None:
    assert compare(run(6.0), run(now)).alike is alike


def test_contenders_that_change_places_make_runs_differ() -> None:
    found = compare(run(ours=1.0, polars=2.0, duckdb=4.0), run(ours=1.0, polars=4.0, duckdb=2.0))
    assert [pair.split(" (")[0] for pair in found.swapped] == ["refresh: polars and duckdb"]
    assert not found.alike


def test_contenders_that_were_as_good_as_equal_may_change_places() -> None:
    found = compare(run(polars=1.0, duckdb=1.05), run(polars=1.4, duckdb=1.0))
    assert (len(found.tied), found.swapped, found.alike) == (1, (), True)


def test_what_only_one_run_has_is_told_and_decides_nothing() -> None:
    earlier, now = run(ours=1.0, bytewax=2.0), run(ours=1.0)
    now["ratios"][0]["key"] = "refresh 1"
    found = compare(earlier, now)
    assert (found.ratios, found.unpaired, found.alike) == ((), ("refresh 0", "refresh 1"), True)
