"""The cost of a shared plan's executions in microseconds: the model until something is measured.

The constants are guesses, good for an order of magnitude; what decides is how many groups an interval has, and that
is guessed too as long as there are no data. Measured durations replace all of it (``CalibratedCost``).
"""

from __future__ import annotations

from scheduler.cost import CostModel
from sharing.cost import Cost
from sharing.plan import StreamPlan
from sharing.query_plan import group_in_spark
from synopses.choice import BASIC_INTERVAL, INTERVAL, RUNNING

FIXED = 150.0
"""One execution, whatever it reads."""
READ = 0.02
"""One entry of one stored interval."""
POST = 0.1
"""One query's pass over its groups, per group."""
OVERHEAD = 500.0
"""What handling an interval, or a query's groups, costs however few they are, in entries."""


JOB = 300_000.0
"""One job on Spark, whatever it does."""


def modelled_cost(plan: StreamPlan) -> CostModel:
    """Costs in microseconds by group, from the kinds of the plan's synopses and its statistics."""
    entries = Cost(plan.statistics)
    in_spark = group_in_spark(plan.stream.name)
    resident = [kept for kept in plan.kept if kept.need.resident]
    sizes = {kept.name: OVERHEAD + entries.held(kept) for kept in plan.kept}
    return CostModel(
        read=READ,
        merge=0,
        post=POST,
        fixed=FIXED,
        kinds={kept.name: _slowest(kept.kinds) for kept in plan.kept},
        sizes=sizes | ({in_spark: sum(sizes[kept.name] for kept in resident)} if resident else {}),
        starts={in_spark: JOB} if resident else {},
    )


def _slowest(kinds: tuple[str, ...]) -> str:
    """Components of one synopsis may be kept in several ways: the one whose probe reads most decides."""
    if set(kinds) <= {RUNNING}:
        return RUNNING
    return INTERVAL if set(kinds) <= {RUNNING, INTERVAL} else BASIC_INTERVAL
