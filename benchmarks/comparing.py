"""Two runs of all benchmarks held against each other: is the order of peers the same, are the ratios alike?

python -m benchmarks --compare benchmarks/out/earlier/summary.json
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

LIKE = 1.5
"""Ratios of two runs are alike within this factor."""
TIED = 1.1
"""Contenders closer than this in either run may change places."""


@dataclass(frozen=True)
class Comparison:
    """``ratios``: what, earlier, now, and whether they are alike. ``swapped``: pairs of contenders that changed places.
    ``unpaired``: what only one of the runs has."""

    ratios: tuple[tuple[str, float, float, bool], ...]
    orders: int
    swapped: tuple[str, ...]
    tied: tuple[str, ...]
    unpaired: tuple[str, ...]

    @property
    def alike(self) -> bool:
        return not self.swapped and all(alike for *_, alike in self.ratios)


def compare(earlier: dict[str, Any], now: dict[str, Any]) -> Comparison:
    """Of two ``summary.json``."""
    before, after = ({ratio["key"]: ratio for ratio in run["ratios"]} for run in (earlier, now))
    ratios = []
    for key, ratio in after.items():
        if key in before:
            old, new = before[key]["measured"], ratio["measured"]
            alike = max(old, new) <= LIKE * min(old, new)
            ratios.append((f"{ratio['what']} / {ratio['against']}", old, new, alike))
    swapped: list[str] = []
    tied: list[str] = []
    orders = 0
    for name, contenders in now["contenders"].items():
        theirs = earlier["contenders"].get(name, {})
        both = [contender for contender in contenders if contender in theirs]
        orders += len(both) > 1
        for one, other in combinations(both, 2):
            old, new = theirs[one] / theirs[other], contenders[one] / contenders[other]
            if (old < 1) != (new < 1):
                close = min(max(old, 1 / old), max(new, 1 / new)) <= TIED
                (tied if close else swapped).append(f"{name}: {one} and {other} ({old:.2f} earlier, {new:.2f} now)")
    return Comparison(tuple(ratios), orders, tuple(swapped), tuple(tied), tuple(sorted(before.keys() ^ after.keys())))


def print_comparison(earlier: Path, now: Path) -> bool:
    """Whether the two runs are alike."""
    runs = [json.loads(path.read_text()) for path in (earlier, now)]
    found = compare(*runs)
    print(f"earlier: {runs[0]['machine']['measured_at']}, commit {runs[0]['machine'].get('commit')}")
    print(f"now:     {runs[1]['machine']['measured_at']}, commit {runs[1]['machine'].get('commit')}")
    for what, old, new, alike in found.ratios:
        print(f"  {old:9.3g} → {new:9.3g}  {'' if alike else f'NOT WITHIN {LIKE}×'}  {what}")
    for key in found.unpaired:
        print(f"  only in one of the runs: {key}")
    for pair in found.tied:
        print(f"  changed places, but were within {TIED:g}× of each other: {pair}")
    for pair in found.swapped:
        print(f"  CHANGED PLACES: {pair}")
    near = sum(alike for *_, alike in found.ratios)
    order = "the same order of contenders" if not found.swapped else f"{len(found.swapped)} pairs changed places"
    print(f"{order} in {found.orders} benchmarks; {near} of {len(found.ratios)} ratios within {LIKE}×")
    return found.alike
