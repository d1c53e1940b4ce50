"""The hybrid optimizer: time for 50 sub-groups, distance from the optimum, and whether shifted phases would pay.

Run with ``python -m benchmarks.hybrid``; prints tables and writes ``benchmarks/out/hybrid.json``. Times are processor
time of this process, so that other work on the machine does not count.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from rich.console import Console
from rich.table import Table

from scheduler.cost import CostModel
from scheduler.hybrid import Partition, best_partition, cost_per_update, exact_cost_per_update, exhaustive
from scheduler.partition_search import search
from scheduler.tasks import Member, SubGroup, subgroups

OUT = Path(__file__).parent / "out"


def random_group(rng: random.Random, count: int, longest_slide: int) -> tuple[SubGroup, ...]:
    """``count`` sub-groups of one to three queries, slides without repetition, windows of two to ten slides."""
    members = [
        Member(f"q{slide}_{number}", "g", rng.randint(2 * slide, 10 * slide), slide)
        for slide in rng.sample(range(1, longest_slide + 1), count)
        for number in range(rng.randint(1, 3))
    ]
    return subgroups(members)


def timing(repeats: int = 5) -> list[dict[str, float]]:
    """The worst of some searches over 50 sub-groups, by longest slide and by weight of post-processing."""
    rng = random.Random(8)
    found = []
    for longest in (50, 200, 10_000):
        for post in (0.0, 0.5, 5.0, 50.0, 500.0):
            cost = CostModel(read=1, merge=1, post=post, fixed=10)
            times, savings = [], []
            for _ in range(repeats):
                group = random_group(rng, 50, longest)
                began = process_time()
                chosen = best_partition(group, cost)
                times.append((process_time() - began) * 1000)
                separate = cost_per_update(tuple((subgroup,) for subgroup in group), cost)
                savings.append(1 - cost_per_update(chosen, cost) / separate)
            found.append(
                {
                    "longest_slide": longest,
                    "post": post,
                    "worst_ms": max(times),
                    "median_ms": sorted(times)[repeats // 2],
                    "saved": sum(savings) / repeats,
                }
            )
    return found


def distance(groups: int = 500) -> dict[str, float]:
    """The search held against all partitions, on random groups of two to seven sub-groups."""
    rng = random.Random(7)
    ratios = []
    for _ in range(groups):
        group = random_group(rng, rng.randint(2, 7), rng.choice((10, 50, 1000)))
        cost = CostModel(read=1, merge=1, post=rng.choice((0, 1, 10, 100)), fixed=rng.choice((0, 10)))
        slides, terms = [subgroup.slide for subgroup in group], cost.terms(group)
        heuristic = exact_cost_per_update(_partition(group, search(slides, terms)), cost)
        optimum = exact_cost_per_update(_partition(group, exhaustive(slides, terms)), cost)
        ratios.append(float(heuristic / optimum))
    return {"groups": groups, "not_optimal": sum(ratio > 1 + 1e-9 for ratio in ratios), "worst_ratio": max(ratios)}


def phases(groups: int = 200, tries: int = 50) -> dict[str, float]:
    """Cost per update with shifted blocks over cost with all blocks on the epoch's grid, over a hyperperiod.

    Shifting cannot lower it: the union of residue classes is smallest when they are aligned (a theorem of Rogers),
    and every term of the cost is a sum of such unions.
    """
    rng = random.Random(6)
    best = math.inf
    for _ in range(groups):
        group = random_group(rng, rng.randint(2, 5), 12)
        cost = CostModel(read=1, merge=1, post=rng.choice((0, 10)), fixed=rng.choice((0, 10)))
        chosen = best_partition(group, cost)
        aligned = _walked(chosen, cost, [0] * len(chosen))
        for _ in range(tries):
            shifts = [rng.randrange(min(subgroup.slide for subgroup in block)) for block in chosen]
            best = min(best, _walked(chosen, cost, shifts) / aligned)
    return {"groups": groups, "tries_each": tries, "least_ratio": best}


def _walked(partition: Partition, cost: CostModel, shifts: Sequence[int]) -> float:
    periods = [min(subgroup.slide for subgroup in block) for block in partition]
    cycle = math.lcm(*periods)
    total = 0.0
    for update in range(cycle):
        due = [
            block
            for block, period, shift in zip(partition, periods, shifts, strict=True)
            if (update - shift) % period == 0
        ]
        total += cost.cost([subgroup for block in due for subgroup in block])
    return total / cycle


def _partition(group: Sequence[SubGroup], blocks: Sequence[Sequence[int]]) -> Partition:
    return tuple(tuple(group[position] for position in block) for block in blocks)


def main() -> None:
    console = Console()
    times, quality, shifted = timing(), distance(), phases()
    table = Table(
        "longest slide", "post-processing", "median ms", "worst ms", "saved against separate", title="50 sub-groups"
    )
    for row in times:
        table.add_row(
            f"{row['longest_slide']:,}",
            f"{row['post']:g}",
            f"{row['median_ms']:.1f}",
            f"{row['worst_ms']:.1f}",
            f"{row['saved']:.0%}",
        )
    console.print(table)
    console.print(
        f"search against all partitions: {quality['not_optimal']:.0f} of {quality['groups']:.0f} groups not optimal, "
        f"worst {quality['worst_ratio']:.4f} of the optimum"
    )
    console.print(f"shifted phases: at best {shifted['least_ratio']:.4f} of the aligned cost (below 1 would pay)")
    OUT.mkdir(exist_ok=True)
    report = {"timing": times, "distance": quality, "phases": shifted}
    (OUT / "hybrid.json").write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
