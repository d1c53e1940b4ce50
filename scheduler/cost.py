"""What one joint execution costs: a model, and its calibration by measured durations.

The cost of running a set of sub-groups jointly is a sum of maxima: a scan is paid once, for the longest window in the
set; what is paid by each sub-group alone is added. This form covers all synopses and lets the hybrid optimizer
compute long-run averages exactly (``scheduler.coincidence``). Dissertation 8.4.4, semantics.md section 5.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scheduler.tasks import SubGroup


@dataclass(frozen=True)
class CostTerms:
    """Costs over a sequence of sub-groups: a joint execution of the set S costs
    ``sum(max(term[i] for i in S) for term in shared) + sum(own[i] for i in S)``."""

    shared: tuple[tuple[float, ...], ...]
    own: tuple[float, ...]

    def joint(self, positions: Sequence[int]) -> float:
        """The cost of running the sub-groups at these positions together, once."""
        scans = sum(max(term[position] for position in positions) for term in self.shared)
        return scans + sum(self.own[position] for position in positions)


class CostFunction(Protocol):
    def terms(self, subgroups: Sequence[SubGroup]) -> CostTerms:
        """The costs of the sub-groups, in this order, in any one unit (merges, microseconds)."""
        ...

    def cost(self, subgroups: Sequence[SubGroup]) -> float:
        """The cost of running these sub-groups jointly, once."""
        ...


@dataclass(frozen=True)
class CostModel:
    """Cost by counting: reads and merges of stored intervals, post-processing per query, a fixed cost per execution.

    The defaults count merges alone, as the dissertation's example does. ``kinds`` names each group's synopsis
    (``basic_interval`` unless said), ``sizes`` scales reads, merges and post-processing of a group, for instance by
    its number of distinct keys, and ``starts`` is what beginning an execution of a group costs beyond ``fixed``.
    """

    read: float = 0
    merge: float = 1
    post: float = 0
    fixed: float = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)
    starts: Mapping[str, float] = field(default_factory=dict)

    def cost(self, subgroups: Sequence[SubGroup]) -> float:
        return self.terms(subgroups).joint(range(len(subgroups))) if subgroups else 0

    def terms(self, subgroups: Sequence[SubGroup]) -> CostTerms:
        scans: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0] * len(subgroups))
        own: list[float] = [0] * len(subgroups)
        for position, subgroup in enumerate(subgroups):
            for member in subgroup.members:
                basic = self.kinds.get(member.group, "basic_interval") == "basic_interval"
                scan = scans[member.group, 0 if basic else member.window]
                scan[position] = max(scan[position], self._probe(member.group, member.window))
                own[position] += self.post * self.sizes.get(member.group, 1)
                if member.group in self.starts:
                    scans[member.group, -1][position] = self.starts[member.group]
        shared = [tuple(scan) for scan in scans.values() if any(scan)]
        if self.fixed and len(shared) == 1 and all(shared[0]):
            shared = [tuple(value + self.fixed for value in shared[0])]
        elif self.fixed:
            shared.append((self.fixed,) * len(subgroups))
        return CostTerms(tuple(shared), tuple(own))

    def _probe(self, group: str, window: int) -> float:
        """Reads and merges of one window: a scan, at most 2 log2 n dyadic blocks, or two prefixes."""
        kind = self.kinds.get(group, "basic_interval")
        blocks = window if kind == "basic_interval" else 2
        if kind == "interval":
            blocks = max(1, 2 * math.ceil(math.log2(window))) if window > 1 else 1
        return (self.read * blocks + self.merge * (blocks - 1)) * self.sizes.get(group, 1)


_MOST_SETS = 1024
"""Joint sets whose own durations are remembered; the longest not seen is forgotten."""


class CalibratedCost:
    """A model corrected by what executions really took.

    Each sub-group keeps an exponentially weighted average of measured duration over modelled cost; where nothing is
    measured yet the average over all executions stands in, so that one unit holds throughout. A joint execution
    corrects all its sub-groups by the error of what was expected of them together: what each showed when it ran alone
    is not lost. The duration of a set that has itself been run is its own moving average.
    """

    def __init__(self, model: CostFunction, weight: float = 0.2) -> None:
        self.model = model
        self.weight = weight
        self._overall: float | None = None
        self._ratios: dict[str, float] = {}
        self._durations: dict[frozenset[str], float] = {}
        self._settled: dict[str, float] = {}

    def observe(self, subgroups: Sequence[SubGroup], duration: float) -> None:
        """These sub-groups were run jointly and took ``duration``."""
        together = _queries(subgroups)
        self._durations[together] = self._average(self._durations.pop(together, None), duration)
        if len(self._durations) > _MOST_SETS:
            del self._durations[next(iter(self._durations))]
        modelled = self.model.cost(subgroups)
        if modelled <= 0:
            return
        ratio = duration / modelled
        self._overall = ratio if self._overall is None else self._overall
        error = duration / self.terms(subgroups).joint(range(len(subgroups)))
        for subgroup, expected in [(subgroup, self._ratio(subgroup)) for subgroup in subgroups]:
            self._ratios[subgroup.name] = self._average(self._ratios.get(subgroup.name), expected * error)
        self._overall = self._average(self._overall, ratio)

    def terms(self, subgroups: Sequence[SubGroup]) -> CostTerms:
        terms = self.model.terms(subgroups)
        ratios = [self._ratio(subgroup) for subgroup in subgroups]
        return CostTerms(
            tuple(tuple(value * ratio for value, ratio in zip(term, ratios, strict=True)) for term in terms.shared),
            tuple(value * ratio for value, ratio in zip(terms.own, ratios, strict=True)),
        )

    def cost(self, subgroups: Sequence[SubGroup]) -> float:
        measured = self._durations.get(_queries(subgroups))
        if measured is not None:
            return measured
        return self.terms(subgroups).joint(range(len(subgroups))) if subgroups else 0

    def settle(self) -> None:
        """A choice was made on the present costs: ``drift`` counts from here."""
        self._settled = self._relative()

    def drift(self) -> float:
        """By how much the cost of some sub-group has changed against the average of all since ``settle``, as a share;
        what is equally dearer everywhere changes no choice."""
        pairs = ((now, self._settled.get(name, 1.0)) for name, now in self._relative().items())
        return max((max(now, was) / min(now, was) - 1 for now, was in pairs if min(now, was) > 0), default=0.0)

    def _relative(self) -> dict[str, float]:
        overall = self._overall or 1.0
        return {name: ratio / overall for name, ratio in self._ratios.items()}

    def _ratio(self, subgroup: SubGroup) -> float:
        measured = self._ratios.get(subgroup.name, self._overall)
        return 1.0 if measured is None else measured

    def _average(self, average: float | None, measured: float) -> float:
        return measured if average is None else average + self.weight * (measured - average)


def _queries(subgroups: Sequence[SubGroup]) -> frozenset[str]:
    return frozenset(query for subgroup in subgroups for query in subgroup.queries)
