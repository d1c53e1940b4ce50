"""Feeding an engine with partial aggregates made beforehand, interval by interval, or replaying a config: what several
benchmarks do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.yardstick import SECOND, Question
from queries.config import load_config
from queries.model import Config, Query, Scalar, Value
from results import Refresh, ResultsStore, StreamProgress, Update, open_store
from scheduler.clocks import VirtualClock
from scheduler.cost import CostModel
from scheduler.engine import Answer, Engine
from scheduler.policies import make_policy
from sharing.plan import StreamPlan
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate

_CONFIG = """
results: sqlite:///{folder}/results.db
streams:
  packets:
    source: {{format: parquet, path: {rows}}}
    schema: ts TIMESTAMP, src INT, dst INT, protocol INT, port INT, length BIGINT
    time: ts
    interval: 1s
queries:
{queries}
"""
Pieces = dict[Preaggregation, list[pa.Table]]
"""The partial aggregates of each need, by interval."""


def with_intervals(rows: pa.Table) -> pa.Table:
    return rows.append_column(INTERVAL, pc.divide(rows["ts"].cast(pa.int64()), SECOND))


def columns_of(needs: Sequence[Preaggregation]) -> dict[Value, str]:
    """The columns of the records that hold what these pre-aggregations read, where it is columns only."""
    values = (value for need in needs for value in need.values)
    return {value: value.columns[0] for value in values if isinstance(value, Scalar)}


def prepared(rows: pa.Table, needs: Sequence[Preaggregation], intervals: int) -> Pieces:
    records, columns = with_intervals(rows), columns_of(needs)
    return {need: by_interval(preaggregate(records, columns, need), intervals) for need in needs}


def by_interval(partials: pa.Table, intervals: int) -> list[pa.Table]:
    ordered = partials.sort_by(INTERVAL)
    found = ordered[INTERVAL].to_numpy()
    starts = [int(i) for i in found.searchsorted(range(intervals + 1))]
    return [ordered.slice(a, b - a) for a, b in pairwise(starts)]


def conservative_engine(plan: StreamPlan) -> Engine:
    return Engine(plan, make_policy("conservative", "off"), CostModel(), VirtualClock(), start=0, seen_from=0)


def advance(engine: Engine, pieces: Pieces) -> None:
    """One update: the next interval's partials into the synopses."""
    for need, tables in pieces.items():
        engine.ingest(need, tables[engine.now])
    engine.update()


def refreshed(engine: Engine) -> list[Answer]:
    """Everything that is due."""
    answers: list[Answer] = []
    while (more := engine.run_next()) is not None:
        answers += more
    return answers


def committed(store: ResultsStore, engine: Engine, answers: Sequence[Answer]) -> None:
    progress = StreamProgress(engine.plan.stream.name, SECOND, engine.now * SECOND)
    store.commit(Update(progress, tuple(Refresh(**vars(answer)) for answer in answers)))


def replay(
    engine: Engine,
    pieces: Pieces,
    until: int,
    store: ResultsStore | None = None,
    answered: Callable[[Answer], object] | None = None,
) -> None:
    while engine.now < until:
        advance(engine, pieces)
        answers = refreshed(engine)
        if store is not None:
            committed(store, engine, answers)
        if answered is not None:
            for answer in answers:
                answered(answer)


def opened(folder: Path, queries: Sequence[Query]) -> ResultsStore:
    store = open_store(f"sqlite:///{folder}/results.db")
    store.register(queries, 0)
    return store


def configured(folder: Path, rows: Path, asked: Sequence[Question]) -> Config:
    """A config in ``folder``, its results there as well, that replays the records in ``rows``."""
    queries = "\n".join(f'  - {{name: {q.name}, sql: "{q.sql}"}}' for q in asked)
    path = folder / "config.yaml"
    path.write_text(_CONFIG.format(folder=folder, rows=rows, queries=queries))
    return load_config(path)
