"""Cells: one synopsis for many predicates on one attribute (ours; Krishnamurthy's data fragments).

The predicates cut the attribute's domain into disjoint cells. A synopsis keyed by (groups, cell) is a disjoint cover
of each of them by construction, whatever the aggregate: 1,000 queries ``p < c`` need one synopsis of 1,000 cells.

- ``p < 5``, ``p < 10``, ``p BETWEEN 3 AND 7``, ``p = 4``: one synopsis, each query reads a run of its cells.
- Later ``p < 7``: if 7 is no cut, it is not a union of cells; it gets a synopsis of its own until the plan is made
  anew.
- Two or three predicates: covers (SS4) do as well, and nothing has to be cut anew when a query comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from queries.model import Scalar, Value
from queries.types import Type
from sharing.cost import Cost
from sharing.kept import CellKey, KeptSynopsis
from sharing.predicates import Clause, Domain, Predicate, cut
from sharing.predicates.atoms import clause_of
from sharing.predicates.domains import union_all
from sharing.reading import Reading, Term
from sharing.request import Request
from sharing.rules.offer import Offer, Refusal
from sharing.shelf import Shelf
from sharing.wording import grouping_text
from synopses.preaggregate import Preaggregation

CELLS = "cells"
FEWEST = 4
"""Distinct predicates from which cutting an attribute into cells is thought of."""


def cells(request: Request, shelf: Shelf, cost: Cost) -> Offer | Refusal:
    """Chosen by cost: the predicate as a union of cells of a synopsis at hand, which others scan anyway."""
    if request.listed is not None:
        return Refusal(CELLS, "top-k lists of cells do not give the list of their union")
    for reading in request.predicate.readings():
        if reading.varying is None or reading.varying.single is None:
            continue
        attribute, domain = reading.varying.single
        for kept in shelf.with_cells(request.keys, reading.context, attribute):
            assert kept.cells is not None
            runs = kept.cells.runs_of(domain)
            if runs is not None:
                term = Term(kept.input, cells=runs)
                found = Reading(request.keys, (term,), CELLS)
                return Offer(found, cost.joining(request, kept), extends=True)
            return Refusal(CELLS, f"the condition cuts through cells of {attribute}")
    return Refusal(CELLS, "no synopsis is keyed by cells of an attribute of the condition")


@dataclass(frozen=True)
class _Place:
    """Where predicates can be cut into cells together: one grouping, one context, one attribute."""

    keys: tuple[Value, ...]
    context: frozenset[Clause]
    attribute: str


def cell_synopses(requests: Iterable[Request], cost: Cost) -> list[KeptSynopsis]:
    """The cell synopses that pay for a set of requests, largest first; a request is counted for one of them only."""
    places: dict[_Place, dict[Domain, list[Request]]] = {}
    for request in requests:
        if request.listed is not None:
            continue
        for reading in request.predicate.readings():
            if reading.varying is not None and reading.varying.single is not None:
                attribute, domain = reading.varying.single
                place = _Place(request.keys, reading.context, attribute)
                places.setdefault(place, {}).setdefault(domain, []).append(request)
    made: list[KeptSynopsis] = []
    taken: set[int] = set()
    for place, domains in sorted(places.items(), key=lambda item: -len(item[1])):
        free = {
            domain: left for domain, own in domains.items() if (left := [one for one in own if id(one) not in taken])
        }
        if len(free) >= FEWEST and (kept := _made(place, free, cost)) is not None:
            made.append(kept)
            taken.update(id(one) for own in free.values() for one in own)
    return made


def _made(place: _Place, domains: dict[Domain, list[Request]], cost: Cost) -> KeptSynopsis | None:
    """The synopsis by cells, if it is cheaper than one for each predicate."""
    key = CellKey(place.attribute, place.context, cut(list(domains)))
    union = clause_of([(place.attribute, union_all(next(iter(domains)).type, domains))])
    predicate = Predicate(place.context if union is None else place.context | {union})
    requests = [request for own in domains.values() for request in own]
    b = max(request.length for request in requests)
    entries = cost.entries(predicate, place.keys, key.cells.count)
    together = cost.keeping(predicate, entries, b, key.cells.count) + cost.reading(entries, requests)
    if together >= sum(_alone(own, cost) for own in domains.values()):
        return None
    components = tuple(dict.fromkeys(part for request in requests for part in request.components))
    need = Preaggregation(_condition(predicate), (*place.keys, key.key), components)
    return KeptSynopsis(grouping_text(predicate, need.keys, place.attribute), predicate, need, b, cells=key)


def _alone(requests: Sequence[Request], cost: Cost) -> float:
    first = requests[0]
    entries = cost.entries(first.predicate, first.keys)
    b = max(request.length for request in requests)
    return cost.keeping(first.predicate, entries, b) + cost.reading(entries, requests)


def _condition(predicate: Predicate) -> Scalar | None:
    sql = predicate.to_sql()
    if sql is None:
        return None
    columns = {column.name for column in parse_one(sql, read="spark").find_all(exp.Column)}
    return Scalar(sql, Type.BOOLEAN, tuple(sorted(columns)))
