"""Domains are exact sets: the algebra is held against membership of sampled values, NULL and boundaries included."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.types import Type
from sharing.predicates import Domain, normalize
from sharing.predicates.constants import Key
from sharing.predicates.wording import domain_sql, domain_text

OPS = ("=", "<>", "<", "<=", ">", ">=")
KEYS: dict[Type, list[Key]] = {
    Type.BOOLEAN: [0, 1],
    Type.TINYINT: [-128, -127, -1, 0, 1, 2, 126, 127, 128, -129, Decimal("0.5"), Decimal("-1.5")],
    Type.INT: [-(2**31), 2**31 - 1, 0, 1, 2, 3, math.inf, math.nan, 1.5],
    Type.DOUBLE: [-math.inf, -1.5, 0.0, 0.25, 1.0, 1e300, math.inf, math.nan],
    Type.DECIMAL: [Decimal("-1.5"), Decimal(0), Decimal("0.01"), Decimal(7)],
    Type.STRING: ["", "\0\0", "A", "TCP", "TCPA", "it's \\ \n", "é", "\uffff", "\U0001f600"],
    Type.DATE: [-1, 0, 1, 19_000],
    Type.TIMESTAMP: [-1, 0, 1, 1_700_000_000_000_000],
}
BETWEEN: dict[Type, list[Key]] = {
    Type.TINYINT: [5, -5],
    Type.INT: [5, -5],
    Type.DOUBLE: [-2.0, -1.0, 0.125, 0.5, 2.0, 1e308],
    Type.DECIMAL: [Decimal(-2), Decimal(-1), Decimal("0.005"), Decimal(1), Decimal(8)],
    Type.STRING: ["\0", "0", "B", "TCP\0", "TCPX", "z", "ü", "\U00010000", "\U0001f601"],
    Type.DATE: [-2, 100, 19_001],
    Type.TIMESTAMP: [-2, 5, 2_000_000_000_000_000],
}


def values(type_: Type) -> list[Key | None]:
    """NULL, every key that the type can hold, and values between them."""
    keys = [key for key in KEYS[type_] if _holds(type_, key)]
    return [None, *keys, *BETWEEN.get(type_, [])]


def _holds(type_: Type, key: Key) -> bool:
    bounds = {Type.TINYINT: (-128, 127), Type.INT: (-(2**31), 2**31 - 1)}.get(type_)
    return bounds is None or (isinstance(key, int) and bounds[0] <= key <= bounds[1])


def compare(value: Key | None, op: str, key: Key) -> bool:
    """Spark's comparison, written down independently: NULL never compares, NaN is the greatest and equals itself."""
    if value is None:
        return False
    (left, right) = ((isinstance(x, float) and math.isnan(x), x) for x in (value, key))
    order = left[0] - right[0]
    if not left[0] and not right[0]:
        order = (value > key) - (value < key)  # type: ignore[operator]
    return {"=": order == 0, "<>": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[op]


@st.composite
def domains(draw: st.DrawFn, type_: Type) -> tuple[Domain, list[bool]]:
    """A random domain and, value by value, whether it should hold it."""
    probe = values(type_)
    domain = Domain.nothing(type_)
    expected = [False] * len(probe)
    for _ in range(draw(st.integers(0, 4))):
        op, key = draw(st.sampled_from(OPS)), draw(st.sampled_from(KEYS[type_]))
        other, holds = Domain.compare(type_, op, key), [compare(value, op, key) for value in probe]
        if draw(st.booleans()):
            other, holds = other | Domain.null(type_), [h or v is None for h, v in zip(holds, probe, strict=True)]
        how = draw(st.sampled_from(("or", "and", "minus")))
        if how == "or":
            domain, expected = domain | other, [a or b for a, b in zip(expected, holds, strict=True)]
        elif how == "and":
            domain, expected = domain & other, [a and b for a, b in zip(expected, holds, strict=True)]
        else:
            domain, expected = other - domain, [b and not a for a, b in zip(expected, holds, strict=True)]
    return domain, expected


typed = st.sampled_from(list(KEYS)).flatmap(lambda type_: st.tuples(domains(type_), domains(type_)))


@given(typed)
def test_algebra_agrees_with_membership(pair: tuple[tuple[Domain, list[bool]], tuple[Domain, list[bool]]]) -> None:
    (a, in_a), (b, in_b) = pair
    probe = values(a.type)

    def held(domain: Domain) -> list[bool]:
        assert list(domain.cuts) == sorted(set(domain.cuts)) and len(domain.cuts) % 2 == 0
        return [domain.contains(value) for value in probe]

    assert held(a) == in_a and held(b) == in_b
    assert held(a | b) == [x or y for x, y in zip(in_a, in_b, strict=True)]
    assert held(a & b) == [x and y for x, y in zip(in_a, in_b, strict=True)]
    assert held(a - b) == [x and not y for x, y in zip(in_a, in_b, strict=True)]
    assert held(~a) == [not x for x in in_a]
    assert held(a.complement_non_null()) == [not x and v is not None for x, v in zip(in_a, probe, strict=True)]
    # Every boundary has a value on either side in the probe, so the decisions are equally visible there.
    assert a.issubset(b) == (a - b).empty == all(y or not x for x, y in zip(in_a, in_b, strict=True))
    assert a.isdisjoint(b) == (not any(x and y for x, y in zip(in_a, in_b, strict=True)))
    assert (a == b) == (in_a == in_b)
    assert a.empty == (not any(in_a)) and a.full == all(in_a)
    assert ~~a == a and (a & b) | (a - b) == a


@given(typed)
def test_sql_of_a_domain_reads_back_as_itself(pair: tuple[tuple[Domain, list[bool]], object]) -> None:
    domain = pair[0][0]
    predicate = normalize(domain_sql("x", domain), {"x": domain.type})
    if domain.full:
        assert predicate.always
    elif domain.empty:
        assert predicate.never
    else:
        (clause,) = predicate.clauses
        assert clause.single == ("x", domain)


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (Domain.compare(Type.INT, "<=", 4), "p < 5"),
        (Domain.compare(Type.INT, ">=", 5) & Domain.compare(Type.INT, "<", 10), "5 <= p < 10"),
        (Domain.points(Type.STRING, ["UDP", "TCP"]), "p IN ('TCP', 'UDP')"),
        (Domain.compare(Type.STRING, "<>", "TCP"), "p <> 'TCP'"),
        (~Domain.compare(Type.DOUBLE, "=", 1.5), "p IS NULL OR p <> 1.5"),
        (Domain.compare(Type.DOUBLE, ">", math.inf), "ISNAN(p)"),
        (~Domain.null(Type.DATE), "p IS NOT NULL"),
        (Domain.compare(Type.DATE, ">", 0), "p >= 1970-01-02"),
    ],
)
def test_a_domain_reads_as_a_person_would_write_it(domain: Domain, text: str) -> None:
    assert domain_text("p", domain) == text
