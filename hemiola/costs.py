"""What refreshes cost, for simulation and admission: measured by earlier runs where there were any, else modelled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from queries.errors import HemiolaError
from results import read
from scheduler.cost import CalibratedCost
from scheduler.plan_cost import modelled_cost
from scheduler.tasks import SubGroup
from sharing.plan import StreamPlan

NEWEST = 20
"""Refreshes looked at, the newest of each query."""
_NEWEST_OF_EACH = f"""
SELECT query, shared_with, duration_ms FROM hemiola_queries CROSS JOIN hemiola_refreshes ON query = name
WHERE active AND restored = 0 AND window_end > coalesce(
  (SELECT window_end FROM hemiola_refreshes WHERE query = name ORDER BY window_end DESC LIMIT 1 OFFSET {NEWEST}), '')
ORDER BY window_end, query DESC
"""
"""Looked up query by query (CROSS JOIN keeps that order): a daemon asks while it runs, with the refreshes of months."""


@dataclass(frozen=True)
class KnownCost:
    """Costs in microseconds, and how many joint executions they were measured on (0: the model's guess)."""

    cost: CalibratedCost
    executions: int


def known_cost(plan: StreamPlan, groups: Sequence[SubGroup], results: str) -> KnownCost:
    """The model of the plan, corrected by the durations in the results if there are any.

    An execution counts if it was of whole sub-groups as they are now.
    """
    cost = CalibratedCost(modelled_cost(plan))
    place = {query: subgroup for subgroup in groups for query in subgroup.queries}
    executions = 0
    for queries, duration_ms in _executions(results):
        if queries <= place.keys():
            parts = {place[query].name: place[query] for query in queries}
            if sum(len(part.queries) for part in parts.values()) == len(queries):
                cost.observe(list(parts.values()), duration_ms * 1000)
                executions += 1
    return KnownCost(cost, executions)


def _executions(results: str) -> list[tuple[frozenset[str], float]]:
    """Joint executions in the order they were published: who, and how long it took in milliseconds."""
    try:
        rows = read(results, _NEWEST_OF_EACH).rows
    except HemiolaError:
        return []
    found = []
    for query, shared_with, each_ms in rows:
        together = frozenset([str(query), *json.loads(str(shared_with))])
        if query == min(together):
            found.append((together, float(str(each_ms)) * len(together)))
    return found
