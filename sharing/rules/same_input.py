"""SS1: one synopsis serves every window over the same records, grouped alike (dissertation 8.3.1).

Window lengths and slides do not matter, the synopsis is made as long as its longest window. Nor does the way the
condition is written, nor which aggregates are asked for: a synopsis takes in the components its readers need.

- SUM(length) over 1 min and over 10 min, both by src: one synopsis of 10 min.
- ``port IN (80, 443)`` and ``port = 443 OR port = 80``: the same records, one synopsis.
- ``port < 80`` and ``port <= 80``: different records; not this rule.
"""

from __future__ import annotations

from sharing.cost import Cost
from sharing.reading import Reading, Term
from sharing.request import Request
from sharing.rules.offer import Offer, Refusal
from sharing.shelf import Shelf

SS1 = "SS1"


def same_input(request: Request, shelf: Shelf, cost: Cost) -> Offer | Refusal:
    """Always applied: it saves space and costs nothing."""
    kept = shelf.exact(request.predicate, request.keys, request.input.listed)
    if kept is None:
        return Refusal(SS1, "no synopsis is over the same records, grouped alike")
    reading = Reading(request.keys, (Term(kept.input),), SS1)
    return Offer(reading, cost.through(reading, request, [kept]), extends=True)
