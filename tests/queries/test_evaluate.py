"""Expressions above aggregates: SQL's NULLs, Spark's NaN, exact integers; judged by DuckDB where it agrees."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.errors import RunError
from queries.evaluate import evaluate
from queries.language import parse_query
from queries.model import Call, Literal, Ref
from queries.types import Type

A, B = Ref("a0", Type.BIGINT), Ref("a1", Type.BIGINT)
X, Y = Ref("x", Type.DOUBLE), Ref("y", Type.DOUBLE)
NAN = float("nan")


NUMBERS = st.one_of(st.none(), st.integers(-1000, 1000))
SHAPES = ["{a} + {b} * 2", "{a} - {b}", "-{a}", "{a} / 4", "{a} = {b}", "{a} < {b} OR {b} IS NULL", "NOT {a} >= {b}",
          "CASE WHEN {a} > {b} THEN {a} WHEN {a} = {b} THEN 0 ELSE {b} END", "COALESCE({a}, {b}, 7)", "ABS({a})",
          "{a} IN (1, 2, 30)", "{a} BETWEEN -5 AND {b}", "NULLIF({a}, {b})", "{a} % 7", "{a} IS NULL AND {b} > 0",
          "SQRT(ABS({a}))", "ROUND({a} / 3.0, 2)", "FLOOR({a} / 3.0)", "GREATEST({a}, {b})",
          "LEAST({a}, {b})"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_agrees_with_duckdb(shape, rows):
    sql = f"SELECT SUM(a) AS p, SUM(b) AS q, {shape.format(a='SUM(a)', b='SUM(b)')} AS r FROM s [WINDOW 1 s]"
    select = parse_query("q", sql, {"s": {"a": Type.BIGINT, "b": Type.BIGINT}})
    columns = {"a0": pa.array([a for a, _ in rows], pa.int64()), "a1": pa.array([b for _, b in rows], pa.int64())}
    got = evaluate(select.outputs[2].value, columns, len(rows)).to_pylist()
    table = pa.table({"n": list(range(len(rows))), **columns})  # noqa: F841  DuckDB finds it by its name
    expected = duckdb.sql(f"SELECT {shape.format(a='a0', b='a1')} FROM table ORDER BY n".replace("table", '"table"'))
    for mine, (theirs,) in zip(got, expected.fetchall(), strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or mine == pytest.approx(float(theirs))


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        (">", [NAN, 1.0, NAN], [5.0, NAN, NAN], [True, False, False]),
        ("=", [NAN, 1.0, None], [NAN, NAN, NAN], [True, False, None]),
        ("<=", [NAN, 1.0, NAN], [5.0, NAN, NAN], [False, True, True]),
        ("<>", [NAN, NAN], [1.0, NAN], [True, False]),
    ],
)
def test_nan_is_the_greatest_number_and_equals_itself(op, left, right, expected):
    columns = {"x": pa.array(left, pa.float64()), "y": pa.array(right, pa.float64())}
    assert evaluate(Call(op, (X, Y), Type.BOOLEAN), columns, len(left)).to_pylist() == expected


def test_integers_do_not_wrap():
    columns = {"a0": pa.array([2**62, -5]), "a1": pa.array([2**62, 3])}
    for op, expected in (("+", [2**63, -2]), ("*", [2**124, -15]), ("-", [0, -8])):
        if op == "*":
            with pytest.raises(RunError, match="37 digits"):
                evaluate(Call(op, (A, B), Type.BIGINT), columns, 2)
        else:
            assert [int(v) for v in evaluate(Call(op, (A, B), Type.BIGINT), columns, 2).to_pylist()] == expected


def test_a_zero_divisor_gives_null():
    columns = {"a0": pa.array([6, 6]), "a1": pa.array([0, 4])}
    assert evaluate(Call("/", (A, B), Type.DOUBLE), columns, 2).to_pylist() == [None, 1.5]
    assert evaluate(Call("%", (A, B), Type.BIGINT), columns, 2).to_pylist() == [None, 2]
    assert evaluate(Call("DIV", (A, B), Type.BIGINT), columns, 2).to_pylist() == [None, 1]


def test_square_root_and_logarithm_outside_their_domain_give_null():
    columns = {"x": pa.array([-1.0, 4.0, 0.0])}
    assert evaluate(Call("SQRT", (X,), Type.DOUBLE), columns, 3).to_pylist() == [None, 2.0, 0.0]
    assert evaluate(Call("LN", (X,), Type.DOUBLE), columns, 3).to_pylist()[::2] == [None, None]


def test_literals_fill_the_column():
    assert evaluate(Literal("a", Type.STRING), {}, 2).to_pylist() == ["a", "a"]
