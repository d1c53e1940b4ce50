"""The live loop without a JVM: what is refreshed, restored and handed over as the watermark moves, also after a crash.

Ends are update numbers; the stream has one record per second and an interval of one second.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from queries.language import parse_query
from queries.model import Column, Query, Source, Stream
from queries.types import Type
from scheduler.clocks import VirtualClock
from scheduler.cost import CostModel
from scheduler.daemon import CATCH_UP, LiveStream
from scheduler.engine import Engine
from scheduler.policies import make_policy
from sharing.plan import plan_stream
from synopses.partials_store import BatchHeader, PartialsStore, StoredBatch, describe_need

pytestmark = pytest.mark.slow
SECOND = 1_000_000
SCHEMA = (Column("ts", Type.TIMESTAMP), Column("x", Type.BIGINT))
STREAM = Stream("s", Source("parquet", "data"), SCHEMA, "ts", SECOND)
TYPES = {"s": {column.name: column.type for column in SCHEMA}}


def query(name: str, window: int, slide: int, semantics: str = "no_restore") -> Query:
    sql = f"SELECT COUNT(*) AS n FROM s [WINDOW {window} s SLIDE {slide} s]"
    return Query(name, sql, parse_query(name, sql, TYPES), semantics)


QUERIES = (query("each", 4, 1), query("kept", 6, 2, "restore"), query("slow", 10, 5, "restore"))


def engine(start: int = 0) -> Engine:
    plan = plan_stream(STREAM, QUERIES)
    return Engine(plan, make_policy("none"), CostModel(), VirtualClock(), start=start, seen_from=0)


def one_per_second(live_engine: Engine, first: int, last: int) -> list[tuple[object, pa.Table]]:
    """Interval i brings i records."""
    tables = []
    for need in live_engine.plan.needs:
        intervals = list(range(first, last))
        columns = {"interval": pa.array(intervals, pa.int64())}
        columns |= {f"c{number}_0": pa.array(intervals, pa.int64()) for number in range(len(need.components))}
        tables.append((need, pa.table(columns)))
    return tables


def ingest(live: LiveStream, first: int, last: int) -> None:
    for need, table in one_per_second(live.engine, first, last):
        live.engine.ingest(need, table)
    live.advance(last * SECOND)


def work(live: LiveStream) -> dict[str, list[tuple[int, bool]]]:
    """All that is due: by query, the window ends and whether they were restored."""
    found: dict[str, list[tuple[int, bool]]] = {}
    while live.ready:
        live.step()
        for answer in live.take() or ():
            found.setdefault(answer.query, []).append((answer.window_end // SECOND, answer.restored))
            assert answer.table["n"].to_pylist() == [expected(answer.query, answer.window_end // SECOND)]
    return found


def expected(name: str, end: int) -> int:
    window = next(q.window for q in QUERIES if q.name == name) // SECOND
    return sum(range(max(0, end - window), end))


def test_updates_are_taken_one_at_a_time_while_they_come_one_by_one():
    live = LiveStream(engine())
    found: dict[str, list[tuple[int, bool]]] = {}
    for second in range(12):
        ingest(live, second, second + 1)
        for name, ends in work(live).items():
            found.setdefault(name, []).extend(ends)
    assert found["each"] == [(end, False) for end in range(1, 13)]
    assert found["kept"] == [(end, False) for end in range(2, 13, 2)]
    assert found["slow"] == [(5, False), (10, False)]


def test_a_few_updates_at_once_are_no_overload():
    live = LiveStream(engine())
    ingest(live, 0, 1)
    work(live)
    ingest(live, 1, 1 + CATCH_UP)
    assert work(live)["each"] == [(end, False) for end in range(2, 2 + CATCH_UP)]


def test_who_falls_behind_refreshes_as_of_the_newest_update_and_restores_the_rest():
    live = LiveStream(engine())
    ingest(live, 0, 33)
    found = work(live)
    assert found["each"] == [(33, False)]
    assert found["kept"] == [*((end, True) for end in range(2, 33, 2)), (33, False)]
    assert found["slow"] == [*((end, True) for end in range(5, 33, 5)), (33, False)]


@pytest.mark.parametrize("seed", range(40))
def test_a_crash_between_any_two_steps_loses_nothing(tmp_path, seed):
    """Batches of random size; the process dies at random moments, before or after it commits what it took. A new one
    has the durable batches, the committed mark and the committed ends, nothing else."""
    chance = random.Random(seed)
    store = PartialsStore(tmp_path)
    committed: dict[str, dict[int, int]] = {q.name: {} for q in QUERIES}
    mark, fed, batch = 0, 0, 0
    live = recovered(store, committed, mark)
    while fed < 60 or live.ready:
        if fed < 60 and (not live.ready or chance.random() < 0.3):
            size = chance.choice([1, 1, 2, 3, 9])
            tables = one_per_second(live.engine, fed, fed + size)
            needs = tuple(describe_need(need) for need, _ in tables)
            header = BatchHeader(batch, first=fed, last=fed + size - 1, watermark=(fed + size) * SECOND, needs=needs)
            store.write(StoredBatch(header, tables))
            batch, fed = batch + 1, fed + size
            if chance.random() < 0.15:
                live = recovered(PartialsStore(tmp_path), committed, mark)
                continue
            ingest(live, fed - size, fed)
        live.step()
        answers = live.take()
        if chance.random() < 0.03:
            live = recovered(PartialsStore(tmp_path), committed, mark)
            continue
        if answers is not None:
            for answer in answers:
                committed[answer.query][answer.window_end // SECOND] = answer.table["n"][0].as_py()
            mark = live.engine.now
    assert mark == fed
    for q in QUERIES:
        assert committed[q.name] == {end: expected(q.name, end) for end in committed[q.name]}
        if q.semantics == "restore":
            slide = q.slide // SECOND
            assert set(range(slide, fed + 1, slide)) <= set(committed[q.name])
    assert max(committed["each"]) == fed


def recovered(store: PartialsStore, committed: dict[str, dict[int, int]], mark: int) -> LiveStream:
    fresh = engine(mark)
    history = {need: [] for need in fresh.plan.needs}
    for header in store.headers():
        for need, tables in store.read(header.batch, fresh.plan.needs).items():
            history[need] += tables
    fresh.resume(history, {name: max(ends) for name, ends in committed.items() if ends}, {q.name: 0 for q in QUERIES})
    live = LiveStream(fresh)
    newest = store.newest()
    if newest is not None:
        live.advance(newest.watermark)
    return live
