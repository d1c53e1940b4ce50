"""``hemiola explain``: the shared plan as a value, fit for text, JSON and a picture."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from queries.durations import format_duration
from queries.model import Config
from scheduler.engine import members_of
from scheduler.plan_cost import modelled_cost
from scheduler.policies import Policy, make_policy
from scheduler.tasks import Task, subgroups
from sharing.kept import KeptSynopsis
from sharing.plan import StreamPlan, plan_stream
from sharing.query_plan import Part, QueryPlan
from sharing.savings import Load, marginal_load, shared_load, unshared_load
from sharing.why import Why, unknown, why
from sharing.wording import component_text


@dataclass(frozen=True)
class Kept:
    """A component and the kind of synopsis it is kept in."""

    what: str
    kind: str


@dataclass(frozen=True)
class Read:
    """One edge of the plan: which synopses a query reads for what (its groups, counters of x), by which rule.

    A synopsis with a minus before its name is taken away.
    """

    what: str
    rule: str
    synopses: tuple[str, ...]


@dataclass(frozen=True)
class QueryLine:
    """``adds`` is the query's marginal cost per update, ``frees`` the entries that removing it would free."""

    name: str
    window: str
    slide: str
    refreshed_every: str
    reads: tuple[Read, ...]
    shares_with: tuple[str, ...]
    shares_output_of: str | None
    adds: float
    frees: float


@dataclass(frozen=True)
class TaskLine:
    """Queries that are refreshed together, every ``period``."""

    name: str
    period: str
    queries: tuple[QueryLine, ...]


@dataclass(frozen=True)
class SynopsisLine:
    """A synopsis, the pre-aggregation that feeds it, and the group of tasks computed on it.

    ``readers`` are all queries that read it, also those of other groups.
    """

    name: str
    intervals: int
    keeps: tuple[Kept, ...]
    readers: tuple[str, ...]
    tasks: tuple[TaskLine, ...]


@dataclass(frozen=True)
class LoadLine:
    cost: float
    entries: float
    synopses: int


@dataclass(frozen=True)
class StreamExplanation:
    """Costs are in merges of one entry (one group of one interval) per update, by the cost model of the planner."""

    stream: str
    interval: str
    queries: int
    groups: int
    synopses: tuple[SynopsisLine, ...]
    shared: LoadLine
    unshared: LoadLine


@dataclass(frozen=True)
class Explanation:
    policy: str
    streams: tuple[StreamExplanation, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)


def explain_config(config: Config) -> Explanation:
    policy = _policy(config)
    plans = [plan_stream(stream, config.queries_on(stream.name)) for stream in config.streams]
    return Explanation(policy.name, tuple(explain_plan(plan, policy) for plan in plans))


def explain_pair(config: Config, one: str, other: str) -> Why:
    """Why two queries share, or do not."""
    names = [query.name for query in config.queries]
    for name in (one, other):
        if name not in names:
            raise unknown(name, names)
    stream = config.stream(config.query(one).stream)
    if config.query(other).stream != stream.name:
        return Why(one, other, (), f"{one} reads {stream.name}, {other} reads {config.query(other).stream}", ())
    return why(plan_stream(stream, config.queries_on(stream.name)), one, other)


def explain_plan(plan: StreamPlan, policy: Policy) -> StreamExplanation:
    tasks = policy.tasks(subgroups(members_of(plan), policy.joined), modelled_cost(plan))
    return StreamExplanation(
        stream=plan.stream.name,
        interval=format_duration(plan.stream.interval),
        queries=len(plan.queries),
        groups=len({query.group for query in plan.queries}),
        synopses=tuple(_synopsis(plan, kept, tasks) for kept in plan.kept),
        shared=_load(shared_load(plan)),
        unshared=_load(unshared_load(plan)),
    )


def _policy(config: Config) -> Policy:
    return make_policy(config.scheduler.policy, config.scheduler.sharing, config.scheduler.idle)


def _load(load: Load) -> LoadLine:
    return LoadLine(load.cost, load.entries, load.synopses)


def _synopsis(plan: StreamPlan, kept: KeptSynopsis, tasks: tuple[Task, ...]) -> SynopsisLine:
    pairs = zip(kept.need.components, kept.kinds, strict=True)
    primary = {query.query.name for query in plan.queries if query.base.primary == kept.input}
    own = [(task, [plan.query(name) for name in task.queries if name in primary]) for task in tasks]
    return SynopsisLine(
        name=kept.name,
        intervals=kept.b,
        keeps=tuple(Kept(component_text(component), kind.replace("_", " ")) for component, kind in pairs),
        readers=tuple(reader.query.name for reader in plan.readers(kept.input)),
        tasks=tuple(_task(plan, task, queries) for task, queries in own if queries),
    )


def _task(plan: StreamPlan, task: Task, queries: list[QueryPlan]) -> TaskLine:
    period = format_duration(task.period * plan.stream.interval)
    return TaskLine(task.name, period, tuple(_query(plan, query, period) for query in queries))


def _query(plan: StreamPlan, query: QueryPlan, period: str) -> QueryLine:
    others = {other.query.name: None for source in query.sources for other in plan.readers(source)}
    added = marginal_load(plan, query)
    return QueryLine(
        name=query.query.name,
        window=format_duration(query.query.window),
        slide=format_duration(query.query.slide),
        refreshed_every=period,
        reads=tuple(_read(plan, part) for part in query.parts),
        shares_with=tuple(name for name in others if name != query.query.name),
        shares_output_of=query.shares_output_of,
        adds=round(added.cost, 1),
        frees=round(added.entries, 1),
    )


def _read(plan: StreamPlan, part: Part) -> Read:
    names = tuple(f"{'-' if term.sign < 0 else ''}{plan.synopsis(term.source).name}" for term in part.reading.terms)
    return Read(part.request.what, part.reading.rule, names)
