"""A workload of every kind of query on an overloaded engine, its answers committed as they are published."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import duckdb

from queries.language import parse_query
from queries.model import Query, Source, Stream
from queries.stream_schema import parse_schema
from results import open_store
from results.store import Refresh, StreamProgress, Update
from scheduler.clocks import VirtualClock
from scheduler.cost import CostModel
from scheduler.engine import Answer, Engine
from scheduler.overload import ModelledProcessor, drive
from scheduler.policies import make_policy
from sharing.plan import plan_stream
from tests.oracle.events import SCHEMA, START, events
from tests.oracle.judge import Case
from tests.scheduler.arrow_stream import partials

SECOND = 1_000_000
FIRST = int(START.timestamp())
LAST = FIRST + 60
STREAM = Stream("events", Source("parquet", "data"), parse_schema(SCHEMA)[0], "ts", SECOND)
COST = CostModel(read=1, merge=0, post=0.5, fixed=2)

TEMPLATES = {
    "counts": "SELECT src, COUNT(*) AS n, SUM(length) AS total, AVG(length) AS mean FROM {from_} GROUP BY src",
    "extremes": "SELECT dst, MIN(length) AS low, MAX(score) AS high FROM {from_} GROUP BY dst",
    "top": "SELECT src, SUM(port) AS p FROM {from_} GROUP BY src ORDER BY p DESC LIMIT 3",
    "targets": "SELECT COUNT(DISTINCT dst) AS targets, QUANTILE(length, 0.9) AS p90 FROM {from_}",
    "spread": "SELECT protocol, STDDEV(score) AS s, MEDIAN(port) AS m FROM {from_} GROUP BY protocol",
    "tcp": "SELECT COUNT(*) AS n, SUM(port) AS p FROM {from_} WHERE protocol = 'TCP'",
    "both": "SELECT COUNT(*) AS n, SUM(port) AS p FROM {from_} WHERE protocol = 'TCP' OR protocol = 'UDP'",
    "levels": "SELECT QUANTILE(n, 0.5) AS p50, MAX(n) AS top "
    "FROM (SELECT src, COUNT(*) AS n FROM {from_} GROUP BY src)",
}
TIEBREAKS = {"top": "src NULLS FIRST"}


def workload(seed: int) -> tuple[tuple[Query, ...], list[Case]]:
    """Each template at three random time scales; some restore, some end early, some are bound to each other."""
    chance = random.Random(seed)
    queries, cases = [], []
    for template, sql in TEMPLATES.items():
        for number in range(3):
            name, window = f"{template}_{number}", chance.randint(4, 30)
            text = sql.format(from_=f"events [WINDOW {window} s SLIDE {chance.randint(1, window // 2)} s]")
            queries.append(
                Query(
                    name,
                    text,
                    parse_query(name, text, {"events": STREAM.types}),
                    semantics="restore" if number == 1 else "no_restore",
                    priority=chance.randint(0, 1),
                    until=(FIRST + 35) * SECOND if name in ("top_0", "tcp_1") else None,
                    consistent="dashboard" if name in ("counts_2", "spread_2", "tcp_2") else None,
                )
            )
            cases.append(Case(name, text, TIEBREAKS.get(template)))
    return tuple(queries), cases


def raw_rows() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    connection.register("raw", events(rows=1500))
    connection.execute("CREATE TABLE events AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM raw")
    return connection


@dataclass(frozen=True)
class Published:
    """Everything published, in order, and the database it was committed to."""

    engine: Engine
    answers: tuple[Answer, ...]
    database: Path


def overloaded(
    queries: tuple[Query, ...],
    rows: duckdb.DuckDBPyConnection,
    folder: Path,
    names: tuple[str, str],
    load: float,
    stalls: dict[int, float],
) -> Published:
    plan = plan_stream(STREAM, queries, restore_reach=20 * SECOND)
    clock = VirtualClock(FIRST * SECOND)
    engine = Engine(plan, make_policy(*names), COST, clock, start=FIRST, seen_from=FIRST)
    for need, table in partials(rows, STREAM, plan.needs):
        engine.ingest(need, table)
    published: list[Answer] = []
    database = folder / "results.db"
    with open_store(f"sqlite:///{database}") as store:
        store.register(queries, FIRST * SECOND)
        for answers in drive(engine, clock, LAST, ModelledProcessor(COST, load, stalls)):
            progress = StreamProgress("events", SECOND, engine.now * SECOND)
            store.commit(Update(progress, tuple(Refresh(**vars(answer)) for answer in answers)))
            published += answers
    return Published(engine, tuple(published), database)
