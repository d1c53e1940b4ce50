"""Roll-up: a coarser GROUP BY answered from a finer synopsis over the same records (ours, not the dissertation's).

Every component merges, so the groups of (src, dst) merge into those of src; the order of the keys does not matter.

- COUNT(*) by protocol from COUNT(*) by protocol, flag: some 3 entries are merged where one would be read.
- SUM(length) by dst, src from SUM(length) by src, dst: the same groups in another order.
- SUM(length) by src from SUM(length) by src, dst: possible, and dearer than a synopsis of its own when there are ten
  times as many pairs as sources and windows overlap.
- AVG by dst from a synopsis by src: not possible, dst is not among its keys.
"""

from __future__ import annotations

from sharing.cost import Cost
from sharing.kept import KeptSynopsis
from sharing.reading import Reading, Term
from sharing.request import Request
from sharing.rules.offer import Offer, Refusal
from sharing.shelf import Shelf

ROLL_UP = "roll-up"


def roll_up(request: Request, shelf: Shelf, cost: Cost) -> Offer | Refusal:
    """Chosen by cost: it spares a pass over the records, and every refresh reads more entries."""
    if request.listed is not None:
        return Refusal(ROLL_UP, "a top-k list has nothing coarser to give")
    wanted, components = set(request.keys), set(request.components)
    offers: list[Offer] = []
    lacking: KeptSynopsis | None = None
    for kept in shelf.with_predicate(request.predicate):
        if not wanted <= set(kept.need.keys):
            continue
        if not components <= set(kept.need.components):
            lacking = kept
            continue
        reading = Reading(request.keys, (Term(kept.input),), ROLL_UP)
        offers.append(Offer(reading, cost.through(reading, request, [kept])))
    if offers:
        return min(offers, key=lambda offer: offer.cost)
    if lacking is not None:
        return Refusal(ROLL_UP, f"the finer synopsis {lacking.name} does not keep the same aggregates")
    return Refusal(ROLL_UP, "no synopsis over the same records has all these keys")
