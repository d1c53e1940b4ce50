"""The normal form of a WHERE: a conjunction of clauses, each a disjunction of atoms (dissertation 8.3.3).

An atom is an attribute with the domain it must lie in (any number of ``attribute op constant`` on one attribute
merge into one exact domain) or an opaque text that equals only itself. Any one clause may be read as the varying
part and the others as its context; two predicates are compared only within equal contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from queries.types import Type
from sharing.predicates.domains import Domain, union_all
from sharing.predicates.wording import domain_sql, domain_text


@dataclass(frozen=True)
class Clause:
    """A disjunction: ``terms`` has one domain per attribute, sorted by attribute; ``opaque`` the other atoms, sorted.

    Built by ``clause_of`` only, so no domain is empty or full; no atom at all means FALSE.
    """

    terms: tuple[tuple[str, Domain], ...] = ()
    opaque: tuple[str, ...] = ()

    @cached_property
    def domains(self) -> dict[str, Domain]:
        return dict(self.terms)

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.opaque))

    def __hash__(self) -> int:
        return self._hash

    @property
    def never(self) -> bool:
        return not self.terms and not self.opaque

    @property
    def single(self) -> tuple[str, Domain] | None:
        """The attribute and its domain, if it is on one attribute and nothing else."""
        return self.terms[0] if len(self.terms) == 1 and not self.opaque else None

    def issubset(self, other: Clause) -> bool:
        """Whether every record that satisfies this one satisfies the other, as far as atoms tell."""
        return set(self.opaque) <= set(other.opaque) and all(
            attribute in other.domains and domain.issubset(other.domains[attribute]) for attribute, domain in self.terms
        )

    def to_sql(self) -> str:
        return _join([domain_sql(*term) for term in self.terms] + [f"({text})" for text in self.opaque])

    def __str__(self) -> str:
        return _join([domain_text(*term) for term in self.terms] + list(self.opaque))


def _join(atoms: list[str]) -> str:
    return " OR ".join(atoms) if atoms else "FALSE"


def clause_of(terms: Iterable[tuple[str, Domain]], opaque: Iterable[str] = ()) -> Clause | None:
    """The disjunction of these atoms, or None if it is always true."""
    by_attribute: dict[str, list[Domain]] = {}
    for attribute, domain in terms:
        by_attribute.setdefault(attribute, []).append(domain)
    merged = []
    for attribute, domains in sorted(by_attribute.items()):
        domain = union_all(domains[0].type, domains)
        if domain.full:
            return None
        if not domain.empty:
            merged.append((attribute, domain))
    return Clause(tuple(merged), tuple(sorted(set(opaque))))


FALSE = Clause()


@dataclass(frozen=True)
class Reading:
    """A predicate seen as a varying clause within a context; ``varying`` None means that all records vary."""

    context: frozenset[Clause]
    varying: Clause | None

    def domain_on(self, attribute: str, type_: Type) -> Domain | None:
        """What the varying part says of one attribute, or None if it is about anything else."""
        if self.varying is None:
            return Domain.everything(type_)
        single = self.varying.single
        return single[1] if single is not None and single[0] == attribute else None


@dataclass(frozen=True)
class Predicate:
    """A conjunction of clauses, none of which follows from another; no clause at all means TRUE."""

    clauses: frozenset[Clause] = frozenset()

    @property
    def always(self) -> bool:
        return not self.clauses

    @property
    def never(self) -> bool:
        return FALSE in self.clauses

    def readings(self) -> Iterator[Reading]:
        """Each way to see it as varying part and context: one clause varies, or none does."""
        yield Reading(self.clauses, None)
        for clause in self.ordered:
            yield Reading(self.clauses - {clause}, clause)

    @property
    def ordered(self) -> tuple[Clause, ...]:
        return tuple(sorted(self.clauses, key=str))

    def to_sql(self) -> str | None:
        """Spark SQL that is true for exactly the records the predicate keeps, or None for all of them."""
        if self.always:
            return None
        texts = sorted(clause.to_sql() for clause in self.clauses)
        return texts[0] if len(texts) == 1 else " AND ".join(f"({text})" for text in texts)

    def __str__(self) -> str:
        if self.always:
            return "all records"
        several = len(self.clauses) > 1
        return " AND ".join(
            f"({clause})" if several and " OR " in str(clause) else str(clause) for clause in self.ordered
        )
