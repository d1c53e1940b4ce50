"""The policies: which tasks a set of sub-groups makes, and which of them run next, jointly.

A policy is three interchangeable choices: how sub-groups become tasks (``none, aggressive, conservative, hybrid``),
which tasks run together (``off, late, late_pending``) and what happens in idle time (``wait, refresh_early``).
Dissertation 8.4.3 to 8.4.5, Algorithms 9 to 11.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduler.agenda import Agenda
from scheduler.cost import CostFunction
from scheduler.hybrid import hybrid_tasks
from scheduler.tasks import SubGroup, Task, task_of

Grouping = Callable[[Sequence[SubGroup], CostFunction, Sequence[Task]], tuple[Task, ...]]
"""Sub-groups of one group, the cost of running them, the group's current tasks; gives its new tasks."""

JointSet = Callable[[int, int], bool]
"""Whether a task with d runs together with the most urgent task of its group, whose d is the lowest of all:
called with (lowest d, d)."""


def _one_each(subgroups: Sequence[SubGroup], cost: CostFunction, current: Sequence[Task]) -> tuple[Task, ...]:
    return tuple(task_of([subgroup]) for subgroup in subgroups)


def _one_for_all(subgroups: Sequence[SubGroup], cost: CostFunction, current: Sequence[Task]) -> tuple[Task, ...]:
    return (task_of(subgroups),)


def _alone(lowest: int, d: int) -> bool:
    return False


def _coinciding(lowest: int, d: int) -> bool:
    return d == lowest


def _late(lowest: int, d: int) -> bool:
    return d < 0 if lowest < 0 else d == lowest


def _late_pending(lowest: int, d: int) -> bool:
    return d <= 0 if lowest < 0 else d == lowest


GROUPINGS: dict[str, Grouping] = {
    "none": _one_each,
    "aggressive": _one_for_all,
    "conservative": _one_each,
    "hybrid": hybrid_tasks,
}
JOINT_SETS: dict[str, JointSet] = {"off": _coinciding, "late": _late, "late_pending": _late_pending}
IDLE = ("wait", "refresh_early")


@dataclass(frozen=True)
class Policy:
    """Decides what runs next. It holds no state: all of that is in the agenda."""

    name: str
    grouping: Grouping
    joins: JointSet
    refresh_early: bool = False

    @property
    def joined(self) -> bool:
        """Whether tasks of a group that fall due together run together."""
        return self.joins is not _alone

    def tasks(
        self, subgroups: Iterable[SubGroup], cost: CostFunction, current: Sequence[Task] = ()
    ) -> tuple[Task, ...]:
        """The tasks for all sub-groups of a stream. ``current`` are the tasks now on the agenda: hybrid keeps their
        partition unless a better one pays for the change."""
        groups: dict[str, list[SubGroup]] = defaultdict(list)
        for subgroup in subgroups:
            groups[subgroup.group].append(subgroup)
        running: dict[str, list[Task]] = defaultdict(list)
        for task in current:
            running[task.group].append(task)
        return tuple(task for group, members in groups.items() for task in self.grouping(members, cost, running[group]))

    def pick(self, agenda: Agenda, now: int) -> tuple[Task, ...]:
        """The tasks to run jointly as of update ``now``, the most urgent first; () when there is nothing to run."""
        head = agenda.lowest(now)
        if head is None:
            return ()
        if agenda.remaining(head.name, now) > 0:
            head = agenda.lowest_rested(now) if self.refresh_early else None
            if head is None:
                return ()
        lowest = agenda.remaining(head.name, now)
        others = (
            entry.task
            for entry in agenda.of_group(head.group)
            if entry.task.name != head.name and entry.last_run < now and self.joins(lowest, entry.deadline - now)
        )
        return (head, *others)


def make_policy(policy: str = "hybrid", sharing: str = "late_pending", idle: str = "wait") -> Policy:
    """The policy of these names. ``none`` never joins and ``aggressive`` has one task per group, so that ``sharing``
    makes no difference to either and is not part of their names."""
    for kind, name, known in (
        ("policy", policy, tuple(GROUPINGS)),
        ("sharing", sharing, tuple(JOINT_SETS)),
        ("idle", idle, IDLE),
    ):
        if name not in known:
            raise ValueError(f"unknown {kind} {name!r}: one of {', '.join(known)}")
    shares = policy in ("conservative", "hybrid")
    label = f"{policy}+{sharing}" if shares and sharing != "off" else policy
    joins = JOINT_SETS[sharing] if shares else _alone
    return Policy(label, GROUPINGS[policy], joins, idle == "refresh_early")
