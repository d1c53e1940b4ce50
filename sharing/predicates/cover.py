"""Which synopses answer a query together (rule SS4; dissertation 8.3.3).

A cover's predicates together hold for exactly the query's records. Duplicate-insensitive aggregates take any cover,
the others need a disjoint one; subtractable ones may also take a disjoint supercover and subtract a disjoint cover
of the surplus. Only predicates that differ from the query in one clause are combined, the rest being the context.

Two non-empty atoms on different attributes (or an opaque one) can both hold for a record, so a disjoint cover lives
on one attribute, where the sets are exact. What is found is as small as possible. Contiguous domains (ranges, points,
IS NULL) and all combinations of up to two take polynomial time, anything else a search within a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, pairwise
from operator import xor

from sharing.predicates.atoms import Clause, Predicate, Reading
from sharing.predicates.available import Available
from sharing.predicates.domains import HIGH, START, Domain, union_all
from sharing.predicates.reasons import NoCover, Why, most_telling
from sharing.predicates.segments import Segments
from sharing.predicates.signed_search import Found, search
from sharing.predicates.tilings import tile
from sharing.predicates.union_search import chain, set_cover

DEFAULT_BUDGET = 4_000


class Kind(Enum):
    EXACT = "exact"
    COVER = "cover"
    DISJOINT_COVER = "disjoint_cover"
    SUPERCOVER_MINUS_COVER = "supercover_minus_cover"


@dataclass(frozen=True)
class Cover:
    """The answer is the combination of ``adds``, less ``subtracts``. ``smallest``: no smaller one exists."""

    adds: tuple[str, ...]
    subtracts: tuple[str, ...]
    kind: Kind
    smallest: bool = True

    @property
    def cost(self) -> tuple[int, int]:
        """Fewest synopses first, then fewest subtractions."""
        return len(self.adds) + len(self.subtracts), len(self.subtracts)

    def __str__(self) -> str:
        return " - ".join([" + ".join(self.adds), *self.subtracts])


def find_cover(
    query: Predicate,
    available: Available | Mapping[str, Predicate],
    *,
    duplicate_insensitive: bool,
    subtractable: bool,
    budget: int = DEFAULT_BUDGET,
) -> Cover | NoCover:
    """How the query can be answered from the synopses (all of its aggregate and input), or why it cannot.

    ``budget`` bounds the search where it is not polynomial, in steps of a few microseconds.
    """
    shelf = available if isinstance(available, Available) else Available(available)
    if query.never:
        return NoCover(Why.NEVER_TRUE, "the query's predicate is never true")
    same = [synopsis for synopsis, varying in shelf.within(query.clauses).items() if varying is None]
    if same:
        return Cover((min(same),), (), Kind.EXACT)
    covers: list[Cover] = []
    failures: list[NoCover] = []
    for reading in query.readings():
        pool = _by_clause(shelf.within(reading.context))
        for outcome in _outcomes(reading, pool, duplicate_insensitive, subtractable, budget):
            if isinstance(outcome, Cover):
                covers.append(outcome)
            else:
                failures.append(outcome)
    if covers:
        return min(covers, key=lambda cover: (cover.cost, cover.adds, cover.subtracts))
    return most_telling(failures, query)


Pool = dict[Clause | None, str]


def _by_clause(group: Mapping[str, Clause | None]) -> Pool:
    """One synopsis for each varying clause: the first by name."""
    pool: Pool = {}
    for synopsis, clause in group.items():
        if clause not in pool or synopsis < pool[clause]:
            pool[clause] = synopsis
    return pool


def _outcomes(
    reading: Reading, pool: Pool, duplicate_insensitive: bool, subtractable: bool, budget: int
) -> Iterator[Cover | NoCover]:
    if duplicate_insensitive:
        if reading.varying is not None:
            yield _union_cover(reading.varying, pool, budget)
        else:
            # All records are covered when the domains of some one attribute are all there is.
            for attribute, type_ in sorted({(name, domain.type) for name, domain in _terms(pool)}, key=str):
                yield _union_cover(Clause(((attribute, Domain.everything(type_)),)), pool, budget)
        return
    if reading.varying is None:
        names = {(single[0], single[1].type) for clause in pool if clause and (single := clause.single)}
        for attribute, type_ in sorted(names, key=str):
            yield _disjoint_cover(attribute, Domain.everything(type_), pool, subtractable, budget)
        return
    single = reading.varying.single
    if single is None:
        yield NoCover.different_attributes(reading.varying)
    else:
        yield _disjoint_cover(*single, pool, subtractable, budget)


def _terms(pool: Pool) -> Iterator[tuple[str, Domain]]:
    return (term for clause in pool if clause is not None for term in clause.terms)


def _disjoint_cover(attribute: str, wanted: Domain, pool: Pool, subtractable: bool, budget: int) -> Cover | NoCover:
    """On one attribute: a tiling by contiguous domains in polynomial time, then a search with the others."""
    offered: dict[Domain, str] = {}
    for clause, synopsis in pool.items():
        domain = Reading(frozenset(), clause).domain_on(attribute, wanted.type)
        if domain is not None:
            offered[domain] = synopsis
    found, exhausted = _combine(wanted, offered, subtractable, budget)
    if found is not None:
        return found
    if not exhausted:
        return NoCover.gave_up(budget)
    return _why_not(attribute, wanted, offered, subtractable, budget)


def _combine(wanted: Domain, offered: dict[Domain, str], subtractable: bool, budget: int) -> tuple[Cover | None, bool]:
    """The smallest cover found, and whether the search came to its end."""
    usable = offered if subtractable else {d: name for d, name in offered.items() if d.issubset(wanted)}
    if not set(wanted.cuts) <= {START, HIGH}.union(*(domain.cuts for domain in usable)):
        return None, True
    line = Segments.of(wanted.type, usable)
    pieces = {line.runs(domain)[0]: name for domain, name in usable.items() if domain.contiguous}
    tiling = tile(line.runs(wanted), pieces, len(line), subtractable=subtractable)
    best: Cover | None = None
    if tiling is not None:
        adds, subtracts = (tuple(pieces[one] for one in tiles) for tiles in (tiling.adds, tiling.subtracts))
        best = Cover(adds, subtracts, _kind(subtracts))
    if len(pieces) == len(usable) or not _separable(line, wanted, usable):
        return best, True
    masks = {line.mask(domain): name for domain, name in usable.items()}
    limit = None if best is None else best.cost[0] + (1 if best.subtracts else 0)
    result = search(line.mask(wanted), masks, subtractable=subtractable, budget=budget, fewer_than=limit)
    if isinstance(result, Found):
        found_adds, found_subtracts = (tuple(masks[mask] for mask in sets) for sets in (result.adds, result.subtracts))
        found = Cover(found_adds, found_subtracts, _kind(found_subtracts))
        return found if best is None else min(best, found, key=lambda cover: cover.cost), True
    if best is not None and not result.exhausted:
        best = Cover(best.adds, best.subtracts, best.kind, smallest=False)
    return best, result.exhausted


def _kind(subtracts: tuple[str, ...]) -> Kind:
    return Kind.SUPERCOVER_MINUS_COVER if subtracts else Kind.DISJOINT_COVER


def _separable(line: Segments, wanted: Domain, usable: Iterable[Domain]) -> bool:
    """Whether no segment inside is treated by every domain like one outside: else nothing can tell them apart."""
    toggled = [0] * (len(line) + 1)
    for number, domain in enumerate(usable):
        for cut in domain.cuts:
            toggled[line.place[cut]] ^= 1 << number
    signatures = list(accumulate(toggled[:-1], xor))
    inside: set[int] = set()
    for low, high in line.runs(wanted):
        inside.update(signatures[low:high])
    outside = {0}
    for low, high in line.runs(~wanted):
        outside.update(signatures[low:high])
    return inside.isdisjoint(outside)


def _why_not(attribute: str, wanted: Domain, offered: dict[Domain, str], subtractable: bool, budget: int) -> NoCover:
    if not offered:
        return NoCover.nothing_offered(attribute)
    if not subtractable and _combine(wanted, offered, True, budget)[0] is not None:
        return NoCover.not_subtractable(attribute, wanted)
    missing = wanted - union_all(wanted.type, (domain for domain in offered if domain.issubset(wanted)))
    return NoCover.overlapping(attribute, wanted) if missing.empty else NoCover.gap(attribute, missing)


def _union_cover(wanted: Clause, pool: Pool, budget: int) -> Cover | NoCover:
    """Any cover: the union of clauses, attribute by attribute and opaque atom by opaque atom."""
    everything = any(domain.full for _, domain in wanted.terms)
    usable = {c: name for c, name in pool.items() if c is not None and (everything or c.issubset(wanted))}
    lines = {
        attribute: Segments.of(domain.type, [domain, *(c.domains[attribute] for c in usable if attribute in c.domains)])
        for attribute, domain in wanted.terms
    }

    def mask(clause: Clause) -> int:
        total, offset = 0, 0
        for attribute, line in lines.items():
            if attribute in clause.domains:
                total |= line.mask(clause.domains[attribute]) << offset
            offset += len(line)
        for place, text in enumerate(wanted.opaque):
            total |= (text in clause.opaque) << (offset + place)
        return total

    masks: dict[int, Clause] = {}
    for clause in usable:
        masks.setdefault(mask(clause), clause)
    chosen, proven = _fewest(wanted, lines, masks, mask(wanted), budget)
    if chosen is None:
        return NoCover.uncovered(wanted, list(usable))
    clauses = [masks[one] for one in chosen]
    kind = Kind.DISJOINT_COVER if _disjoint(clauses) else Kind.COVER
    return Cover(tuple(usable[clause] for clause in clauses), (), kind, proven)


def _fewest(
    wanted: Clause, lines: dict[str, Segments], masks: dict[int, Clause], target: int, budget: int
) -> tuple[tuple[int, ...] | None, bool]:
    if len(lines) == 1 and not wanted.opaque:
        (attribute, line), (_, domain) = next(iter(lines.items())), wanted.terms[0]
        own = [clause.domains[attribute] for clause in masks.values() if attribute in clause.domains]
        if all(one.contiguous for one in own):
            pieces = chain(line.runs(domain), [line.runs(one)[0] for one in own])
            return None if pieces is None else tuple((1 << high) - (1 << low) for low, high in pieces), True
    result = set_cover(target, masks, budget=budget)
    return (None, True) if result is None else result


def _disjoint(clauses: list[Clause]) -> bool:
    if len(clauses) == 1:
        return True
    singles = [clause.single for clause in clauses]
    if any(single is None or single[0] != clauses[0].terms[0][0] for single in singles):
        return False
    cuts = sorted(piece for single in singles if single is not None for piece in single[1].pieces())
    return all(before[1] <= after[0] for before, after in pairwise(cuts))
