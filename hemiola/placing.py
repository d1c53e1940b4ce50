"""Where synopses live when the user leaves it to us: in the driver while they fit, then in Spark.

What is measured is what the driver's synopses hold. Over the budget, the queries that read the largest one go to
Spark, all of them, so that it can be dropped; then those of the next, until the rest fits. Nothing moves back by
itself: a load that comes and goes would move with it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from scheduler.engine import Engine
from sharing.plan import StreamPlan, add, remove
from sharing.query_plan import QueryPlan

_LIMIT = Path("/sys/fs/cgroup/memory.max")
_WORTH_MOVING = 100
"""A synopsis that takes less than this part of the budget is not what fills it."""


def driver_budget(share: float) -> int:
    """Bytes that the driver's synopses may take: this share of the memory of the machine, or of the container."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no such limit, or none set
        memory = min(memory, int(_LIMIT.read_text()))
    return int(memory * share)


def to_move(engine: Engine, budget: int) -> tuple[str, ...]:
    """The queries to give to Spark now, by name."""
    sizes = {spec.need: engine.synopses.synopsis(spec.need).nbytes for spec in engine.plan.driver_synopses}
    moving: dict[str, None] = {}
    held = sum(sizes.values())
    for need, nbytes in sorted(sizes.items(), key=lambda item: -item[1]):
        if held <= budget:
            break
        if nbytes * _WORTH_MOVING < budget:
            continue
        readers = [plan for plan in engine.plan.queries if need in engine.plan.needs_of(plan)]
        if all(_movable(plan) for plan in readers):
            moving |= dict.fromkeys(plan.query.name for plan in readers)
            held -= nbytes
    return tuple(moving)


def moved(plan: StreamPlan, names: tuple[str, ...]) -> StreamPlan:
    """The plan with these queries in Spark."""
    queries = [plan.query(name).query for name in names]
    for query in queries:
        plan = remove(plan, query.name)
    for query in queries:
        plan = add(plan, replace(query, placement="spark"))
    return plan


def _movable(plan: QueryPlan) -> bool:
    """Left to us; top-k lists are small, and a kind of synopsis that was asked for is had in the driver only."""
    return plan.query.placement == "auto" and not plan.lists and plan.query.synopsis in (None, "basic_interval")
