"""SS2: AVG keeps nothing of its own, it reads SUM and COUNT of the same argument (dissertation 8.3.1; run by CS3).

The two lie in one synopsis, so they are aligned and equally long by construction.

- SUM(length) and AVG(length) by src: SUM(length) and COUNT(length) are kept once.
- AVG(length) and SUM(score): different arguments; they share the synopsis (SS1), not the components.
"""

from __future__ import annotations

from queries.model import AggregateCall, Query, Value

SS2 = "SS2"


def shared_averages(one: Query, other: Query) -> tuple[Value, ...]:
    """The arguments whose AVG one of the queries reads from what the other keeps for SUM, AVG or COUNT."""
    found: dict[Value, None] = {}
    for mine, others in ((one, other), (other, one)):
        kept = {call.argument for call in _calls(others) if call.function in ("SUM", "AVG", "COUNT")}
        for call in _calls(mine):
            if call.function == "AVG" and call.argument is not None and call.argument in kept:
                found[call.argument] = None
    return tuple(found)


def _calls(query: Query) -> tuple[AggregateCall, ...]:
    return query.select.leaf.aggregates
