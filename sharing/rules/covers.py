"""SS4: predicates answered from the synopses of other predicates (dissertation 8.3.3; executed by CS6 and CS7).

Worked example, all without GROUP BY, over protocol and user:

- SUM where TCP or UDP = SUM where TCP + SUM where UDP: a disjoint cover.
- SUM where TCP = SUM where (TCP or UDP) − SUM where UDP: a supercover minus a cover, for integers only. A difference
  of two sums of doubles loses digits, so it is refused.
- MAX where (TCP or user = U) = the greater of MAX where TCP and MAX where user = U: these overlap, which is harmless
  to an aggregate that does not mind a record seen twice.
- SUM where (TCP or user = U) is *not* the sum of two such sums: a TCP record of U would count twice.
"""

from __future__ import annotations

from sharing.cost import Cost
from sharing.predicates import Kind, NoCover, Why, find_cover
from sharing.reading import Reading, Term
from sharing.request import Request
from sharing.rules.offer import Offer, Refusal
from sharing.shelf import Shelf
from sharing.wording import component_text
from synopses.components import Rows

SS4 = "SS4"
_NAMES = {
    Kind.COVER: f"{SS4} cover",
    Kind.DISJOINT_COVER: f"{SS4} disjoint cover",
    Kind.SUPERCOVER_MINUS_COVER: f"{SS4} supercover minus cover",
}


def covers(request: Request, shelf: Shelf, cost: Cost) -> Offer | Refusal:
    """Chosen by cost: it spares a synopsis, and every refresh reads several."""
    if request.listed is not None:
        return Refusal(SS4, "top-k lists of parts do not give the list of the whole")
    available = shelf.available(request.keys, frozenset((*request.components, Rows())))
    if not len(available):
        return Refusal(SS4, "no synopsis of this grouping keeps the same aggregates")
    found = find_cover(
        request.predicate,
        available,
        duplicate_insensitive=request.duplicate_insensitive,
        subtractable=request.inexact is None,
    )
    if isinstance(found, NoCover):
        return Refusal(SS4, _reason(request, found))
    if found.kind is Kind.EXACT:
        return Refusal(SS4, "the very same records: SS1")
    adds = [shelf.by_name[name] for name in found.adds]
    subtracts = [shelf.by_name[name] for name in found.subtracts]
    terms = (*(Term(kept.input) for kept in adds), *(Term(kept.input, sign=-1) for kept in subtracts))
    reading = Reading(request.keys, terms, _NAMES[found.kind])
    return Offer(reading, cost.through(reading, request, [*adds, *subtracts]))


def _reason(request: Request, found: NoCover) -> str:
    if found.why is Why.NOT_SUBTRACTABLE and request.inexact is not None:
        component = component_text(request.inexact)
        if request.inexact.capabilities.subtractable:
            return f"it could only be had by subtraction, and differences of {component} over doubles lose digits"
        return f"it could only be had by subtraction, and {component} cannot be subtracted"
    return found.text
