"""Deadlines: the epoch's grid, resetting, ties, re-planning."""

from __future__ import annotations

import pytest

from scheduler.agenda import Agenda
from scheduler.tasks import Member, SubGroup, Task, first_deadline, living, subgroups, task_of


def task(slide: int, group: str = "g", priority: int = 0, query: str | None = None) -> Task:
    member = Member(query or f"{group}{slide}", group, 2 * slide, slide, priority)
    return task_of([SubGroup(group, slide, (member,))])


@pytest.mark.parametrize(
    ("period", "registered", "deadline"), [(3, 0, 3), (3, 2, 3), (3, 3, 6), (1, 7, 8), (5, 12, 15)]
)
def test_first_deadline_is_the_next_multiple(period: int, registered: int, deadline: int) -> None:
    assert first_deadline(period, registered) == deadline


def test_a_late_run_is_followed_by_a_full_period() -> None:
    agenda, two = Agenda(), task(2)
    agenda.add(two, now=1)
    assert agenda.remaining(two.name, 1) == 1
    assert agenda.due(1) == ()
    assert agenda.remaining(two.name, 5) == -3
    assert agenda.late(5) == {"g2": 3}
    agenda.ran(two, now=5)
    assert agenda.remaining(two.name, 5) == 2
    assert agenda.late(6) == {}


def test_ties_go_by_priority_then_waiting_then_name() -> None:
    agenda = Agenda()
    urgent, waiting, recent, other = task(12, "d", priority=1), task(12, "c"), task(4, "a"), task(12, "b")
    for each in (urgent, waiting, recent, other):
        agenda.add(each, now=0)
    agenda.ran(recent, 8)
    assert [each.group for each in agenda.due(12)] == ["d", "b", "c", "a"]
    assert agenda.lowest(12) == urgent


def test_removed_and_moved_tasks_leave_no_trace_in_the_heap() -> None:
    agenda, two, three = Agenda(), task(2), task(3)
    agenda.add(two, 0)
    agenda.add(three, 0)
    agenda.remove(two.name)
    assert agenda.lowest(2) == three
    agenda.ran(three, 3)
    assert agenda.due(5) == ()
    assert agenda.due(6) == (three,)
    agenda.remove(three.name)
    assert agenda.lowest(6) is None


def test_a_task_is_added_once() -> None:
    agenda = Agenda()
    agenda.add(task(2), 0)
    with pytest.raises(ValueError, match="already"):
        agenda.add(task(2), 0)


def test_replanning_makes_no_query_wait_longer_than_its_slide() -> None:
    agenda, five, seven = Agenda(), task(5), task(7)
    agenda.replace([five, seven], 0)
    agenda.ran(five, 5)
    joined = task_of([*five.subgroups, *seven.subgroups])
    agenda.replace([joined], 6)
    assert agenda.tasks == (joined,)
    assert agenda.remaining(joined.name, 6) == 1


def test_replanning_never_refreshes_a_query_twice_at_one_update() -> None:
    agenda, two, three = Agenda(), task(2), task(3)
    agenda.replace([two, three], 0)
    agenda.ran(two, 6)
    agenda.replace([task_of([*two.subgroups, *three.subgroups])], 6)
    assert agenda.due(6) == ()
    assert [each.name for each in agenda.due(7)] == ["g/2+3"]


def test_unchanged_tasks_keep_their_deadlines() -> None:
    agenda, two, three = Agenda(), task(2), task(3)
    agenda.replace([two, three], 0)
    agenda.ran(three, 4)
    agenda.replace([three], 5)
    assert agenda.remaining(three.name, 5) == 2
    assert two.name not in agenda


def test_lifetimes_end_queries_and_with_the_last_one_the_sub_group() -> None:
    group = subgroups([Member("a", "g", 4, 2, until=9), Member("b", "g", 4, 2), Member("c", "g", 9, 3, until=9)])
    assert [each.queries for each in living(group, 9)] == [("a", "b"), ("c",)]
    assert [each.queries for each in living(group, 10)] == [("b",)]


def test_consistent_queries_share_a_sub_group_across_slides_and_groups() -> None:
    members = [
        Member("a", "src", 10, 2, consistent="dashboard"),
        Member("b", "dst", 10, 6, consistent="dashboard"),
        Member("c", "dst", 10, 6),
        Member("d", "port", 10, 6),
    ]
    found = {(each.group, each.slide): each.queries for each in subgroups(members)}
    assert found == {("dst&src", 2): ("a", "b"), ("dst&src", 6): ("c",), ("port", 6): ("d",)}


def test_a_query_whose_output_another_makes_goes_with_it_unless_nothing_is_shared() -> None:
    members = [Member("often", "g", 10, 2), Member("seldom", "g", 10, 6, output_slide=2), Member("other", "g", 12, 6)]
    shared = {each.slide: each.queries for each in subgroups(members)}
    assert shared == {2: ("often", "seldom"), 6: ("other",)}
    apart = {each.slide: each.queries for each in subgroups(members, share_outputs=False)}
    assert apart == {2: ("often",), 6: ("seldom", "other")}
