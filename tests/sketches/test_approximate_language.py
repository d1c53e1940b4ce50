"""Approximate aggregates in the language: their columns, names and order, and the limits the sketches really have."""

from __future__ import annotations

import pytest

from queries.approximate import PRECISIONS
from queries.language import parse_query
from queries.model import Call, Ref, Scalar, Select
from queries.types import Type
from synopses.sketches import frequent_items, hll, kll

SCHEMAS = {
    "packets": {"ts": Type.TIMESTAMP, "src": Type.STRING, "port": Type.INT, "length": Type.BIGINT, "r": Type.DOUBLE}
}
FROM = "FROM packets [WINDOW 10 min SLIDE 2 min]"


def _parsed(sql: str) -> Select:
    return parse_query("q", sql, SCHEMAS)


def _columns(select: Select) -> dict[str, Type]:
    return {output.name: output.type for output in select.outputs}


def test_a_distinct_count_has_its_bounds_beside_it() -> None:
    select = _parsed(f"SELECT APPROX_COUNT_DISTINCT(src, 0.02) AS d, COUNT(*) AS n {FROM}")
    assert _columns(select) == dict.fromkeys(("d", "d_low", "d_high", "n"), Type.BIGINT)
    assert [(call.part, call.parameters) for call in select.aggregates[:3]] == [
        (p, (0.02,)) for p in ("", "low", "high")
    ]


def test_a_quantile_keeps_its_type() -> None:
    select = _parsed(
        f"SELECT port, APPROX_QUANTILE(length, 0.9, 400) AS q, APPROX_QUANTILE(ts, 0) {FROM} GROUP BY port"
    )
    assert _columns(select) == {
        "port": Type.INT,
        **dict.fromkeys(("q", "q_low", "q_high"), Type.BIGINT),
        **dict.fromkeys(
            ("approx_quantile_ts_0", "approx_quantile_ts_0_low", "approx_quantile_ts_0_high"), Type.TIMESTAMP
        ),
    }
    assert select.aggregates[0].parameters == (0.9, 400)


def test_bounds_can_be_asked_for_in_having_and_order() -> None:
    select = _parsed(
        f"SELECT port, APPROX_COUNT_DISTINCT(src) AS d {FROM} GROUP BY port HAVING d_low > 5 ORDER BY d_high"
    )
    low, high = (
        next(f"a{i}" for i, call in enumerate(select.aggregates) if call.part == part) for part in ("low", "high")
    )
    assert isinstance(select.having, Call)
    assert select.having.args[0] == Ref(low, Type.BIGINT)
    assert select.order[0].value == Ref(high, Type.BIGINT)


def test_inside_an_expression_there_is_only_the_answer() -> None:
    select = _parsed(f"SELECT COUNT(*) / APPROX_COUNT_DISTINCT(src) AS per_source {FROM}")
    assert list(_columns(select)) == ["per_source"]


def test_bounds_are_columns_of_a_sub_query() -> None:
    inner = f"SELECT port, APPROX_COUNT_DISTINCT(src) AS d {FROM} GROUP BY port"
    assert _columns(_parsed(f"SELECT MAX(d_high) AS most FROM ({inner})")) == {"most": Type.BIGINT}


def test_items_come_heaviest_first() -> None:
    select = _parsed(f"SELECT APPROX_TOP_K(port, 7) AS top {FROM}")
    assert _columns(select) == {"top": Type.INT, **dict.fromkeys(("top_count", "top_low", "top_high"), Type.BIGINT)}
    assert [(term.value, term.descending) for term in select.order] == [
        (Ref("a1", Type.BIGINT), True),
        (Ref("a0", Type.INT), False),
    ]
    assert select.limit == 7


def test_lists_report_all_that_exceed_delta() -> None:
    select = _parsed(f"SELECT (TOP_K_LISTS(src, 5) FILTER (WHERE port = 80)) AS top {FROM}")
    assert list(_columns(select)) == ["top", "top_count", "top_low", "top_high", "top_delta"]
    assert (select.limit, select.ordered) == (None, True)


@pytest.mark.parametrize(("weight", "type_"), [("length", Type.BIGINT), ("r", Type.DOUBLE)])
def test_weights_that_could_break_the_promise_weigh_nothing(weight: str, type_: Type) -> None:
    select = _parsed(f"SELECT TOP_K_LISTS(src, 5, {weight}) AS top {FROM}")
    assert _columns(select)["top_count"] == _columns(select)["top_delta"] == type_
    scalar = select.aggregates[0].weight
    assert isinstance(scalar, Scalar)
    assert scalar.columns == tuple(sorted((weight, "src")))
    assert "NULL" in scalar.sql
    assert f"`{weight}` > 0" in scalar.sql


def test_what_the_language_allows_the_sketches_can_do() -> None:
    distinct, quantile, top_k = (PRECISIONS[f"APPROX_{name}"] for name in ("COUNT_DISTINCT", "QUANTILE", "TOP_K"))
    assert hll.relative_error(hll.lg_k_for(distinct.least_error)) <= distinct.least_error
    assert kll.rank_error(kll.k_for(quantile.least_error)) <= quantile.least_error
    assert frequent_items.count_error(frequent_items.lg_size_for(top_k.least_error)) <= top_k.least_error
    assert 1 << hll.lg_k_for(distinct.most) == distinct.most
    assert kll.k_for(quantile.most) == quantile.most
    assert 1 << frequent_items.lg_size_for(top_k.most) == top_k.most
