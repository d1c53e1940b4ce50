"""``hemiola explain``: the shared plan as a value, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from queries.durations import format_duration
from queries.model import Config
from scheduler.cost import CostModel
from scheduler.engine import members_of
from scheduler.policies import make_policy
from scheduler.tasks import subgroups
from sharing.plan import StreamPlan, plan_stream
from sharing.wording import component_text


@dataclass(frozen=True)
class SynopsisLine:
    """One synopsis: what it keeps, how long, for whom."""

    name: str
    kind: str
    intervals: int
    keeps: tuple[str, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True)
class TaskLine:
    """Queries that are refreshed together, every ``period``."""

    name: str
    group: str
    period: str
    queries: tuple[str, ...]


@dataclass(frozen=True)
class StreamExplanation:
    """``cost_shared`` and ``cost_unshared`` are merges of stored intervals per update, by the cost model."""

    stream: str
    interval: str
    queries: int
    synopses: tuple[SynopsisLine, ...]
    tasks: tuple[TaskLine, ...]
    cost_shared: float
    cost_unshared: float


@dataclass(frozen=True)
class Explanation:
    policy: str
    streams: tuple[StreamExplanation, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)


def explain_config(config: Config) -> Explanation:
    policy = make_policy(config.scheduler.policy, config.scheduler.sharing, config.scheduler.idle)
    plans = [plan_stream(stream, config.queries_on(stream.name)) for stream in config.streams]
    return Explanation(policy.name, tuple(_explained(plan, config) for plan in plans))


def _explained(plan: StreamPlan, config: Config) -> StreamExplanation:
    policy = make_policy(config.scheduler.policy, config.scheduler.sharing, config.scheduler.idle)
    cost = CostModel(fixed=1)
    groups = subgroups(members_of(plan))
    tasks = policy.tasks(groups, cost)
    s = plan.stream.interval
    synopses = tuple(
        SynopsisLine(
            name=spec.name,
            kind=", ".join(dict.fromkeys(spec.kinds)),
            intervals=spec.b,
            keeps=tuple(component_text(component) for component in spec.need.components),
            queries=tuple(reader.query.name for reader in plan.readers(spec.input)),
        )
        for spec in plan.kept
    )
    return StreamExplanation(
        stream=plan.stream.name,
        interval=format_duration(s),
        queries=len(plan.queries),
        synopses=synopses,
        tasks=tuple(TaskLine(task.name, task.group, format_duration(task.period * s), task.queries) for task in tasks),
        cost_shared=sum(cost.cost(task.subgroups) / task.period for task in tasks),
        cost_unshared=sum(query.window / query.slide for query in plan.queries),
    )
