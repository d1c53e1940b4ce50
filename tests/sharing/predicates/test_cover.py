"""Covers: the worked example of rule SS4, soundness record by record, and completeness against brute force."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from queries.types import Type
from sharing.predicates import Available, Cover, Domain, Kind, NoCover, Predicate, Why, find_cover, normalize, relation
from sharing.predicates.atoms import Clause, clause_of

pytestmark = pytest.mark.slow

TYPES = {"p": Type.INT, "q": Type.INT, "protocol": Type.STRING, "user": Type.STRING}


def where(text: str | None) -> Predicate:
    return normalize(text, TYPES)


def sums(query: str | None, **synopses: str | None) -> Cover | NoCover:
    """A subtractable, duplicate-sensitive aggregate."""
    offered = {name: where(text) for name, text in synopses.items()}
    return find_cover(where(query), offered, duplicate_insensitive=False, subtractable=True)


def counters(query: str | None, **synopses: str | None) -> Cover | NoCover:
    """A duplicate-sensitive aggregate that cannot subtract."""
    offered = {name: where(text) for name, text in synopses.items()}
    return find_cover(where(query), offered, duplicate_insensitive=False, subtractable=False)


def maxima(query: str | None, **synopses: str | None) -> Cover | NoCover:
    offered = {name: where(text) for name, text in synopses.items()}
    return find_cover(where(query), offered, duplicate_insensitive=True, subtractable=False)


TCP, UDP, U = "protocol = 'TCP'", "protocol = 'UDP'", "user = 'U'"


class TestWorkedExample:
    """Semantics section 4, line by line."""

    def test_q1_and_q2_are_a_disjoint_cover_of_q3(self) -> None:
        assert sums(f"{TCP} OR {UDP}", q1=TCP, q2=UDP) == Cover(("q1", "q2"), (), Kind.DISJOINT_COVER)
        assert counters(f"{TCP} OR {UDP}", q1=TCP, q2=UDP) == Cover(("q1", "q2"), (), Kind.DISJOINT_COVER)

    def test_q3_minus_q2_answers_q1(self) -> None:
        assert sums(TCP, q2=UDP, q3=f"{TCP} OR {UDP}") == Cover(("q3",), ("q2",), Kind.SUPERCOVER_MINUS_COVER)

    def test_counters_do_not_subtract(self) -> None:
        refused = counters(TCP, q2=UDP, q3=f"{TCP} OR {UDP}")
        assert isinstance(refused, NoCover) and refused.why is Why.NOT_SUBTRACTABLE

    def test_q4_and_q5_cover_q6_but_not_disjointly(self) -> None:
        assert maxima(f"{TCP} OR {U}", q4=TCP, q5=U) == Cover(("q4", "q5"), (), Kind.COVER)

    def test_a_sum_over_atoms_on_different_attributes_is_refused(self) -> None:
        refused = sums(f"{TCP} OR {U}", q1=TCP, q5=U)
        assert isinstance(refused, NoCover) and refused.why is Why.DIFFERENT_ATTRIBUTES
        assert "atoms on different attributes (protocol and user) can both hold for one record" in refused.text

    def test_the_subcover_alone_is_not_enough(self) -> None:
        refused = sums(f"{TCP} OR {UDP}", q1=TCP)
        assert isinstance(refused, NoCover) and refused.why is Why.GAP
        assert refused.text.endswith("protocol = 'UDP'")


@pytest.mark.parametrize(
    ("query", "synopses", "expected"),
    [
        ("p < 5", {"a": "p <= 4"}, Cover(("a",), (), Kind.EXACT)),
        ("p < 9", {"a": "p < 5", "b": "p >= 5 AND p < 9"}, Cover(("a", "b"), (), Kind.DISJOINT_COVER)),
        ("p >= 5 AND p < 9", {"a": "p < 5", "b": "p < 9"}, Cover(("b",), ("a",), Kind.SUPERCOVER_MINUS_COVER)),
        ("p >= 5", {"a": "p < 5", "b": "p IS NOT NULL"}, Cover(("b",), ("a",), Kind.SUPERCOVER_MINUS_COVER)),
        (
            "p >= 5",
            {"a": "p < 5", "all": None, "n": "p IS NULL"},
            Cover(("all",), ("n", "a"), Kind.SUPERCOVER_MINUS_COVER),
        ),
        (None, {"a": "p < 5", "b": "p >= 5", "n": "p IS NULL"}, Cover(("n", "a", "b"), (), Kind.DISJOINT_COVER)),
        (
            "p < 9 AND protocol = 'TCP'",
            {"a": "p < 9", "b": "p < 9 AND protocol <> 'TCP'", "n": "p < 9 AND protocol IS NULL"},
            Cover(("a",), ("n", "b"), Kind.SUPERCOVER_MINUS_COVER),
        ),
        (
            "protocol <> 'TCP'",
            {"a": "protocol < 'TCP'", "b": "protocol > 'TCP'"},
            Cover(("a", "b"), (), Kind.DISJOINT_COVER),
        ),
    ],
)
def test_sums(query: str | None, synopses: dict[str, str | None], expected: Cover) -> None:
    found = sums(query, **synopses)
    assert isinstance(found, Cover)
    assert (found.adds, sorted(found.subtracts), found.kind) == (
        expected.adds,
        sorted(expected.subtracts),
        expected.kind,
    )


@pytest.mark.parametrize(
    ("query", "synopses", "why"),
    [
        ("p < 5", {"a": "user = 'U' AND protocol = 'TCP'"}, Why.NOTHING_COMPARABLE),
        ("p < 5", {"a": "p < 5 AND protocol = 'TCP'"}, Why.GAP),
        ("p < 5 AND user = 'U'", {"a": "p < 5 AND user = 'V'", "b": "p < 3"}, Why.GAP),
        ("p < 5 OR p >= 5", {"a": "p < 5", "b": "p > 5"}, Why.GAP),
        (None, {"a": "p < 5", "b": "p >= 5"}, Why.GAP),
        ("p < 9", {"a": "p < 6", "b": "p >= 3 AND p < 9"}, Why.OVERLAPPING),
        ("p < 5 AND p > 5", {"a": "p < 5"}, Why.NEVER_TRUE),
        ("LENGTH(user) = 3 OR LENGTH(user) = 4", {"a": "LENGTH(user) = 3"}, Why.DIFFERENT_ATTRIBUTES),
        ("LENGTH(user) = 3", {"a": "LENGTH(user) = 4"}, Why.NOTHING_COMPARABLE),
        ("LENGTH(user) = 3 AND p < 5", {"a": "LENGTH(user) = 3 AND p < 4"}, Why.GAP),
    ],
)
def test_refusals_are_named(query: str | None, synopses: dict[str, str | None], why: Why) -> None:
    refused = sums(query, **synopses)
    assert isinstance(refused, NoCover) and refused.why is why


def test_a_budget_too_small_is_reported_as_such() -> None:
    """Exact cover by triples of points, none of them contiguous: beyond the polynomial cases."""
    triples = {f"t{i}": f"p IN ({', '.join(map(str, c))})" for i, c in enumerate(combinations(range(0, 24, 2), 3))}
    offered = {name: where(text) for name, text in triples.items()}
    query = where(f"p IN ({', '.join(str(i) for i in range(0, 22, 2))})")
    refused = find_cover(query, offered, duplicate_insensitive=False, subtractable=False, budget=50)
    assert isinstance(refused, NoCover) and refused.why is Why.GAVE_UP


def test_a_thousand_ranges_on_one_attribute() -> None:
    available = Available({f"s{c:04}": where(f"p < {c}") for c in range(1000)})
    found = find_cover(where("p >= 17 AND p < 900"), available, duplicate_insensitive=False, subtractable=True)
    assert found == Cover(("s0900",), ("s0017",), Kind.SUPERCOVER_MINUS_COVER)
    assert isinstance(find_cover(where("p < 5000"), available, duplicate_insensitive=False, subtractable=True), NoCover)
    available.remove("s0017")
    assert isinstance(
        find_cover(where("p >= 17 AND p < 900"), available, duplicate_insensitive=False, subtractable=True), NoCover
    )


POINTS = range(7)
"""Values of p that random predicates tell apart; None is NULL."""

subsets = st.sets(st.sampled_from([None, *POINTS]), min_size=1, max_size=7)
LINE: list[int | None] = [None, *POINTS]
ranges = st.tuples(st.integers(0, 7), st.integers(1, 8)).map(lambda t: set(LINE[t[0] : t[0] + t[1]]))


def domain(values: set[int | None]) -> Domain:
    """The values as a domain; 0 and 6 stand for everything below and above as well."""
    result = Domain.null(Type.INT) if None in values else Domain.nothing(Type.INT)
    for value in values - {None}:
        op = "<=" if value == 0 else ">=" if value == 6 else "="
        result = result | Domain.compare(Type.INT, op, value)  # type: ignore[arg-type]
    return result


def predicate(*clauses: Clause | None) -> Predicate:
    return Predicate(frozenset(clause for clause in clauses if clause is not None))


def signed_exists(wanted: frozenset[int | None], sets: list[frozenset[int | None]], *, subtract: bool) -> int | None:
    """Brute force by the definition: the fewest sets in a disjoint cover, less a disjoint cover of the rest."""

    def disjoint(family: tuple[frozenset[int | None], ...]) -> bool:
        return sum(map(len, family)) == len(frozenset().union(*family))

    families = [f for size in range(len(sets) + 1) for f in combinations(sets, size) if disjoint(f)]
    unions: dict[frozenset[int | None], int] = {}
    for family in families:
        unions.setdefault(frozenset().union(*family), len(family))
    sizes = [
        size + unions[union - wanted]
        for union, size in unions.items()
        if wanted <= union and union - wanted in unions and (subtract or union == wanted)
    ]
    return min(sizes, default=None)


@settings(max_examples=300)
@given(st.one_of(subsets, ranges), st.lists(st.one_of(subsets, ranges), max_size=7), st.booleans())
def test_disjoint_covers_are_sound_complete_and_smallest(
    wanted: set[int | None], offered: list[set[int | None]], subtract: bool
) -> None:
    query = predicate(clause_of([("p", domain(wanted))]))
    synopses = {f"s{i}": values for i, values in enumerate(offered)}
    predicates = {name: predicate(clause_of([("p", domain(values))])) for name, values in synopses.items()}
    found = find_cover(query, predicates, duplicate_insensitive=False, subtractable=subtract, budget=100_000)
    distinct = [frozenset(values) for values in {frozenset(values) for values in offered}]
    smallest = signed_exists(frozenset(wanted), distinct, subtract=subtract)
    if isinstance(found, NoCover):
        assert smallest is None and found.why is not Why.GAVE_UP
        return
    assert found.cost[0] == smallest and found.smallest
    for value in [None, *POINTS]:
        added = sum(value in synopses[name] for name in found.adds)
        taken = sum(value in synopses[name] for name in found.subtracts)
        assert added <= 1 and taken <= 1, "adds and subtracts are each disjoint"
        assert added - taken == (value in wanted)


@settings(max_examples=200)
@given(st.one_of(subsets, ranges), st.lists(ranges, max_size=9), st.booleans())
def test_ranges_alone_need_no_budget(wanted: set[int | None], offered: list[set[int | None]], subtract: bool) -> None:
    """Also for a query of several pieces, with synopses that reach over the gaps between them."""
    query = predicate(clause_of([("p", domain(wanted))]))
    predicates = {f"s{i}": predicate(clause_of([("p", domain(values))])) for i, values in enumerate(offered)}
    found = find_cover(query, predicates, duplicate_insensitive=False, subtractable=subtract, budget=0)
    smallest = signed_exists(frozenset(wanted), list({frozenset(values) for values in offered}), subtract=subtract)
    assert (found.cost[0] if isinstance(found, Cover) else None) == smallest


terms = st.tuples(st.one_of(st.just(set()), subsets), st.one_of(st.just(set()), ranges), st.booleans())


@settings(max_examples=300)
@given(terms, st.lists(terms, max_size=6), st.booleans())
def test_covers_for_maxima_are_sound_complete_and_smallest(
    wanted: tuple[set[int | None], set[int | None], bool],
    offered: list[tuple[set[int | None], set[int | None], bool]],
    in_context: bool,
) -> None:
    """Disjunctions over two attributes and an opaque atom, alone or within a context."""

    def build(term: tuple[set[int | None], set[int | None], bool]) -> Predicate:
        clause = clause_of([("p", domain(term[0])), ("q", domain(term[1]))], ["opaque"] if term[2] else [])
        return predicate(clause, Clause((), ("context",)) if in_context else None)

    def holds(term: tuple[set[int | None], set[int | None], bool], record: tuple[int | None, int | None, bool]) -> bool:
        return record[0] in term[0] or record[1] in term[1] or (term[2] and record[2])

    query = build(wanted)
    assume(not query.never)
    found = find_cover(
        query,
        {f"s{i}": build(term) for i, term in enumerate(offered)},
        duplicate_insensitive=True,
        subtractable=False,
        budget=100_000,
    )
    values = [None, *POINTS]
    records = [(p, q, o) for p in values for q in values for o in (False, True)]
    target = frozenset(record for record in records if holds(wanted, record))
    sets = [frozenset(record for record in records if holds(term, record)) for term in offered]
    smallest = min(
        (
            size
            for size in range(1, len(sets) + 1)
            for family in combinations(sets, size)
            if frozenset().union(*family) == target
        ),
        default=None,
    )
    if isinstance(found, NoCover):
        assert smallest is None
        return
    chosen = [sets[int(name[1:])] for name in found.adds]
    assert not found.subtracts and frozenset().union(*chosen) == target
    assert len(chosen) == smallest and found.smallest
    disjoint = sum(map(len, chosen)) == len(target)
    assert (found.kind in (Kind.EXACT, Kind.DISJOINT_COVER)) == disjoint


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ("p < 5", "p <= 4", "both keep the same records (p < 5)"),
        ("p < 5", "p < 9", "p < 9 includes p < 5"),
        ("p < 5", None, "all records includes p < 5"),
        (TCP, UDP, "protocol = 'TCP' and protocol = 'UDP' are disjoint"),
        (f"{TCP} AND {U}", f"{UDP} AND {U}", "protocol = 'TCP' and protocol = 'UDP' are disjoint, within user = 'U'"),
        (TCP, U, "protocol = 'TCP' and user = 'U' can both hold for one record"),
        ("p < 6", "p >= 3", "p < 6 and p >= 3 overlap in 3 <= p < 6"),
        (
            f"p < 5 AND {TCP}",
            f"p < 6 AND {UDP}",
            "they differ in more than one condition: p < 5 AND protocol = 'TCP' against p < 6 AND protocol = 'UDP'",
        ),
    ],
)
def test_relation_in_a_sentence(one: str | None, other: str | None, text: str) -> None:
    assert relation(where(one), where(other)) == text
