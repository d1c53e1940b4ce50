"""The six policies on the real engine: 240 queries of the yardstick workload, executed, in one run.

``python -m benchmarks.policies --real``. Partial aggregates are made beforehand in Arrow, so that what is measured is
updating and refreshing. Every policy goes through the same 200 updates twice: with all the time it wants (everything
on time: wall time per policy), and on a processor so slow that the conservative policy would need ``OVERLOAD`` of it,
every execution taking the processor time it really took (throughput and latency, over the second half). The synopses
are basic interval as in the dissertation's 8.5; with running synopses, which the planner would choose for sums, there
is no scan to share. Answers are compared between the policies wherever they published the same window end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from benchmarks.yardstick import SECOND, packets, questions, registered, stream
from queries.model import Query
from scheduler.clocks import VirtualClock
from scheduler.cost import CalibratedCost
from scheduler.engine import Answer, Engine
from scheduler.overload import MeasuredProcessor, drive
from scheduler.plan_cost import modelled_cost
from scheduler.policies import make_policy
from sharing.plan import StreamPlan, plan_stream
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate

OUT = Path(__file__).parent / "out"
UPDATES = 200
RATE = 3_000
"""Packets per interval."""
OVERLOAD = 4.0
Policies = Sequence[tuple[str, str]]
Fed = list[tuple[Preaggregation, pa.Table]]


@dataclass(frozen=True)
class Outcome:
    """One policy: seconds of wall time and of processor time for refreshing, refreshes, joint executions; then under
    overload refreshes per update and extra updates between refreshes on average."""

    policy: str
    seconds: float
    processor_seconds: float
    refreshes: int
    executions: int
    overloaded_throughput: float = 0.0
    overloaded_latency: float = 0.0


def workload() -> tuple[StreamPlan, Fed]:
    queries: tuple[Query, ...] = tuple(replace(query, synopsis="basic_interval") for query in registered(questions()))
    plan = plan_stream(stream(), queries)
    records = packets(UPDATES, RATE)
    interval = pc.divide(records["ts"].cast(pa.int64()), SECOND)
    records = records.append_column(INTERVAL, interval)
    fed = []
    for need in plan.needs:
        columns = {value: value.columns[0] for value in need.values}  # type: ignore[union-attr]
        fed.append((need, preaggregate(records, columns, need)))
    return plan, fed


def engine_of(plan: StreamPlan, fed: Fed, names: tuple[str, str]) -> tuple[Engine, VirtualClock]:
    clock = VirtualClock(0)
    cost = CalibratedCost(modelled_cost(plan))
    engine = Engine(plan, make_policy(*names), cost, clock, start=0, seen_from=0)
    for need, table in fed:
        engine.ingest(need, table)
    return engine, clock


def unhurried(plan: StreamPlan, fed: Fed, names: tuple[str, str], seen: dict[tuple[str, int], pa.Table]) -> Outcome:
    """All refreshes on time; every answer is held against the first policy that published the same window end."""
    engine, _ = engine_of(plan, fed, names)
    seconds, processor, refreshes, executions = 0.0, 0.0, 0, 0
    while engine.now < UPDATES:
        engine.update()
        while True:
            began, began_processor = perf_counter(), process_time()
            answers = engine.run_next()
            seconds += perf_counter() - began
            processor += process_time() - began_processor
            if answers is None:
                break
            refreshes += len(answers)
            executions += 1
            for answer in answers:
                if not seen.setdefault((answer.query, answer.window_end), answer.table).equals(answer.table):
                    raise AssertionError(f"{names}: {answer.query} as of {answer.window_end} differs")
    return Outcome(engine.policy.name, seconds, processor, refreshes, executions)


def overloaded(plan: StreamPlan, fed: Fed, names: tuple[str, str], speed: float) -> tuple[float, float]:
    """Refreshes per update, and extra updates between refreshes, over the second half."""
    engine, clock = engine_of(plan, fed, names)
    published: list[Answer] = []
    for answers in drive(engine, clock, UPDATES, MeasuredProcessor(speed), process_time):
        if clock.now() > UPDATES * SECOND:
            break
        published += answers
    half = UPDATES * SECOND // 2
    count = sum(answer.window_end > half for answer in published)
    extras = [_extra(published, query.query.name, query.slide, half) for query in plan.queries]
    return count / (UPDATES / 2), sum(extras) / len(extras)


def _extra(published: Sequence[Answer], query: str, slide: int, half: int) -> float:
    ends = [0, *(answer.window_end // SECOND for answer in published if answer.query == query)]
    if UPDATES - ends[-1] > slide:
        ends.append(UPDATES)
    gaps = [after - before for before, after in pairwise(ends) if after * SECOND > half]
    return sum(max(0, gap - slide) for gap in gaps) / len(gaps) if gaps else 0.0


def main(policies: Policies) -> None:
    console = Console(width=120)
    plan, fed = workload()
    console.print(f"{len(plan.queries)} queries on {len(plan.kept)} synopses, {UPDATES} updates of {RATE:,} packets")
    seen: dict[tuple[str, int], pa.Table] = {}
    outcomes = [unhurried(plan, fed, names, seen) for names in policies]
    conservative = next(outcome for outcome in outcomes if outcome.policy == "conservative")
    speed = OVERLOAD * UPDATES / conservative.processor_seconds
    finished = []
    table = Table("policy", "wall s", "cpu s", "refreshes", "executions", "refreshes per cpu s")
    for column in ("overloaded: per update", "extra updates"):
        table.add_column(column)
    for outcome, names in zip(outcomes, policies, strict=True):
        throughput, latency = overloaded(plan, fed, names, speed)
        done = replace(outcome, overloaded_throughput=throughput, overloaded_latency=latency)
        finished.append(done)
        table.add_row(
            done.policy,
            f"{done.seconds:.1f}",
            f"{done.processor_seconds:.1f}",
            f"{done.refreshes:,}",
            f"{done.executions:,}",
            f"{done.refreshes / done.processor_seconds:,.0f}",
            f"{throughput:.1f}",
            f"{latency:.1f}",
        )
    console.print(table)
    console.print(f"{len(seen):,} different (query, window end); equal under every policy that published them")
    OUT.mkdir(exist_ok=True)
    (OUT / "policies_real.json").write_text(json.dumps([asdict(outcome) for outcome in finished], indent=2))
