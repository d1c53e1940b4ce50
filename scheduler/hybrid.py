"""Hybrid scheduling: which sub-groups of a group to refresh more often than asked, so that they run together.

A group's sub-groups are partitioned into blocks. A block runs every ``period`` updates, its shortest slide, as one
task; blocks that fall due at the same update run jointly. The best partition has the least cost per update.
Dissertation 8.4.4, semantics.md section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from scheduler.coincidence import Overlaps, densities_of_subsets, density
from scheduler.cost import CostFunction, CostTerms
from scheduler.partition_search import cost_of, search
from scheduler.tasks import SubGroup, Task, task_of

Partition = tuple[tuple[SubGroup, ...], ...]

EXHAUSTIVE_UP_TO = 7
"""Sub-groups up to which all partitions are tried: 877 of them for 7, 4,140 for 8."""

THRESHOLD = 0.03
"""The share of the cost per update that a new partition must save to replace the running one."""


def best_partition(subgroups: Sequence[SubGroup], cost: CostFunction) -> Partition:
    """The partition of one group's sub-groups with the least cost per update, or one close to it."""
    ordered = sorted(subgroups, key=lambda subgroup: subgroup.slide)
    slides, terms = [subgroup.slide for subgroup in ordered], cost.terms(ordered)
    find = exhaustive if len(ordered) <= EXHAUSTIVE_UP_TO else search
    return tuple(tuple(ordered[position] for position in block) for block in find(slides, terms))


def exhaustive(slides: Sequence[int], terms: CostTerms) -> tuple[tuple[int, ...], ...]:
    """The best of all partitions of the positions, ``slides`` ascending; the fewest blocks among equals."""
    due = densities_of_subsets(slides)

    def per_update(blocks: Sequence[Sequence[int]]) -> float:
        total = sum(terms.own[position] / slides[block[0]] for block in blocks for position in block)
        for term in terms.shared:
            ranked = sorted(((max(term[position] for position in block), block[0]) for block in blocks), reverse=True)
            leaders, covered = 0, 0.0
            for value, leader in ranked:
                leaders |= 1 << leader
                total += value * (due[leaders] - covered)
                covered = due[leaders]
        return total

    best = min(partitions(len(slides)), key=lambda blocks: (round(per_update(blocks), 12), len(blocks)))
    return tuple(tuple(block) for block in best)


def partitions(count: int) -> Iterator[list[list[int]]]:
    """All partitions of the positions 0 to count - 1; positions ascend within a block."""
    if count == 0:
        yield []
        return
    for blocks in partitions(count - 1):
        yield [*blocks, [count - 1]]
        for chosen in range(len(blocks)):
            yield [*blocks[:chosen], [*blocks[chosen], count - 1], *blocks[chosen + 1 :]]


def cost_per_update(partition: Partition, cost: CostFunction) -> float:
    """The long-run average cost of the partition, estimated in milliseconds for any number of blocks
    (``scheduler.coincidence.Overlaps`` says how closely)."""
    ordered = sorted((subgroup for block in partition for subgroup in block), key=lambda subgroup: subgroup.slide)
    place = {subgroup.slide: position for position, subgroup in enumerate(ordered)}
    blocks = tuple(tuple(sorted(place[subgroup.slide] for subgroup in block)) for block in partition)
    return cost_of(blocks, [subgroup.slide for subgroup in ordered], cost.terms(ordered))


def exact_cost_per_update(partition: Partition, cost: CostFunction) -> Fraction:
    """The long-run average cost of the partition as a fraction; for up to some fifteen blocks."""
    terms = cost.terms([subgroup for block in partition for subgroup in block])
    blocks: list[tuple[int, range]] = []
    start = 0
    for block in partition:
        blocks.append((min(subgroup.slide for subgroup in block), range(start, start + len(block))))
        start += len(block)
    total = Fraction(0)
    for period, positions in blocks:
        total += sum((Fraction(terms.own[position]) for position in positions), Fraction(0)) / period
    for term in terms.shared:
        periods: list[int] = []
        covered = Fraction(0)
        for value, period in sorted(((max(term[i] for i in where), period) for period, where in blocks), reverse=True):
            periods.append(period)
            reached = density(periods)
            total += Fraction(value) * (reached - covered)
            covered = reached
    return total


def revise(current: Partition, candidate: Partition, cost: CostFunction, threshold: float = THRESHOLD) -> Partition:
    """The candidate if it saves more than ``threshold`` of the current partition's cost, else the current one:
    measured costs waver, and every change of schedule costs synchronization."""
    saving = 1 - cost_per_update(candidate, cost) / max(cost_per_update(current, cost), 1e-300)
    return candidate if saving > threshold else current


def hybrid_tasks(subgroups: Sequence[SubGroup], cost: CostFunction, current: Sequence[Task]) -> tuple[Task, ...]:
    """The blocks of one group as tasks. While the slides stay the same, ``current`` is kept unless a change pays."""
    chosen = best_partition(subgroups, cost)
    by_slide = {subgroup.slide: subgroup for subgroup in subgroups}
    running = [[subgroup.slide for subgroup in task.subgroups] for task in current]
    if sorted(slide for slides in running for slide in slides) == sorted(by_slide):
        chosen = revise(tuple(tuple(by_slide[slide] for slide in slides) for slides in running), chosen, cost)
    return tuple(task_of(block) for block in chosen)


def queries_together(tasks: Sequence[Task]) -> float:
    """The average number of queries in one joint execution of a group's tasks, by which a basic interval synopsis is
    held against an interval synopsis (b / log2 b, dissertation 8.3.1)."""
    refreshes = sum(len(task.queries) / task.period for task in tasks)
    return refreshes / Overlaps([task.period for task in tasks]).due()
