"""Does the set stay schedulable with a query added? The load it adds, who becomes late, and what would help.

The load is a long-run average (``scheduler.load``); who is late is found by running the schedule in virtual time,
unless even everything at once fits between two updates, so that nobody can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduler.cost import CostFunction
from scheduler.load import apart, load
from scheduler.simulator import StreamLoad, simulate_streams
from scheduler.tasks import Member, SubGroup, living, subgroups

LONGEST_RUN = 2_000
"""Updates simulated at most."""
SLOWER = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""How many times its slide a query is tried with when it does not fit."""


@dataclass(frozen=True)
class Remedy:
    """One change to the candidate with which nobody becomes late: a longer slide, or another kind of synopsis."""

    slide: int | None = None
    synopsis: str | None = None


@dataclass(frozen=True)
class Admission:
    """What adding a query does. Loads are shares of the processor; ``late`` has the queries that become late (later)
    with it, in extra updates between refreshes on average; ``remedies`` are only looked for when there are any."""

    query: str
    before: float
    after: float
    late: Mapping[str, float] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()

    @property
    def added(self) -> float:
        return self.after - self.before

    @property
    def fits(self) -> bool:
        return not self.late


def admit(
    candidate: Member,
    stream: StreamLoad,
    others: Sequence[StreamLoad] = (),
    synopses: Mapping[str, CostFunction] | None = None,
) -> Admission:
    """``stream`` is the present set of the candidate's stream, ``others`` share the processor with it. ``synopses``
    has the costs of the whole set if the candidate's group were kept in another kind, by the kind's name."""
    with_it = added(stream, [candidate])
    before = late_queries([stream, *others])
    late = _later(before, late_queries([with_it, *others]))
    remedies: tuple[Remedy, ...] = ()
    if late:
        remedies = tuple(_remedies(candidate, stream, others, synopses or {}, before))
    return Admission(candidate.query, share(stream), share(with_it), late, remedies)


def share(stream: StreamLoad) -> float:
    """The share of the processor that the stream's refreshes ask for in the long run, if nobody is to be late."""
    tasks = stream.policy.tasks(stream.subgroups, stream.cost)
    return load(tasks, stream.cost, stream.policy.joined) * stream.load / stream.interval


def marginal_shares(stream: StreamLoad) -> dict[str, float]:
    """The load each query adds to the rest of the set; less than nothing if it makes others fit together better."""
    whole = share(stream)
    members = members_of_load(stream)
    return {
        member.query: whole - share(with_members(stream, [other for other in members if other is not member]))
        for member in members
    }


def late_queries(streams: Sequence[StreamLoad]) -> dict[str, float]:
    """The queries that are late again and again on this processor, in extra updates between refreshes on average."""
    if len(streams) == 1 and all_at_once(streams[0]) <= 1:
        return {}
    duration = max(run_length(stream.subgroups) * stream.interval for stream in streams)
    runs = simulate_streams(streams, duration)
    return {query: extra for run in runs.values() for query, extra in run.lateness().items() if extra > 0}


def all_at_once(stream: StreamLoad) -> float:
    """The time, in intervals, that refreshing every query of the stream once takes."""
    tasks = stream.policy.tasks(stream.subgroups, stream.cost)
    sets: dict[str, list[SubGroup]] = {}
    for task in tasks:
        sets.setdefault(task.group if stream.policy.joined else task.name, []).extend(task.subgroups)
    return sum(apart(found, stream.cost) for found in sets.values()) * stream.load / stream.interval


def run_length(group: Sequence[SubGroup]) -> int:
    """Updates to simulate: enough for the longest slide to come round several times."""
    longest = max((subgroup.slide for subgroup in group), default=1)
    return max(2 * longest, min(LONGEST_RUN, max(200, 6 * longest)))


def members_of_load(stream: StreamLoad) -> tuple[Member, ...]:
    return tuple(member for subgroup in stream.subgroups for member in subgroup.members)


def with_members(stream: StreamLoad, members: Sequence[Member]) -> StreamLoad:
    return replace(stream, subgroups=living(subgroups(members, stream.policy.joined), 0))


def added(stream: StreamLoad, members: Sequence[Member]) -> StreamLoad:
    return with_members(stream, [*members_of_load(stream), *members])


def _later(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {query: extra for query, extra in after.items() if extra > before.get(query, 0.0) + 0.01}


def _remedies(
    candidate: Member,
    stream: StreamLoad,
    others: Sequence[StreamLoad],
    synopses: Mapping[str, CostFunction],
    before: Mapping[str, float],
) -> Iterator[Remedy]:
    for times in SLOWER:
        slower = replace(candidate, slide=candidate.slide * times, output_slide=None)
        if slower.slide > max(candidate.window, 4 * candidate.slide):
            break
        if not _later(before, late_queries([added(stream, [slower]), *others])):
            yield Remedy(slide=slower.slide)
            break
    for kind, cost in synopses.items():
        changed = replace(added(stream, [candidate]), cost=cost)
        if not _later(before, late_queries([changed, *others])):
            yield Remedy(synopsis=kind)
