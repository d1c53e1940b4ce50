"""The hybrid optimizer: the worked example to the digit, the search against all partitions, hysteresis."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.coincidence import Overlaps, densities_of_subsets, density
from scheduler.cost import CostModel
from scheduler.hybrid import (
    Partition,
    best_partition,
    cost_per_update,
    exact_cost_per_update,
    exhaustive,
    hybrid_tasks,
    partitions,
    queries_together,
    revise,
)
from scheduler.partition_search import search
from scheduler.tasks import Member, SubGroup, subgroups, task_of

MERGES = CostModel()


def by_slides(group: tuple[SubGroup, ...], *blocks: tuple[int, ...]) -> Partition:
    slides = {subgroup.slide: subgroup for subgroup in group}
    return tuple(tuple(slides[slide] for slide in block) for block in blocks)


def slides_of(partition: Partition) -> set[tuple[int, ...]]:
    return {tuple(sorted(subgroup.slide for subgroup in block)) for block in partition}


def random_group(rng: random.Random, longest_slide: int) -> tuple[SubGroup, ...]:
    return subgroups(
        Member(f"q{slide}_{number}", "g", rng.randint(2 * slide, 10 * slide), slide)
        for slide in rng.sample(range(1, longest_slide + 1), rng.randint(2, 7))
        for number in range(rng.randint(1, 3))
    )


def walked(partition: Partition, cost: CostModel, shifts: tuple[int, ...] = ()) -> Fraction:
    """The oracle: every update of a hyperperiod, one after the other."""
    periods = [min(subgroup.slide for subgroup in block) for block in partition]
    cycle = math.lcm(*periods)
    total = Fraction(0)
    for update in range(cycle):
        due = [
            subgroup
            for block, period, shift in zip(partition, periods, shifts or (0,) * len(periods), strict=True)
            if (update - shift) % period == 0
            for subgroup in block
        ]
        total += Fraction(cost.cost(due))
    return total / cycle


def test_costs_of_the_example(example: tuple[SubGroup, ...]) -> None:
    assert [MERGES.cost([subgroup]) for subgroup in example] == [9, 14, 29]
    assert MERGES.cost(example[:2]) == 14


@pytest.mark.parametrize(
    ("blocks", "per_update", "printed"),
    [
        (((2,), (3,), (5,)), Fraction(358, 30), "11.93"),
        (((2, 3), (5,)), Fraction(57, 5), "11.40"),
        (((2, 3, 5),), Fraction(29, 2), "14.50"),
        (((2,), (3, 5)), Fraction(38, 3), "12.67"),
        (((2, 5), (3,)), Fraction(101, 6), "16.83"),
    ],
)
def test_cost_per_update_of_the_example(
    example: tuple[SubGroup, ...], blocks: tuple[tuple[int, ...], ...], per_update: Fraction, printed: str
) -> None:
    partition = by_slides(example, *blocks)
    assert exact_cost_per_update(partition, MERGES) == per_update
    assert f"{cost_per_update(partition, MERGES):.2f}" == printed


def test_the_first_two_alone_as_the_dissertation_says(example: tuple[SubGroup, ...]) -> None:
    assert exact_cost_per_update(by_slides(example, (2,), (3,)), MERGES) == Fraction(46, 6)
    assert exact_cost_per_update(by_slides(example, (2, 3)), MERGES) == 7


def test_chosen_partition_of_the_example(example: tuple[SubGroup, ...]) -> None:
    assert slides_of(best_partition(example, MERGES)) == {(2, 3), (5,)}
    assert {(task.name, task.period) for task in hybrid_tasks(example, MERGES, ())} == {("G1/2+3", 2), ("G1/5", 5)}


@pytest.mark.slow
def test_search_equals_brute_force_on_500_random_groups() -> None:
    rng = random.Random(500)
    for _ in range(500):
        group = random_group(rng, rng.choice((10, 50, 1000)))
        cost = CostModel(read=1, post=rng.choice((0, 1, 10, 100)), fixed=rng.choice((0, 10)))
        slides, terms = [subgroup.slide for subgroup in group], cost.terms(group)
        found, best = (
            exact_cost_per_update(tuple(tuple(group[i] for i in block) for block in blocks), cost)
            for blocks in (search(slides, terms), exhaustive(slides, terms))
        )
        assert best <= found + Fraction(1, 10**9)
        assert found <= best * Fraction(101, 100)


def test_exhaustive_is_the_least_of_all_walked_partitions() -> None:
    rng = random.Random(11)
    for _ in range(30):
        group = random_group(rng, 10)[:4]
        cost = CostModel(post=rng.choice((0, 5)), fixed=rng.choice((0, 3)))
        every = [tuple(tuple(group[i] for i in block) for block in blocks) for blocks in partitions(len(group))]
        assert walked(best_partition(group, cost), cost) == min(walked(partition, cost) for partition in every)


def test_partitions_are_counted_by_bell_numbers() -> None:
    assert [sum(1 for _ in partitions(count)) for count in range(8)] == [1, 1, 2, 5, 15, 52, 203, 877]


def test_interval_synopses_pay_per_distinct_window() -> None:
    cost = CostModel(read=1, merge=0, kinds={"g": "interval"})
    group = subgroups([Member("a", "g", 8, 2), Member("b", "g", 8, 3), Member("c", "g", 16, 3)])
    assert cost.cost(group) == 6 + 8
    partition = tuple((subgroup,) for subgroup in group)
    assert exact_cost_per_update(partition, cost) == walked(partition, cost)


def test_fifty_subgroups_with_long_slides_are_partitioned_and_improved() -> None:
    rng = random.Random(50)
    group = subgroups(
        Member(f"q{slide}", "g", rng.randint(slide, 5 * slide), slide) for slide in rng.sample(range(1, 10_001), 50)
    )
    cost = CostModel(post=100, fixed=10)
    chosen = best_partition(group, cost)
    assert sorted(subgroup.slide for block in chosen for subgroup in block) == [subgroup.slide for subgroup in group]
    separate, together = tuple((subgroup,) for subgroup in group), (group,)
    assert cost_per_update(chosen, cost) < 0.9 * min(cost_per_update(separate, cost), cost_per_update(together, cost))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_density_is_that_of_a_hyperperiod(periods: list[int]) -> None:
    cycle = math.lcm(*periods)
    if cycle <= 200_000:
        due = sum(any(update % period == 0 for period in set(periods)) for update in range(cycle))
        assert density(periods) == Fraction(due, cycle)
    assert densities_of_subsets(periods)[-1] == pytest.approx(float(density(periods)), abs=1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=8, unique=True))
@settings(max_examples=200)
def test_overlaps_are_close_to_the_exact_density(periods: list[int]) -> None:
    assert Overlaps(periods).due() == pytest.approx(float(density(periods)), abs=len(periods) / Overlaps.LENGTH)


def test_hysteresis_keeps_a_partition_unless_a_change_pays(example: tuple[SubGroup, ...]) -> None:
    separate, chosen = by_slides(example, (2,), (3,), (5,)), by_slides(example, (2, 3), (5,))
    assert revise(separate, chosen, MERGES, threshold=0.05) == separate
    assert revise(separate, chosen, MERGES, threshold=0.03) == chosen
    running = tuple(task_of(block) for block in by_slides(example, (2, 3, 5)))
    assert len(hybrid_tasks(example, MERGES, running)) == 2


def test_shifted_phases_never_pay() -> None:
    rng = random.Random(3)
    for _ in range(60):
        group = random_group(rng, 10)[:4]
        cost = CostModel(post=rng.choice((0, 5)), fixed=rng.choice((0, 3)))
        partition = tuple((subgroup,) for subgroup in group)
        shifts = tuple(rng.randrange(subgroup.slide) for subgroup in group)
        assert walked(partition, cost, shifts) >= walked(partition, cost)


def test_queries_together_counts_the_average_joint_execution(example: tuple[SubGroup, ...]) -> None:
    assert queries_together([task_of(example)]) == 7
    separate = [task_of([subgroup]) for subgroup in example]
    assert queries_together(separate) == pytest.approx((3 / 2 + 2 / 3 + 2 / 5) / float(density([2, 3, 5])))
