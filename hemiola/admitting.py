"""Admission at registration: does the set stay schedulable with these queries added? ``admission: warn|refuse|off``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hemiola.costs import known_cost
from queries.durations import format_duration
from queries.errors import InputError, Problem
from queries.model import Config, Query, Stream
from scheduler.admission import Admission, Remedy, admit
from scheduler.cost import CalibratedCost, CostFunction, CostModel
from scheduler.engine import members_of
from scheduler.policies import make_policy
from scheduler.simulator import StreamLoad
from scheduler.tasks import Member, subgroups
from sharing.plan import StreamPlan, add, plan_stream
from synopses.choice import BASIC_INTERVAL, INTERVAL, legal_kinds_of


def check_admission(config: Config, registered: Sequence[Query], new: Sequence[Query]) -> tuple[str, ...]:
    """A sentence for every new query with which somebody would be late; with ``admission: refuse`` an error instead.

    ``registered`` are the queries there are, on all streams; the new ones are added one after the other.
    """
    mode = config.scheduler.admission
    if mode == "off":
        return ()
    present = list(registered)
    problems: list[Problem] = []
    for query in new:
        found = admission_of(config, present, query)
        if not found.fits:
            problems.append(
                Problem("admission", query.name, in_words(found), remedies_in_words(found, config.stream(query.stream)))
            )
        present.append(query)
    if problems and mode == "refuse":
        raise InputError(tuple(problems))
    return tuple(str(problem) for problem in problems)


def admission_of(config: Config, registered: Sequence[Query], query: Query) -> Admission:
    """What adding one query to the registered ones does, by measured costs where there are any."""
    settings = config.scheduler
    policy = make_policy(settings.policy, settings.sharing, settings.idle)
    loads: dict[str, StreamLoad] = {}
    plans: dict[str, StreamPlan] = {}
    for stream in config.streams:
        plan = plans[stream.name] = plan_stream(stream, [other for other in registered if other.stream == stream.name])
        groups = subgroups(members_of(plan), policy.joined)
        known = known_cost(plan, groups, config.results)
        loads[stream.name] = StreamLoad(stream.name, groups, policy, known.cost, stream.interval, 1.0, stream.weight)
    mine = loads.pop(query.stream)
    with_it = add(plans[query.stream], query)
    cost = known_cost(with_it, mine.subgroups, config.results).cost
    candidate = next(member for member in members_of(with_it) if member.query == query.name)
    others = tuple(other for other in loads.values() if other.subgroups)
    return admit(candidate, replace(mine, cost=cost), others, dict(_other_kinds(query, candidate, cost)))


def in_words(found: Admission) -> str:
    late = sorted(found.late, key=lambda query: -found.late[query])
    named = ", ".join(late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
    return (
        f"adds {found.added:.1%} of the processor, {found.after:.0%} in all; with it {named} would be late "
        f"(by {max(found.late.values()):.1f} updates on average)"
    )


def remedies_in_words(found: Admission, stream: Stream) -> str | None:
    """What would fix it, or None if nothing that was tried does."""
    return "; or ".join(_remedy(remedy, stream) for remedy in found.remedies) or None


def _remedy(remedy: Remedy, stream: Stream) -> str:
    if remedy.slide is not None:
        return f"with SLIDE {format_duration(remedy.slide * stream.interval)} nobody would be late"
    return f"with synopsis: {remedy.synopsis} nobody would be late"


def _other_kinds(query: Query, candidate: Member, cost: CalibratedCost) -> Iterator[tuple[str, CostFunction]]:
    """The costs if the candidate's group were kept in another kind that all its aggregates allow."""
    model = cost.model
    assert isinstance(model, CostModel)
    legal = [set(legal_kinds_of(call)) for call in query.select.leaf.aggregates]
    now = model.kinds.get(candidate.group, BASIC_INTERVAL)
    for kind in (INTERVAL, BASIC_INTERVAL):
        if kind != now and all(kind in kinds for kinds in legal):
            yield kind, replace(model, kinds={**model.kinds, candidate.group: kind})
