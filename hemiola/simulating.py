"""``hemiola simulate``: the registered queries in virtual time under one policy or all, without data and without Spark.

Throughput, latency and load are those of refreshing; pre-aggregating new intervals is Spark's, and not in them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from hemiola.costs import known_cost
from queries.errors import InputError, Problem
from queries.model import Config
from queries.sql_errors import did_you_mean
from scheduler.admission import marginal_shares, run_length, share
from scheduler.capacity import Room, room
from scheduler.engine import members_of
from scheduler.policies import Policy, make_policy
from scheduler.simulator import Run, StreamLoad, simulate_streams
from scheduler.tasks import subgroups
from sharing.plan import plan_stream

POLICIES = {
    policy.name: policy
    for policy in (
        make_policy("none", "off"),
        make_policy("aggressive", "off"),
        make_policy("conservative", "off"),
        make_policy("conservative", "late"),
        make_policy("conservative", "late_pending"),
        make_policy("hybrid", "off"),
        make_policy("hybrid", "late"),
        make_policy("hybrid", "late_pending"),
    )
}
SIX = ("none", "aggressive", "conservative", "hybrid", "hybrid+late", "hybrid+late_pending")
"""Those of the dissertation's figures 8.7 to 8.10."""


@dataclass(frozen=True)
class PolicyLine:
    """One stream under one policy. ``throughput`` in refreshes per second, ``latency`` in extra updates between
    refreshes on average, ``busy`` and ``asked`` as shares of the processor: used, and needed for nobody to be late."""

    policy: str
    tasks: int
    throughput: float
    latency: float
    busy: float
    asked: float
    late: dict[str, float]


@dataclass(frozen=True)
class StreamSimulation:
    """``executions`` says on how many measured executions the costs rest; ``queries`` has the load each one adds
    under the policy ``under``: the one asked for, or the configured one."""

    stream: str
    interval_us: int
    updates: int
    executions: int
    under: str
    queries: dict[str, float]
    lines: tuple[PolicyLine, ...]
    runs: tuple[Run, ...] = field(repr=False)


@dataclass(frozen=True)
class Simulation:
    load: float
    streams: tuple[StreamSimulation, ...]
    rooms: dict[str, Room]

    def to_json(self) -> str:
        streams = [
            {key: value for key, value in vars(stream).items() if key not in ("runs", "lines")}
            | {"policies": [asdict(line) for line in stream.lines]}
            for stream in self.streams
        ]
        rooms = {policy: asdict(found) for policy, found in self.rooms.items()}
        return json.dumps({"load": self.load, "streams": streams, "room": rooms}, indent=2)


def simulate_config(
    config: Config,
    policy: str | None = None,
    load: float = 1.0,
    updates: int | None = None,
    grow: bool = False,
) -> Simulation:
    """``policy``: a name, ``all``, or None for the configured one; ``load`` times the known costs; ``updates`` of the
    stream with the longest interval; ``grow``: also how many more queries would fit."""
    policies = chosen_policies(config, policy)
    prepared = [_prepared(config, chosen, load) for chosen in policies]
    streams = [stream for stream, _ in prepared[0]]
    configured = _prepared(config, chosen_policies(config, None)[0], load) if policy == "all" else prepared[0]
    if not streams:
        raise InputError((Problem(config.path, None, "there is no query to simulate", "add one under queries:"),))
    longest = max(stream.interval for stream in streams)
    duration = max(run_length(stream.subgroups) * stream.interval for stream in streams)
    duration = duration if updates is None else updates * longest
    runs = [simulate_streams([stream for stream, _ in each], duration) for each in prepared]
    found = tuple(
        StreamSimulation(
            stream=stream.name,
            interval_us=round(stream.interval),
            updates=runs[0][stream.name].updates,
            executions=prepared[0][number][1],
            under=configured[number][0].policy.name,
            queries=marginal_shares(configured[number][0]),
            lines=tuple(_line(each[number][0], run[stream.name]) for each, run in zip(prepared, runs, strict=True)),
            runs=tuple(run[stream.name] for run in runs),
        )
        for number, stream in enumerate(streams)
    )
    rooms = {
        chosen.name: room([stream for stream, _ in each])
        for chosen, each in zip(policies, prepared, strict=True)
        if grow
    }
    return Simulation(load, found, rooms)


def chosen_policies(config: Config, name: str | None) -> tuple[Policy, ...]:
    settings = config.scheduler
    if name is None:
        return (make_policy(settings.policy, settings.sharing, settings.idle),)
    if name == "all":
        return tuple(POLICIES[known] for known in SIX)
    if name not in POLICIES:
        hint = did_you_mean(name, POLICIES) or f"there are all, {', '.join(POLICIES)}"
        raise InputError((Problem("--policy", None, f"there is no policy {name}", hint),))
    return (POLICIES[name],)


def _prepared(config: Config, policy: Policy, load: float) -> list[tuple[StreamLoad, int]]:
    found = []
    for stream in config.streams:
        queries = tuple(config.queries_on(stream.name))
        if queries:
            plan = plan_stream(stream, queries)
            groups = subgroups(members_of(plan), policy.joined)
            known = known_cost(plan, groups, config.results)
            one = StreamLoad(stream.name, groups, policy, known.cost, stream.interval, load, stream.weight)
            found.append((one, known.executions))
    return found


def _line(stream: StreamLoad, run: Run) -> PolicyLine:
    late = {query: extra for query, extra in run.lateness().items() if extra > 0}
    return PolicyLine(
        policy=run.policy,
        tasks=len(run.tasks),
        throughput=run.throughput * 1e6,
        latency=run.latency,
        busy=run.busy,
        asked=share(stream),
        late=dict(sorted(late.items(), key=lambda item: -item[1])),
    )
