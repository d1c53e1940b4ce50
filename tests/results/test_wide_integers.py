"""Which integers get a column that can hold more than 64 bits."""

from __future__ import annotations

import pytest

from queries.model import AggregateCall, Call, Expression, Literal, Output, Ref, Scalar, Select, StreamWindow
from queries.types import Type
from results.wide_integers import may_be_wide

BIG = Type.BIGINT
LENGTH = Scalar("length", BIG, ("length",))
FUNCTIONS = ("COUNT", "SUM", "MAX", "QUANTILE", "COUNT_DISTINCT")
INNER = Select(
    StreamWindow("packets", 10, 10),
    where=None,
    keys=(Scalar("port", BIG, ("port",)),),
    aggregates=tuple(AggregateCall(function, LENGTH, (), BIG) for function in FUNCTIONS),
    outputs=(
        Output("port", Ref("k0", BIG), True),
        Output("n", Ref("a0", BIG), False),
        Output("sum", Ref("a1", BIG), False),
    ),
)
COUNT, SUM, MAX, QUANTILE, DISTINCT = (Ref(f"a{i}", BIG) for i in range(5))
ONE = Literal(1, Type.INT)


def outer(function: str, column: str) -> Select:
    argument = Ref(column, BIG)
    return Select(INNER, None, (argument,), (AggregateCall(function, argument, (), BIG),), ())


def call(op: str, *args: Expression, type: Type = BIG) -> Call:
    return Call(op, args, type)


@pytest.mark.parametrize("value", [COUNT, MAX, QUANTILE, DISTINCT, Ref("k0", BIG), ONE, call("COALESCE", MAX, ONE)])
def test_what_is_counted_or_picked_fits(value: Expression) -> None:
    assert not may_be_wide(Output("x", value, False), INNER)


@pytest.mark.parametrize(
    "value",
    [
        SUM,
        call("+", COUNT, ONE),
        call("COALESCE", SUM, ONE),
        call("CASE", Literal(True, Type.BOOLEAN), SUM, ONE),
        call("NEG", MAX),
        call("CAST", SUM),
        Literal(2**63, BIG),
    ],
)
def test_sums_and_arithmetic_may_not_fit(value: Expression) -> None:
    assert may_be_wide(Output("x", value, False), INNER)


def test_only_integers_are_wide() -> None:
    assert not may_be_wide(Output("x", call("/", SUM, COUNT, type=Type.DOUBLE), False), INNER)
    assert not may_be_wide(Output("x", call(">", SUM, COUNT, type=Type.BOOLEAN), False), INNER)


def test_the_second_level_inherits() -> None:
    for ref in (Ref("a0", BIG), Ref("k0", BIG)):
        assert may_be_wide(Output("x", ref, False), outer("MAX", "sum"))
        assert not may_be_wide(Output("x", ref, False), outer("MAX", "n"))
    assert may_be_wide(Output("x", Ref("a0", BIG), False), outer("SUM", "n"))
    assert not may_be_wide(Output("x", Ref("a0", BIG), False), outer("COUNT", "sum"))
