"""Cells: disjoint, and every predicate is exactly the union of its cells, in numpy and in Spark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.types import Type
from sharing.predicates import Domain
from sharing.predicates.cells import OUTSIDE, Cells, cut
from sharing.predicates.constants import Key
from sharing.predicates.wording import domain_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(cells: Cells, domains: list[Domain], values: list[Key | None], numbers: list[int]) -> None:
    """The cell numbers of the values say of every domain whether it holds them."""
    for index, domain in enumerate(domains):
        members = set(cells.members(index).tolist())
        assert [number in members for number in numbers] == [domain.contains(value) for value in values]
    assert all(number == OUTSIDE or 0 <= number < cells.count for number in numbers)


def test_a_thousand_ranges_make_a_thousand_cells_and_the_outside() -> None:
    domains = [Domain.compare(Type.INT, "<", 10 * c) for c in range(1000)]
    cells = cut(domains)
    assert cells.count == 1000 and cells.has_outside
    assert cells.runs[700] == ((0, 701),), "a range predicate is one run of cells"
    assert cells.assign([None, -5, 0, 9, 10, 9989, 9990]).tolist() == [OUTSIDE, 0, 1, 1, 2, 999, OUTSIDE]
    assert cells.domain(1) == domains[1] - domains[0]


def test_values_that_no_predicate_tells_apart_are_one_cell() -> None:
    cells = cut([Domain.points(Type.STRING, ["TCP", "UDP", "ICMP"]), Domain.compare(Type.STRING, "=", "TCP")])
    assert cells.count == 2
    assert cells.assign(["ICMP", "TCP", "UDP", "X", None]).tolist() == [0, 1, 0, OUTSIDE, OUTSIDE]
    assert [cells.members(i).tolist() for i in (0, 1)] == [[0, 1], [1]]


def test_null_is_in_the_cells_when_it_is_asked_for() -> None:
    cells = cut([~Domain.compare(Type.INT, "=", 5), Domain.null(Type.INT)])
    assert cells.assign([None, 4, 5]).tolist() == [0, 1, OUTSIDE]
    everything = cut([Domain.everything(Type.INT)])
    assert everything.count == 1 and not everything.has_outside and everything.cell_sql("p") == "0"


keys: dict[Type, st.SearchStrategy[Any]] = {
    Type.TINYINT: st.integers(-128, 127),
    Type.DOUBLE: st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 1e300, math.inf, math.nan]),
    Type.STRING: st.text(alphabet="ab\0é", max_size=2),
    Type.DATE: st.integers(-3, 3),
}
ops = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@given(st.data(), st.sampled_from(list(keys)))
def test_every_domain_is_the_union_of_its_cells(data: st.DataObject, type_: Type) -> None:
    comparisons = data.draw(st.lists(st.tuples(ops, keys[type_], st.booleans()), min_size=1, max_size=8))
    domains = [
        Domain.compare(type_, op, key) | (Domain.null(type_) if null else Domain.nothing(type_))
        for op, key, null in comparisons
    ]
    values = [None, *data.draw(st.lists(keys[type_], max_size=20))]
    cells = cut(domains)
    check(cells, domains, values, cells.assign(values).tolist())
    parts = [cells.domain(number) for number in range(OUTSIDE, cells.count)]
    assert all(a.isdisjoint(b) for i, a in enumerate(parts) for b in parts[:i])
    assert cells.line.domain(2 ** len(cells.line) - 1).full
    for index, domain in enumerate(domains):
        union = Domain.nothing(type_)
        for number in cells.members(index):
            union = union | cells.domain(int(number))
        assert union == domain


def test_assign_takes_arrays() -> None:
    cells = cut([Domain.compare(Type.BIGINT, "<", 5), Domain.compare(Type.BIGINT, "<", 8)])
    assert cells.assign(np.array([4, 5, 7, 8])).tolist() == [0, 1, 1, OUTSIDE]


SPARK_CASES: dict[Type, tuple[list[Key], list[Key | None]]] = {
    Type.INT: ([10 * c for c in range(-50, 50)], [None, -(2**31), -501, -500, -1, 0, 1, 489, 490, 491, 2**31 - 1]),
    Type.DOUBLE: (
        [c / 7 for c in range(-50, 50)] + [-math.inf, math.inf, math.nan],
        [None, -math.inf, -50 / 7, math.nextafter(3 / 7, 1), 3 / 7, -0.0, 0.0, 1e300, math.inf, math.nan],
    ),
    Type.STRING: (
        [f"host{c}" for c in range(100)] + ["", "é", "it's \\"],
        [None, "", "\0", "host", "host1", "host1\0", "host10", "host99", "it's \\", "z", "é", "\U0001f600"],
    ),
    Type.DATE: (list(range(-50, 50)), [None, -51, -50, 0, 49, 50]),
    Type.TIMESTAMP: ([1_000_000 * c for c in range(-50, 50)], [None, -1, 0, 1, 999_999, 1_000_000, 10**15]),
}
FROM_KEY = {Type.DATE: "DATE_FROM_UNIX_DATE(CAST(x AS INT))", Type.TIMESTAMP: "TIMESTAMP_MICROS(x)"}


@pytest.mark.parametrize("many", [False, True], ids=["as CASE", "by binary search"])
@pytest.mark.parametrize("type_", list(SPARK_CASES), ids=lambda type_: type_.value)
def test_spark_finds_the_same_cells(spark: SparkSession, type_: Type, many: bool) -> None:
    given_keys, values = SPARK_CASES[type_]
    if not many:
        given_keys = given_keys[::12] + given_keys[-3:]
    each = ["<", "<=", "=", ">"]
    domains = [Domain.compare(type_, each[i % 4], key) for i, key in enumerate(given_keys)] + [Domain.null(type_)]
    cells = cut(domains)
    sql = cells.cell_sql("a`x")
    assert ("AGGREGATE" in sql) == many
    column = {Type.STRING: "STRING", Type.DOUBLE: "DOUBLE"}.get(type_, "BIGINT")
    frame = spark.createDataFrame(list(enumerate(values)), f"i INT, x {column}")
    typed = frame.selectExpr("i", f"{FROM_KEY.get(type_, f'CAST(x AS {type_.value})')} AS `a``x`")
    held = [f"COALESCE({domain_sql('a`x', domain)}, FALSE) AS d{j}" for j, domain in enumerate(domains)]
    rows = typed.selectExpr("i", f"{sql} AS c", *held).orderBy("i").collect()
    numbers = [row.c for row in rows]
    assert numbers == cells.assign(values).tolist()
    check(cells, domains, values, numbers)
    assert [list(row[2:]) for row in rows] == [[domain.contains(value) for domain in domains] for value in values]
