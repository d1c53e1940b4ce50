"""SQL text to the model: what each clause becomes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from queries.language import parse_query
from queries.model import AggregateCall, Call, Literal, Order, Output, Ref, Scalar, Select, StreamWindow
from queries.sql_errors import SqlError
from queries.types import Type

Parse = Callable[[str], Select]
MINUTE = 60_000_000

SRC = Scalar("`src`", Type.STRING, ("src",))
LENGTH = Scalar("`length`", Type.BIGINT, ("length",))
BYTES = AggregateCall("SUM", LENGTH, (), Type.BIGINT)
COUNT = AggregateCall("COUNT", None, (), Type.BIGINT)


def test_top_k(parse: Parse) -> None:
    query = parse(
        "SELECT src, SUM(length) AS bytes FROM @ WHERE protocol = 'TCP' GROUP BY src ORDER BY bytes DESC LIMIT 10"
    )
    assert query == Select(
        source=StreamWindow("packets", 10 * MINUTE, 2 * MINUTE),
        where=Scalar("`protocol` = 'TCP'", Type.BOOLEAN, ("protocol",)),
        keys=(SRC,),
        aggregates=(BYTES,),
        outputs=(Output("src", Ref("k0", Type.STRING), True), Output("bytes", Ref("a0", Type.BIGINT), False)),
        order=(Order(Ref("a0", Type.BIGINT), descending=True, nulls_first=False),),
        limit=10,
    )


def test_two_levels(parse: Parse) -> None:
    query = parse(
        "SELECT QUANTILE(bytes, 0.9), COUNT(*) AS n FROM (SELECT src, SUM(length) AS bytes FROM @ GROUP BY src) t"
        " WHERE t.bytes > 10"
    )
    inner = query.source
    assert isinstance(inner, Select)
    assert query.leaf is inner
    assert inner.aggregates == (BYTES,)
    assert query.where == Call(">", (Ref("bytes", Type.BIGINT), Literal(10, Type.BIGINT)), Type.BOOLEAN)
    assert query.aggregates == (
        AggregateCall("QUANTILE", Ref("bytes", Type.BIGINT), (0.9,), Type.BIGINT),
        COUNT,
    )
    assert [output.name for output in query.outputs] == ["quantile_bytes_0_9", "n"]


def test_three_levels(parse: Parse) -> None:
    query = parse(
        "SELECT MAX(m) AS top FROM (SELECT src, MAX(b) AS m FROM"
        " (SELECT src, dst, SUM(length) AS b FROM @ GROUP BY src, dst) GROUP BY src)"
    )
    assert query.leaf.keys == (SRC, Scalar("`dst`", Type.STRING, ("dst",)))


@pytest.mark.parametrize(
    ("clause", "window", "slide"),
    [
        ("[WINDOW 10 min SLIDE 2 min]", 10 * MINUTE, 2 * MINUTE),
        ("[window 5s]", 5_000_000, 5_000_000),
        ("[WINDOW 1d SLIDE 250ms]", 86_400_000_000, 250_000),
        ("[ WINDOW 1.5 h\n SLIDE 90 s ] AS p", 90 * MINUTE, 90_000_000),
        ("[WINDOW 1 min SLIDE 5 min] p", MINUTE, 5 * MINUTE),
    ],
)
def test_the_window_clause(parse: Parse, clause: str, window: int, slide: int) -> None:
    assert parse(f"SELECT COUNT(*) FROM packets {clause}").source == StreamWindow("packets", window, slide)


def test_window_and_slide_from_the_config() -> None:
    schemas = {"s": {"x": Type.INT}}
    assert parse_query("q", "SELECT COUNT(*) FROM s", schemas, 20, 10).source == StreamWindow("s", 20, 10)
    assert parse_query("q", "SELECT COUNT(*) FROM s", schemas, 20).source == StreamWindow("s", 20, 20)
    agreed = parse_query("q", "SELECT COUNT(*) FROM s [WINDOW 2 us SLIDE 1 us]", schemas, 2, 1)
    assert agreed.source == StreamWindow("s", 2, 1)
    with pytest.raises(SqlError, match="the clause says SLIDE 2 us, the key slide: says 1 us"):
        parse_query("q", "SELECT COUNT(*) FROM s [WINDOW 2 us]", schemas, 2, 1)


@pytest.mark.parametrize(
    "group", ["upper(src)", "1", "u", "UPPER( `SRC` )", "upper(packets.src)"]
)  # fmt: skip
def test_group_by_expression_ordinal_and_alias(parse: Parse, group: str) -> None:
    query = parse(f"SELECT upper(src) AS u, COUNT(*) FROM @ GROUP BY {group}")
    assert query.keys == (Scalar("UPPER(`src`)", Type.STRING, ("src",)),)
    assert [(output.name, output.key) for output in query.outputs] == [("u", True), ("count", False)]


def test_a_column_beats_an_alias_in_group_by_and_an_alias_a_column_in_order_by(parse: Parse) -> None:
    query = parse("SELECT dst AS src, SUM(length) AS dst FROM @ GROUP BY dst ORDER BY dst DESC, src")
    assert query.keys == (Scalar("`dst`", Type.STRING, ("dst",)),)
    assert [order.value for order in query.order] == [Ref("a0", Type.BIGINT), Ref("k0", Type.STRING)]


def test_keys_alone(parse: Parse) -> None:
    query = parse("SELECT src FROM @ GROUP BY src")
    assert query.aggregates == ()
    assert query.outputs == (Output("src", Ref("k0", Type.STRING), True),)


def test_an_expression_over_a_key_is_not_a_key(parse: Parse) -> None:
    outputs = parse("SELECT port, port + 1 AS next FROM @ GROUP BY port").outputs
    assert outputs[1] == Output("next", Call("+", (Ref("k0", Type.INT), Literal(1, Type.BIGINT)), Type.BIGINT), False)


def test_the_same_aggregate_is_kept_once(parse: Parse) -> None:
    query = parse(
        "SELECT src, SUM(8 * length) AS a, SUM(length * 8) / COUNT(1) AS b FROM @ GROUP BY src"
        " HAVING count(*) > 3 ORDER BY sum(LENGTH*8), MAX(port) LIMIT 3"
    )
    assert [call.function for call in query.aggregates] == ["SUM", "COUNT", "MAX"]


def test_default_names(parse: Parse) -> None:
    query = parse(
        "SELECT COUNT(*), SUM(length), COUNT(DISTINCT dst), MEDIAN(length), QUANTILE_CONT(ratio, 0.25),"
        " SUM(length * 8), Packets.PORT FROM @ GROUP BY port"
    )
    assert [output.name for output in query.outputs] == [
        "count",
        "sum_length",
        "count_distinct_dst",
        "median_length",
        "quantile_cont_ratio_0_25",
        "sum_length_8",
        "port",
    ]


@pytest.mark.parametrize(
    ("written", "function", "parameters", "kind"),
    [
        ("COUNT(dst)", "COUNT", (), Type.BIGINT),
        ("COUNT(DISTINCT dst)", "COUNT_DISTINCT", (), Type.BIGINT),
        ("SUM(port)", "SUM", (), Type.BIGINT),
        ("SUM(ratio)", "SUM", (), Type.DOUBLE),
        ("AVG(port)", "AVG", (), Type.DOUBLE),
        ("MEAN(port)", "AVG", (), Type.DOUBLE),
        ("MIN(day)", "MIN", (), Type.DATE),
        ("MAX(src)", "MAX", (), Type.STRING),
        ("VARIANCE(port)", "VAR_SAMP", (), Type.DOUBLE),
        ("VAR_POP(port)", "VAR_POP", (), Type.DOUBLE),
        ("STDDEV(port)", "STDDEV_SAMP", (), Type.DOUBLE),
        ("std(port)", "STDDEV_SAMP", (), Type.DOUBLE),
        ("STDDEV_POP(port)", "STDDEV_POP", (), Type.DOUBLE),
        ("MEDIAN(port)", "QUANTILE_CONT", (0.5,), Type.DOUBLE),
        ("QUANTILE(ts, 1)", "QUANTILE", (1.0,), Type.TIMESTAMP),
        ("QUANTILE_CONT(port, .9)", "QUANTILE_CONT", (0.9,), Type.DOUBLE),
    ],
)
def test_aggregates(parse: Parse, written: str, function: str, parameters: tuple[float, ...], kind: Type) -> None:
    (call,) = parse(f"SELECT {written} AS a FROM @").aggregates
    assert (call.function, call.parameters, call.type) == (function, parameters, kind)


def test_filter_becomes_a_case(parse: Parse) -> None:
    query = parse(
        "SELECT SUM(length) FILTER (WHERE port = 80) AS a, COUNT(*) FILTER (WHERE ok) AS b,"
        " COUNT(DISTINCT src) FILTER (WHERE NOT ok) AS c FROM @"
    )
    assert [(call.function, call.argument.sql) for call in query.aggregates if isinstance(call.argument, Scalar)] == [
        ("SUM", "CASE WHEN `port` = 80 THEN `length` END"),
        ("COUNT", "CASE WHEN `ok` THEN 1 END"),
        ("COUNT_DISTINCT", "CASE WHEN NOT `ok` THEN `src` END"),
    ]


@pytest.mark.parametrize(
    ("order", "descending", "nulls_first"),
    [
        ("n", False, True),
        ("n ASC NULLS LAST", False, False),
        ("n DESC", True, False),
        ("2 DESC NULLS FIRST", True, True),
        ("COUNT(*) DESC", True, False),
    ],
)
def test_order_by(parse: Parse, order: str, descending: bool, nulls_first: bool) -> None:
    query = parse(f"SELECT src, COUNT(*) AS n FROM @ GROUP BY src ORDER BY {order}")
    assert query.order == (Order(Ref("a0", Type.BIGINT), descending, nulls_first),)
    assert query.limit is None
    assert query.ordered


def test_a_key_may_be_missing_when_the_answer_is_ranked(parse: Parse) -> None:
    query = parse("SELECT SUM(length) AS bytes FROM @ GROUP BY src ORDER BY bytes DESC LIMIT 3")
    assert [output.key for output in query.outputs] == [False]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("SUM(length) * 8 + 1", Type.BIGINT),
        ("SUM(length) / COUNT(*)", Type.DOUBLE),
        ("SUM(length) DIV 60", Type.BIGINT),
        ("SUM(length) % 7", Type.BIGINT),
        ("-AVG(length)", Type.DOUBLE),
        ("SUM(length) * 1.5", Type.DOUBLE),
        ("COUNT(*) > 3 AND NOT MAX(src) LIKE 'a%'", Type.BOOLEAN),
        ("CASE WHEN COUNT(*) > 3 THEN 1 ELSE 2.5 END", Type.DOUBLE),
        ("CASE COUNT(*) WHEN 1 THEN 'one' END", Type.STRING),
        ("IF(COUNT(*) > 1, MAX(src), NULL)", Type.STRING),
        ("COALESCE(MAX(port), 0)", Type.BIGINT),
        ("NULLIF(SUM(length), 0)", Type.BIGINT),
        ("GREATEST(MAX(port), MAX(length), NULL)", Type.BIGINT),
        ("CAST(AVG(length) AS BIGINT)", Type.BIGINT),
        ("ROUND(AVG(length), 2)", Type.DOUBLE),
        ("FLOOR(AVG(length))", Type.BIGINT),
        ("SQRT(COUNT(*)) + LN(2) + LOG10(3) + POWER(2, 3) + EXP(1)", Type.DOUBLE),
        ("UPPER(MAX(src)) || '!'", Type.STRING),
        ("CONCAT(MAX(src), '-', LOWER(MIN(src)))", Type.STRING),
        ("LENGTH(MAX(src))", Type.BIGINT),
        ("MAX(port) BETWEEN 1 AND 1024", Type.BOOLEAN),
        ("MAX(port) IN (80, 443)", Type.BOOLEAN),
        ("MAX(src) IS NOT NULL", Type.BOOLEAN),
        ("CAST(MAX(ts) AS DATE)", Type.DATE),
    ],
)
def test_types_above_aggregates(parse: Parse, written: str, kind: Type) -> None:
    assert parse(f"SELECT {written} AS x FROM @").outputs[0].type is kind


def test_times_above_aggregates_are_utc(parse: Parse) -> None:
    value = parse("SELECT MAX(ts) >= '2026-01-31 12:00:00+01:00' AS late FROM @").outputs[0].value
    moment = Literal(datetime(2026, 1, 31, 11, tzinfo=UTC), Type.TIMESTAMP)
    assert value == Call(">=", (Ref("a0", Type.TIMESTAMP), moment), Type.BOOLEAN)


def test_nulls_take_the_type_of_their_neighbours(parse: Parse) -> None:
    value = parse("SELECT CASE WHEN COUNT(*) = 0 THEN NULL ELSE MAX(ts) END AS t FROM @").outputs[0].value
    assert isinstance(value, Call)
    assert value.args[1] == Literal(None, Type.TIMESTAMP)


def test_errors_carry_line_and_column() -> None:
    with pytest.raises(SqlError) as caught:
        parse_query("q", "SELECT COUNT(*)\nFROM s [WINDOW 1 s]\n  WHERE yy = 1", {"s": {"y": Type.INT}})
    assert str(caught.value) == "3:9: query q: s has no column yy\n  hint: did you mean y?".replace(
        "s has", "stream s has"
    )
    assert caught.value.exit_code == 2
