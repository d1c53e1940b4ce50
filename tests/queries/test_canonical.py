"""Record-level expressions that mean the same have the same text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queries.canonical import canonical_number
from queries.model import Scalar, Select
from queries.types import Type

Parse = Callable[[str], Select]


def where(parse: Parse, condition: str) -> str:
    scalar = parse(f"SELECT COUNT(*) FROM @ p WHERE {condition}").where
    assert isinstance(scalar, Scalar)
    return scalar.sql


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ("port = 80", "80=PORT", "`port` = 80"),
        ("p.port = 080", "((port)) = 80", "`port` = 80"),
        ("length * 8 > 100", "100 < 8*length", "(`length` * 8) > 100"),
        ("ok AND port = 1", "1 = port and ok and OK", "`ok` AND `port` = 1"),
        ("port = 1 OR port = 2 AND ok", "(ok AND 2 = port) OR port = 1", "(`ok` AND `port` = 2) OR `port` = 1"),
        ("port > -1 AND dst IS NULL", "dst IS NULL AND -1 < port", "`dst` IS NULL AND `port` > -1"),
        ("port IN (443, 80, 80)", "port in (80,443)", "`port` IN (80, 443)"),
        ("port IN (80)", "port = 80", "`port` = 80"),
        ("ratio > 1.50", "1.5 < Ratio", "`Ratio` > 1.5E0"),
        ("IF(ok, port, 0) = 1", "CASE WHEN ok THEN port ELSE 0 END = 1", "CASE WHEN `ok` THEN `port` ELSE 0 END = 1"),
        ("port != 1", "NOT NOT port <> 1", None),
        ("src IS NOT NULL", "NOT src IS NULL", "NOT `src` IS NULL"),
        ("port - 1 - 2 = 0", "(port - 1) - 2 = 0", "((`port` - 1) - 2) = 0"),
        ("src LIKE 'a!_%' ESCAPE '!'", "src like 'a!_%' escape '!'", "`src` LIKE 'a!_%' ESCAPE '!'"),
    ],
)
def test_one_text_for_one_meaning(parse: Parse, one: str, other: str, text: str | None) -> None:
    if text is None:
        assert where(parse, one) != where(parse, other)
    else:
        assert (where(parse, one), where(parse, other)) == (text, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("port - 1 = 0", "1 - port = 0"),
        ("port - (1 - 2) = 0", "(port - 1) - 2 = 0"),
        ("(port + length) * 2 = 0", "port + length * 2 = 0"),
        ("NOT (ok AND port = 1)", "NOT ok AND port = 1"),
        ("(port = 1 OR port = 2) AND ok", "port = 1 OR port = 2 AND ok"),
        ("src = '80'", "src = '080'"),
        ("src = 'a'", "src = 'A'"),
    ],
)
def test_different_meanings_stay_apart(parse: Parse, one: str, other: str) -> None:
    assert where(parse, one) != where(parse, other)


def test_a_guard_stays_in_front_of_what_it_guards(parse: Parse) -> None:
    assert where(parse, "port <> 0 AND length / port > 2") == "`port` <> 0 AND (`length` / `port`) > 2"


@pytest.mark.parametrize(
    "condition",
    [
        "src LIKE '10.%'",
        "src RLIKE '^10'",
        "src ILIKE 'A%'",
        "src NOT IN ('a', 'b')",
        "port BETWEEN 1 AND 1024",
        "protocol IS NULL",
        "CASE WHEN ok THEN port > 1 ELSE FALSE END",
        "startswith(src, '10.')",
        "hour(ts) >= 9 AND dayofweek(ts) IN (2, 3)",
        "ts >= '2026-01-01'",
        "ts >= TIMESTAMP '2026-01-01 00:00:00'",
        "day = DATE '2026-01-01'",
        "ts + INTERVAL 1 HOUR > '2026-01-01'",
        "substring(src, 1, 2) = '10'",
        "split(src, '[.]')[0] = '10'",
        "src <=> dst",
        "price > 10",
        "CAST(src AS INT) = 3",
        "length & 1 = 1",
        "date_trunc('HOUR', ts) = '2026-01-01 00:00:00'",
        "ok",
        "TRUE",
    ],
)
def test_anything_spark_can_filter_on(parse: Parse, condition: str) -> None:
    text = where(parse, condition)
    assert where(parse, text) == text


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("port + 1", Type.INT),
        ("length * 8", Type.BIGINT),
        ("port / 2", Type.DOUBLE),
        ("port DIV 2", Type.BIGINT),
        ("length * 1.5", Type.DOUBLE),
        ("small * 2", Type.DOUBLE),
        ("small * small", Type.FLOAT),
        ("port + 3000000000", Type.BIGINT),
        ("coalesce(port, 0)", Type.INT),
        ("round(port)", Type.INT),
        ("CASE WHEN ok THEN 1 ELSE 2.5 END", Type.DOUBLE),
        ("upper(src)", Type.STRING),
        ("hour(ts)", Type.INT),
        ("date_trunc('HOUR', ts)", Type.TIMESTAMP),
        ("to_date(ts)", Type.DATE),
        ("port > 80", Type.BOOLEAN),
        ("CAST(price AS DOUBLE)", Type.DOUBLE),
        ("xxhash64(src)", Type.BIGINT),
    ],
)
def test_types_are_those_of_spark(parse: Parse, expression: str, kind: Type) -> None:
    assert parse(f"SELECT {expression} AS k FROM @ GROUP BY 1").keys[0].type is kind


def test_columns_are_listed_once_in_order(parse: Parse) -> None:
    key = parse("SELECT concat(src, dst, SRC) AS k FROM @ GROUP BY 1").keys[0]
    assert key == Scalar("CONCAT(`src`, `dst`, `src`)", Type.STRING, ("dst", "src"))


def test_numbers_have_one_spelling() -> None:
    spellings = ["010", "1.50", "1e3", "1E-7", "10"]
    assert [canonical_number(text) for text in spellings] == ["10", "1.5E0", "1000.0E0", "1E-07", "10"]
