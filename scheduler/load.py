"""How much of the processor a set of tasks asks for in the long run, and what scheduling them together saves.

Everything is a cost per update, in the unit of the cost function; divided by the length of an interval in the same
unit it is a share of the processor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.cost import CostFunction
from scheduler.hybrid import cost_per_update
from scheduler.policies import Policy
from scheduler.tasks import SubGroup, Task


@dataclass(frozen=True)
class Savings:
    """The cost per update as scheduled, with each sub-group run apart, and with each query run apart."""

    scheduled: float
    by_slide: float
    by_query: float

    @property
    def factor(self) -> float:
        """How many times the work there would be if every query were refreshed on its own."""
        return self.by_query / self.scheduled if self.scheduled else 1.0


def load(tasks: Iterable[Task], cost: CostFunction, joined: bool = True) -> float:
    """The cost per update when every task keeps its period; tasks of a group due together are ``joined`` or not."""
    groups: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[task.group].append(task)
    if joined:
        return sum(cost_per_update(tuple(task.subgroups for task in found), cost) for found in groups.values())
    return sum(apart(task.subgroups, cost) / task.period for found in groups.values() for task in found)


def apart(subgroups: Sequence[SubGroup], cost: CostFunction) -> float:
    """What one joint execution of these sub-groups costs, by the terms alone."""
    return cost.terms(subgroups).joint(range(len(subgroups)))


def savings(policy: Policy, tasks: Sequence[Task], cost: CostFunction) -> Savings:
    """What the policy's tasks cost against no scheduling together, and against no sharing of computation at all."""
    subgroups = [subgroup for task in tasks for subgroup in task.subgroups]
    alone = (replace(subgroup, members=(member,)) for subgroup in subgroups for member in subgroup.members)
    return Savings(
        scheduled=load(tasks, cost, policy.joined),
        by_slide=sum(apart([subgroup], cost) / subgroup.slide for subgroup in subgroups),
        by_query=sum(apart([single], cost) / single.members[0].slide for single in alone),
    )
