"""Why a query cannot be answered from the synopses at hand: a name and a sentence for ``hemiola explain --why``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sharing.predicates.atoms import Clause, Predicate, clause_of
from sharing.predicates.domains import Domain, union_all
from sharing.predicates.wording import domain_text


class Why(Enum):
    """Ordered from the most telling to the least."""

    NEVER_TRUE = "never_true"
    GAVE_UP = "gave_up"
    DIFFERENT_ATTRIBUTES = "different_attributes"
    NOT_SUBTRACTABLE = "not_subtractable"
    OVERLAPPING = "overlapping"
    GAP = "gap"
    NOTHING_COMPARABLE = "nothing_comparable"


_TELLING = {why: rank for rank, why in enumerate(Why)}


@dataclass(frozen=True)
class NoCover:
    why: Why
    text: str

    @staticmethod
    def gave_up(budget: int) -> NoCover:
        return NoCover(Why.GAVE_UP, f"the search for a combination of synopses was given up after {budget:,} steps")

    @staticmethod
    def different_attributes(clause: Clause) -> NoCover:
        if len(clause.terms) + len(clause.opaque) == 1:
            text = f"{clause} can only be answered by a synopsis with the very same condition"
            return NoCover(Why.NOTHING_COMPARABLE, text)
        if len(clause.terms) > 1:
            names = " and ".join(attribute for attribute, _ in clause.terms)
            reason = f"atoms on different attributes ({names}) can both hold for one record, which would count twice"
        else:
            reason = f"nothing is known of when {clause.opaque[0]} holds, so one record might count twice"
        return NoCover(Why.DIFFERENT_ATTRIBUTES, f"{clause}: {reason}")

    @staticmethod
    def not_subtractable(attribute: str, wanted: Domain) -> NoCover:
        text = f"{domain_text(attribute, wanted)} could only be had by subtraction, which the aggregate does not allow"
        return NoCover(Why.NOT_SUBTRACTABLE, text)

    @staticmethod
    def overlapping(attribute: str, wanted: Domain) -> NoCover:
        text = f"the synopses that cover {domain_text(attribute, wanted)} overlap, so some records would count twice"
        return NoCover(Why.OVERLAPPING, text)

    @staticmethod
    def gap(attribute: str, missing: Domain) -> NoCover:
        return NoCover(Why.GAP, f"no combination of synopses gives {domain_text(attribute, missing)}")

    @staticmethod
    def uncovered(wanted: Clause, usable: Sequence[Clause]) -> NoCover:
        """The part of a disjunction that no usable synopsis holds."""
        terms = []
        for attribute, domain in wanted.terms:
            held = [clause.domains[attribute] for clause in usable if attribute in clause.domains]
            terms.append((attribute, domain - union_all(domain.type, held)))
        opaque = [text for text in wanted.opaque if not any(text in clause.opaque for clause in usable)]
        return NoCover(Why.GAP, f"no synopsis within the query's predicate holds {clause_of(terms, opaque) or 'all'}")

    @staticmethod
    def nothing_offered(attribute: str) -> NoCover:
        return NoCover(
            Why.NOTHING_COMPARABLE, f"no synopsis differs from the query only in what it asks of {attribute}"
        )


def most_telling(failures: Sequence[NoCover], query: Predicate) -> NoCover:
    if not failures:
        return NoCover(Why.NOTHING_COMPARABLE, f"no synopsis has all but one of the conditions of {query}")
    return min(failures, key=lambda failure: _TELLING[failure.why])


def relation(one: Predicate, other: Predicate) -> str:
    """How two predicates stand to each other, in a short sentence."""
    if one == other:
        return f"both keep the same records ({one})"
    common = one.clauses & other.clauses
    left, right = Predicate(one.clauses - common), Predicate(other.clauses - common)
    within = f", within {Predicate(common)}" if common else ""
    if max(len(left.clauses), len(right.clauses)) > 1:
        return f"they differ in more than one condition: {left} against {right}{within}"
    a, b = (next(iter(side.clauses), None) for side in (left, right))
    if a is None or b is None:
        return f"{left if a is None else right} includes {right if a is None else left}{within}"
    if a.issubset(b) or b.issubset(a):
        return f"{right if a.issubset(b) else left} includes {left if a.issubset(b) else right}{within}"
    if a.single is None or b.single is None or a.single[0] != b.single[0]:
        return f"{left} and {right} can both hold for one record{within}"
    shared = a.single[1] & b.single[1]
    if shared.empty:
        return f"{left} and {right} are disjoint{within}"
    return f"{left} and {right} overlap in {domain_text(a.single[0], shared)}{within}"
