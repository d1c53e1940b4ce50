"""CS8: a query identical to another but for a longer slide takes the other's answers (dissertation 8.3.4).

- Top 10 over 10 min every minute and the same every 5 min: the second is written whenever the first is.
- The same over 20 min: another window, other answers; they share the synopsis (SS1), not the output.
- The same with other names for the columns: the answers' tables differ; not this rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from sharing.query_plan import QueryPlan

CS8 = "CS8"


def share_outputs(plans: dict[str, QueryPlan], outputs: Iterable[str]) -> None:
    """Settles for each of these outputs who computes it: the query with the shortest slide, the first of several."""
    alike: dict[str, list[QueryPlan]] = {output: [] for output in outputs}
    for plan in plans.values():
        if plan.output in alike:
            alike[plan.output].append(plan)
    for same in alike.values():
        if not same:
            continue
        owner = min(same, key=lambda plan: plan.slide)
        for plan in same:
            of = None if plan is owner else owner.query.name
            slide = None if plan is owner else owner.slide
            if (plan.shares_output_of, plan.output_slide) != (of, slide):
                plans[plan.query.name] = plan.taking_output(of, slide)
