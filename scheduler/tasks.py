"""What is scheduled: queries as the scheduler sees them, sub-groups of equal slide, tasks.

All lengths of time are numbers of updates of the stream's synopses (time divided by the interval ``s``); an update
is known by its number ``u = t / s``, so that ``u`` is a multiple of a slide exactly on the query's epoch-aligned grid.
Dissertation 8.4.2 and 8.4.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property


@dataclass(frozen=True)
class Member:
    """One periodic query: ``window`` and ``slide`` in updates, ``group`` the computation group it can be joined in.

    ``until`` is the last update at which it may be refreshed; queries with the same ``consistent`` name are always
    refreshed as of the same update. ``output_slide`` is the slide of the query, identical but for its shorter slide,
    whose answers it can take for nothing (CS8).
    """

    query: str
    group: str
    window: int
    slide: int
    priority: int = 0
    until: int | None = None
    consistent: str | None = None
    output_slide: int | None = None

    def alive(self, now: int) -> bool:
        return self.until is None or now <= self.until


@dataclass(frozen=True)
class SubGroup:
    """The queries of one group with one slide: the unit that conservative scheduling runs as a whole."""

    group: str
    slide: int
    members: tuple[Member, ...]

    @property
    def name(self) -> str:
        return f"{self.group}/{self.slide}"

    @cached_property
    def queries(self) -> tuple[str, ...]:
        return tuple(member.query for member in self.members)

    @cached_property
    def windows(self) -> tuple[int, ...]:
        """The distinct windows of its queries, ascending."""
        return tuple(sorted({member.window for member in self.members}))

    @cached_property
    def priority(self) -> int:
        return max(member.priority for member in self.members)


@dataclass(frozen=True)
class Task:
    """A set of queries that is always refreshed together, every ``period`` updates or sooner.

    All its sub-groups belong to ``group``; only tasks of one group can be run jointly.
    """

    group: str
    period: int
    subgroups: tuple[SubGroup, ...]

    @cached_property
    def name(self) -> str:
        return f"{self.group}/{'+'.join(str(subgroup.slide) for subgroup in self.subgroups)}"

    @cached_property
    def queries(self) -> tuple[str, ...]:
        return tuple(query for subgroup in self.subgroups for query in subgroup.queries)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        return tuple(member for subgroup in self.subgroups for member in subgroup.members)

    @cached_property
    def priority(self) -> int:
        return max(subgroup.priority for subgroup in self.subgroups)


def task_of(subgroups: Sequence[SubGroup]) -> Task:
    """One task over sub-groups of one group, its period the shortest of their slides."""
    ordered = tuple(sorted(subgroups, key=lambda subgroup: subgroup.slide))
    return Task(ordered[0].group, ordered[0].slide, ordered)


def first_deadline(period: int, registered_at: int) -> int:
    """The first multiple of the period strictly after the update at which the task was registered."""
    return (registered_at // period + 1) * period


def subgroups(members: Iterable[Member], share_outputs: bool = True) -> tuple[SubGroup, ...]:
    """Sub-groups by (group, slide), in that order; with ``share_outputs`` a query goes where its output is made.

    A consistent set takes the shortest slide among its queries. Where it spans several groups, they are scheduled as
    one, named after its parts joined by ``&``: its queries then share a sub-group, hence a task, under every policy.
    """
    bound = tuple(members)
    own = {
        member.query: member.output_slide if share_outputs and member.output_slide is not None else member.slide
        for member in bound
    }
    slides: dict[str, int] = {}
    for member in bound:
        if member.consistent is not None:
            slide = own[member.query]
            slides[member.consistent] = min(slide, slides.get(member.consistent, slide))
    united = _united_groups(bound)
    cells: dict[tuple[str, int], list[Member]] = defaultdict(list)
    for member in bound:
        slide = own[member.query] if member.consistent is None else slides[member.consistent]
        cells[united[member.group], slide].append(member)
    return tuple(SubGroup(group, slide, tuple(cells[group, slide])) for group, slide in sorted(cells))


def _united_groups(members: Sequence[Member]) -> dict[str, str]:
    """The name under which each group is scheduled."""
    parts: dict[str, set[str]] = {member.group: {member.group} for member in members}
    first: dict[str, str] = {}
    for member in members:
        if member.consistent is None:
            continue
        other = first.setdefault(member.consistent, member.group)
        if parts[other] is not parts[member.group]:
            parts[other] |= parts[member.group]
            for group in parts[other]:
                parts[group] = parts[other]
    return {group: "&".join(sorted(together)) for group, together in parts.items()}


def living(subgroups: Iterable[SubGroup], now: int) -> tuple[SubGroup, ...]:
    """The sub-groups without the queries whose lifetime ended before update ``now``."""
    kept = (
        replace(subgroup, members=tuple(member for member in subgroup.members if member.alive(now)))
        for subgroup in subgroups
    )
    return tuple(subgroup for subgroup in kept if subgroup.members)
