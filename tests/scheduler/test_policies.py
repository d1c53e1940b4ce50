"""What runs next: the joint sets by their definitions, and properties of any run under any policy."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scheduler.agenda import Agenda
from scheduler.cost import CostModel
from scheduler.policies import Policy, make_policy
from scheduler.tasks import Member, SubGroup, Task, subgroups

COST = CostModel(post=1, fixed=2)
NAMES = list(itertools.product(("none", "aggressive", "conservative", "hybrid"), ("off", "late", "late_pending")))


def waiting(policy: Policy, example: tuple[SubGroup, ...], deadlines: dict[int, int], now: int) -> list[int]:
    """The slides picked at ``now`` when the tasks of these slides have these deadlines."""
    agenda = Agenda()
    for task in policy.tasks(example, CostModel()):
        agenda.add(task, 0)
        agenda.ran(task, deadlines[task.period] - task.period)
    return [task.period for task in policy.pick(agenda, now)]


@pytest.mark.parametrize(
    ("policy", "sharing", "deadlines", "picked"),
    [
        ("conservative", "off", {2: 8, 3: 9, 5: 10}, [2]),
        ("conservative", "late", {2: 8, 3: 9, 5: 10}, [2, 3]),
        ("conservative", "late_pending", {2: 8, 3: 9, 5: 10}, [2, 3, 5]),
        ("conservative", "late_pending", {2: 10, 3: 10, 5: 11}, [3, 2]),
        ("conservative", "late_pending", {2: 11, 3: 12, 5: 13}, []),
        ("none", "late_pending", {2: 10, 3: 10, 5: 10}, [5]),
        ("none", "off", {2: 8, 3: 8, 5: 9}, [3]),
        ("hybrid", "late", {2: 9, 5: 10}, [2]),
        ("hybrid", "late_pending", {2: 9, 5: 10}, [2, 5]),
    ],
)
def test_the_joint_set(
    example: tuple[SubGroup, ...], policy: str, sharing: str, deadlines: dict[int, int], picked: list[int]
) -> None:
    assert waiting(make_policy(policy, sharing), example, deadlines, now=10) == picked


def test_idle_time_is_waited_out_or_used(example: tuple[SubGroup, ...]) -> None:
    deadlines = {2: 11, 3: 12, 5: 12}
    assert waiting(make_policy("conservative", "off", "wait"), example, deadlines, now=10) == []
    assert waiting(make_policy("conservative", "off", "refresh_early"), example, deadlines, now=10) == [2]


@pytest.mark.parametrize("bad", [("eager", "off", "wait"), ("none", "all", "wait"), ("none", "off", "sleep")])
def test_unknown_names_are_refused(bad: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="unknown"):
        make_policy(*bad)


def test_names() -> None:
    assert make_policy().name == "hybrid+late_pending"
    assert make_policy("conservative", "off").name == "conservative"
    assert make_policy("none", "late").name == "none"


def members() -> st.SearchStrategy[list[Member]]:
    shape = st.tuples(st.sampled_from("abc"), st.integers(1, 12), st.integers(1, 9), st.integers(0, 2))
    return st.lists(shape, min_size=1, max_size=12).map(
        lambda shapes: [
            Member(f"q{number}", group, slide * factor, slide, priority)
            for number, (group, slide, factor, priority) in enumerate(shapes)
        ]
    )


class Schedule(RuleBasedStateMachine):
    """A policy driven by updates and executions in any order: any load. A reference of d-values is kept by hand."""

    @initialize(members=members(), names=st.sampled_from(NAMES), idle=st.sampled_from(("wait", "refresh_early")))
    def register(self, members: list[Member], names: tuple[str, str], idle: str) -> None:
        self.names, self.idle = names, idle
        self.policy = make_policy(*names, idle)
        self.tasks = {task.name: task for task in self.policy.tasks(subgroups(members), COST)}
        self.members = members
        self.agenda = Agenda()
        self.agenda.replace(self.tasks.values(), 0)
        self.d = {name: task.period for name, task in self.tasks.items()}
        self.now = 0
        self.refreshed: dict[str, list[int]] = {member.query: [] for member in members}

    @rule(count=st.integers(1, 5))
    def update(self, count: int) -> None:
        """Updates arrive; whatever was due and has not run becomes late."""
        self.now += count
        for name in self.d:
            self.d[name] -= count

    @rule()
    def run_one(self) -> None:
        picked = self.policy.pick(self.agenda, self.now)
        self.check(picked)
        for task in picked:
            self.agenda.ran(task, self.now)
            self.d[task.name] = task.period
            for query in task.queries:
                assert self.now not in self.refreshed[query], "refreshed twice at one update"
                self.refreshed[query].append(self.now)

    @rule()
    def keep_up(self) -> None:
        """Enough time for everything at this update."""
        for _ in range(3 * len(self.tasks) + 1):
            if not self.policy.pick(self.agenda, self.now):
                break
            self.run_one()
        assert not self.policy.pick(self.agenda, self.now)
        assert not self.agenda.due(self.now)

    @rule()
    def clear_backlog_without_new_updates(self) -> None:
        """Whatever the load was, every query that is due is refreshed within one execution per task."""
        due = {query for task in self.agenda.due(self.now) for query in task.queries}
        for _ in self.tasks:
            self.run_one()
        assert all(self.refreshed[query][-1] == self.now for query in due)

    def check(self, picked: tuple[Task, ...]) -> None:
        """The set is exactly the one the policy defines, by the hand-kept d-values."""
        rested = {
            name: d
            for name, d in self.d.items()
            if all(self.now not in self.refreshed[q] for q in self.tasks[name].queries)
        }
        lowest = min(self.d.values())
        if lowest > 0:
            if self.idle == "wait" or not rested:
                assert picked == ()
                return
            lowest = min(rested.values())
        head = picked[0]
        assert self.d[head.name] == lowest
        assert head.priority == max(self.tasks[name].priority for name, d in rested.items() if d == lowest)
        policy, sharing = self.names
        if policy in ("none", "aggressive"):
            expected = {head.name}
        else:
            bound = {"off": None, "late": -1, "late_pending": 0}[sharing] if lowest < 0 else None
            expected = {
                name
                for name, d in rested.items()
                if self.tasks[name].group == head.group and (d == lowest if bound is None else d <= bound)
            }
        assert {task.name for task in picked} == expected
        assert len(picked) == len(expected)

    @invariant()
    def deadlines_agree(self) -> None:
        if hasattr(self, "agenda"):
            assert {name: self.agenda.remaining(name, self.now) for name in self.tasks} == self.d

    @invariant()
    def every_query_is_in_one_task(self) -> None:
        if hasattr(self, "agenda"):
            scheduled = sorted(query for task in self.agenda.tasks for query in task.queries)
            assert scheduled == sorted(self.refreshed)


Schedule.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestSchedule = pytest.mark.slow(Schedule.TestCase)
