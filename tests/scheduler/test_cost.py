"""The cost model and its calibration; the clocks."""

from __future__ import annotations

import pytest

from scheduler.clocks import VirtualClock, WallClock
from scheduler.cost import CalibratedCost, CostModel
from scheduler.hybrid import best_partition
from scheduler.tasks import Member, SubGroup, subgroups


def test_reads_merges_post_processing_and_the_fixed_part(example: tuple[SubGroup, ...]) -> None:
    cost = CostModel(read=1, merge=2, post=10, fixed=100)
    assert cost.cost(example[:1]) == 10 + 2 * 9 + 3 * 10 + 100
    assert cost.cost(example[:2]) == 15 + 2 * 14 + 5 * 10 + 100
    assert cost.cost([]) == 0


def test_synopses_differ_in_what_a_window_costs() -> None:
    group = subgroups([Member("a", "g", 64, 2), Member("b", "g", 32, 2)])
    assert CostModel(read=1, merge=0).cost(group) == 64
    assert CostModel(read=1, merge=0, kinds={"g": "interval"}).cost(group) == 12 + 10
    assert CostModel(read=1, merge=0, kinds={"g": "running"}).cost(group) == 4


def test_groups_joined_by_a_consistent_set_are_scanned_each() -> None:
    group = subgroups([Member("a", "x", 10, 2, consistent="c"), Member("b", "y", 20, 2, consistent="c")])
    assert CostModel(read=1, merge=0, sizes={"y": 3}).cost(group) == 10 + 3 * 20


def test_measured_durations_replace_the_model(example: tuple[SubGroup, ...]) -> None:
    cost = CalibratedCost(CostModel(), weight=0.5)
    assert cost.cost(example[:1]) == 9
    cost.observe(example[:1], 18)
    assert cost.cost(example[:1]) == 18
    cost.observe(example[:1], 36)
    assert cost.cost(example[:1]) == 27
    assert cost.cost(example[1:2]) == pytest.approx(14 * 3)


def test_measured_costs_change_the_choice(example: tuple[SubGroup, ...]) -> None:
    """Slide 3 turns out ten times as costly as modelled: it is no longer refreshed every 2."""
    cost = CalibratedCost(CostModel())
    for subgroup, duration in zip(example, (9, 140, 29), strict=True):
        cost.observe([subgroup], duration)
    assert [len(block) for block in best_partition(example, CostModel())] == [2, 1]
    chosen = {tuple(subgroup.slide for subgroup in block) for block in best_partition(example, cost)}
    assert not any({2, 3} <= set(block) for block in chosen)


def test_virtual_time_moves_only_forward() -> None:
    clock = VirtualClock(5)
    clock.advance(10)
    clock.advance_to(12)
    assert clock.now() == 15
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


def test_wall_clock_is_in_microseconds_and_never_goes_back() -> None:
    clock = WallClock()
    first, second = clock.now(), clock.now()
    assert 1_600_000_000_000_000 < first <= second
