"""Which kind is chosen, and what is refused."""

from __future__ import annotations

import pytest

from queries.errors import HemiolaError, InputError
from queries.types import Type
from synopses.choice import (
    IllegalSynopsis,
    check_forced,
    choose_kind,
    choose_kinds,
    legal_kinds,
    legal_kinds_of,
    scan_pays_from,
)
from synopses.components import Moments
from synopses.running import RunningSynopsis
from tests.synopses.arrays import COUNT_N, MAX_N, ROWS, SUM_N, SUM_X, X
from tests.synopses.feeding import call

INTERVALS = ("interval", "basic_interval")


def test_only_what_can_be_subtracted_may_run() -> None:
    for component in (ROWS, COUNT_N, SUM_N, SUM_X):
        assert legal_kinds(component) == ("running", *INTERVALS)
    for component in (MAX_N, Moments(X)):
        assert legal_kinds(component) == INTERVALS


@pytest.mark.parametrize(
    ("function", "parameter", "legal"),
    [
        ("SUM", None, ("running", *INTERVALS)),
        ("AVG", None, ("running", *INTERVALS)),
        ("COUNT", None, ("running", *INTERVALS)),
        ("MAX", None, INTERVALS),
        ("VAR_POP", None, INTERVALS),
        ("COUNT_DISTINCT", None, INTERVALS),
        ("QUANTILE", 0.5, INTERVALS),
    ],
)
def test_legal_kinds_of_aggregates(function: str, parameter: float | None, legal: tuple[str, ...]) -> None:
    assert legal_kinds_of(call(function, Type.BIGINT, parameter)) == legal


def test_the_rule() -> None:
    assert choose_kind(SUM_N, b=64, together=1) == "running"
    assert choose_kind(SUM_N, b=64, together=1000) == "running"
    assert scan_pays_from(64) == pytest.approx(64 / 6)
    assert choose_kind(MAX_N, b=64, together=10) == "interval"
    assert choose_kind(MAX_N, b=64, together=11) == "basic_interval"
    assert choose_kind(MAX_N, b=1, together=1) == "basic_interval"
    assert choose_kinds([ROWS, MAX_N], b=64, together=2) == ("running", "interval")


def test_a_query_may_force_a_kind() -> None:
    assert choose_kind(SUM_N, b=64, forced="interval") == "interval"
    assert choose_kind(MAX_N, b=64, together=1, forced="basic_interval") == "basic_interval"


def test_running_max_is_refused_with_the_reason() -> None:
    with pytest.raises(IllegalSynopsis) as refused:
        choose_kind(MAX_N, b=64, forced="running", query="peaks")
    error = refused.value
    assert isinstance(error, InputError) and isinstance(error, HemiolaError)
    assert error.exit_code == 2
    assert error.problems[0].query == "peaks"
    assert error.legal == INTERVALS
    assert "not subtractable" in error.reason
    assert "MAX cannot be kept in a running synopsis" in str(error)


def test_forcing_is_checked_for_every_aggregate_of_a_query() -> None:
    check_forced([call("SUM", Type.BIGINT), call("AVG", Type.BIGINT)], "running")
    with pytest.raises(IllegalSynopsis, match="MAX"):
        check_forced([call("SUM", Type.BIGINT), call("MAX", Type.BIGINT)], "running", "q")
    with pytest.raises(IllegalSynopsis, match="COUNT"):
        check_forced([call("COUNT_DISTINCT", Type.BIGINT)], "running", "q")
    with pytest.raises(IllegalSynopsis, match="no such kind"):
        check_forced([call("SUM", Type.BIGINT)], "walking")


def test_the_synopsis_itself_refuses_too() -> None:
    with pytest.raises(ValueError, match="subtractable"):
        RunningSynopsis([ROWS, MAX_N], 10)
