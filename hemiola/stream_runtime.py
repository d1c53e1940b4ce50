"""One live stream: recovery from its durable batches, what arrives, changes of its queries, what has expired.

Everything here runs on the engine's thread, but for the gathering of history, which has a thread of its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hemiola.placing import to_move
from hemiola.state_folder import StateFolder
from queries.errors import RunError
from queries.model import Microseconds, Query, SchedulerSettings, Stream
from results.definition import definition
from results.store import ResultsStore, StreamProgress
from scheduler.clocks import WallClock
from scheduler.cost import CalibratedCost
from scheduler.daemon import LiveStream
from scheduler.engine import Engine, same_question
from scheduler.plan_cost import modelled_cost
from scheduler.policies import make_policy
from sharing.plan import StreamPlan, add, plan_stream, remove
from spark_jobs.backfill import Gathered, backfill, gather_partials, write_resident
from spark_jobs.ingest import StreamIngest
from spark_jobs.raw_records import remove_retained
from spark_jobs.resident_store import ResidentStore
from synopses.changes import to_fill
from synopses.event_time import EventTime, Known
from synopses.partials_store import BatchHeader, PartialsStore, StoredBatch, Totals, batches_to_remove
from synopses.resident_blocks import RADIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

BACKFILL_TAG = "hemiola-backfill"
_KEPT_FROM, _SINCE, _MOVED = "kept_from", "since", "moved"
_ATTEMPTS, _PAUSE_SECONDS = 5, 1.0

Post = Callable[[Callable[[], None]], None]
"""Has a function called on the engine's thread."""


class StreamRuntime:
    """``live`` is None until the stream has had a record (and, after a restart, its history is gathered)."""

    def __init__(
        self,
        stream: Stream,
        queries: Sequence[Query],
        state: StateFolder,
        results: ResultsStore,
        settings: SchedulerSettings,
        clock: WallClock,
        post: Post,
        storage: str,
    ) -> None:
        """``storage``: the folder of synopses that live in Spark."""
        self.stream, self.state, self.clock = stream, state, clock
        self.queries = tuple(queries)
        self.store = PartialsStore(state.partials(stream.name))
        self.live: LiveStream | None = None
        self.ingest: StreamIngest | None = None
        self.ingested: int | None = None
        self.gathering: StreamPlan | None = None
        self.gathering_error: str | None = None
        self.resident: ResidentStore | None = None
        """Synopses that live in Spark; None until Spark is up."""
        self._storage = storage
        self._making_blocks = False
        self._moved = frozenset(state.facts(stream.name).get(_MOVED, ()))
        self.plan = plan_stream(stream, self._placed)
        self._results, self._settings, self._post = results, settings, post
        self._spark: SparkSession | None = None
        self._spark_is_up = threading.Event()
        self._stopping = threading.Event()
        self._gathered: Gathered | None = None
        self._gone: frozenset[str] = frozenset()
        """Queries of the plan that are registered no more: they wait for the next plan, and are not answered."""
        self.event_time = EventTime(stream, self._known(), clock.elapsed())
        self._remove_orphans()
        if self.store.headers():
            self._recover()

    @property
    def totals(self) -> Totals:
        newest = self.store.newest()
        return newest.totals if newest is not None else Totals()

    @property
    def _placed(self) -> tuple[Query, ...]:
        """The registered queries, those that have moved to Spark among them as if they had asked for it."""
        return tuple(
            replace(query, placement="spark") if query.name in self._moved and query.placement == "auto" else query
            for query in self.queries
        )

    @property
    def pending(self) -> frozenset[str]:
        """Queries that are registered and not answered yet, because their history is being gathered."""
        planned = {plan.query.name for plan in self.plan.queries} if self.live is not None else set()
        return frozenset(query.name for query in self.queries if query.name not in planned)

    def spark_is_up(self, spark: SparkSession, deliver: Callable[[StoredBatch], None]) -> None:
        """Begins to read the source."""
        name = self.stream.name
        self._check_checkpoint()
        folders = self.state.checkpoint(name), self.state.raw(name)
        self.resident = ResidentStore(spark, f"{self._storage}/{name}", name)
        if self.live is not None:
            self._connect(self.live.engine)
        self.ingest = StreamIngest(spark, self.stream, self.store, self.event_time, folders, deliver, self.resident)
        self.ingest.needs = self._needs()
        self._spark = spark
        self._spark_is_up.set()
        self.ingest.start()

    def _check_checkpoint(self) -> None:
        """Batches are known by Spark's numbers: with another checkpoint they would mean something else."""
        newest = self.store.newest()
        checkpoint = self.state.checkpoint(self.stream.name)
        if newest is not None and not (checkpoint / "offsets" / str(newest.batch)).exists():
            raise RunError(
                f"stream {self.stream.name}: the partials in {self.store.folder} do not belong to the checkpoint "
                f"{checkpoint}: batch {newest.batch} is not in it",
                hint="restore both from the same backup, or remove both: then the source is read from its beginning",
            )

    def _connect(self, engine: Engine) -> None:
        engine.resident, engine.shelves = self.resident, self._results.shelf

    def make_blocks_when_idle(self) -> None:
        """Merges intervals that live in Spark into blocks, in the background, one job at a time (semantics.md 3)."""
        if self._making_blocks or self.live is None or self.live.ready or self.gathering is not None:
            return
        resident, closed = self.resident, self.live.committed
        specs = [spec for spec in self.plan.synopses if spec.need.resident and spec.b >= RADIX]
        if resident is None or not specs:
            return
        blocks = resident.blocks_to_make({spec.need: closed - spec.b for spec in specs}, closed)
        if not blocks:
            return
        self._making_blocks = True

        def work() -> None:
            made: list[Any] = []
            try:
                made = resident.make_blocks(blocks)
            except Exception as error:
                logger.warning("stream %s: %s", self.stream.name, str(error).splitlines()[0])
            self._post(lambda: self._add_blocks(made))

        threading.Thread(target=work, name=f"blocks-{self.stream.name}", daemon=True).start()

    def _add_blocks(self, made: list[Any]) -> None:
        self._making_blocks = False
        if self.resident is not None:
            self.resident.add((need, file) for need, file in made if self.resident.files(need))

    def move_what_is_too_large(self, budget: int) -> None:
        """Gives queries to Spark while the driver's synopses hold more than ``budget`` bytes; they are answered by the
        driver until their history is there."""
        if self.live is None or self.gathering is not None or self.resident is None:
            return
        moving = to_move(self.live.engine, budget)
        if moving:
            logger.info("stream %s: %s move to Spark", self.stream.name, ", ".join(moving))
            self._moved |= frozenset(moving)
            self.state.note(self.stream.name, **{_MOVED: sorted(self._moved)})
            self.change(self.queries)

    def stop(self) -> None:
        self._stopping.set()
        self._spark_is_up.set()

    def delivered(self, stored: StoredBatch) -> None:
        """A batch is durable: its partials go into the open intervals."""
        header = stored.header
        if self.ingested is not None and header.batch <= self.ingested:
            return
        self.ingested = header.batch
        if self.live is None:
            if self.gathering is None:
                self._recover()
        else:
            for need, table in stored.partials:
                if need in self.plan.needs:
                    self.live.engine.ingest(need, table)
            if self.resident is not None:
                self.resident.add((need, file) for need, file in stored.files if need in self.plan.needs)
            if header.watermark is not None:
                self.live.advance(header.watermark)
        self._finish_gathering()

    def tick(self) -> None:
        """Idle time may have moved the watermark."""
        if self.live is not None:
            watermark = self.event_time.idle(self.ingested, self.clock.elapsed())
            if watermark is not None:
                self.live.advance(watermark)

    def change(self, queries: Sequence[Query]) -> None:
        """Makes this the set of queries: at once where the synopses suffice, else when history is gathered."""
        self.queries = tuple(queries)
        wanted = {query.name: query for query in queries}
        planned = {plan.query.name: plan.query for plan in self.plan.queries}
        self._gone = frozenset(
            name for name, query in planned.items() if name not in wanted or not same_question(query, wanted[name])
        )
        if self.live is not None:
            self.live.forget(self._gone)
        if self.gathering is None:
            self._begin_change()

    def progress(self) -> StreamProgress:
        assert self.live is not None
        newest = self.store.newest() or BatchHeader(-1)
        return StreamProgress(
            stream=self.stream.name,
            interval=self.stream.interval,
            updated_until=self.live.engine.now * self.stream.interval,
            seen_from=newest.seen_from,
            newest=newest.newest,
            records=newest.totals.records,
            rejected=newest.totals.rejected,
        )

    def remove_expired(self) -> None:
        """Removes batches and raw records that no window, restore or backfill can need any more."""
        if self.live is None or self.gathering is not None:
            return
        retained = self.live.committed - self._retain
        oldest = min(self.live.committed - self._longest, retained)
        headers = self.store.headers()
        expired = list(batches_to_remove(headers, oldest))
        if expired:
            self.state.note(self.stream.name, **{_KEPT_FROM: oldest})
        for header in expired:
            self.store.remove(header.batch)
        for header in headers:
            if header.raw is not None and header.last is not None and header.last < retained:
                remove_retained(self.state.raw(self.stream.name) / header.raw)
        if self.resident is not None:
            specs = [spec for spec in self.plan.synopses if spec.need.resident]
            self.resident.keep({spec.need: self.live.committed - spec.b for spec in specs})

    @property
    def _longest(self) -> int:
        return max((spec.b for spec in self.plan.synopses), default=0)

    @property
    def _retain(self) -> int:
        given = self.stream.retain
        longest: Microseconds = max((query.window for query in self.queries), default=0)
        return (longest if given is None else given) // self.stream.interval + 1

    def _known(self) -> Known:
        newest, progress = self.store.newest(), self._results.progress(self.stream.name)
        if newest is None or newest.watermark is None:
            return Known()
        done = progress.updated_until if progress is not None else newest.watermark
        return Known(newest.newest, max(newest.watermark, done))

    def _needs(self) -> tuple[Any, ...]:
        wanted = self.gathering.needs if self.gathering is not None else ()
        return tuple(dict.fromkeys((*self.plan.needs, *wanted)))

    def _remove_orphans(self) -> None:
        """Raw records of runs that died before their batch was durable."""
        folder = self.state.raw(self.stream.name)
        known = {header.raw for header in self.store.headers()}
        for orphan in [path for path in folder.glob("*") if path.name not in known]:
            remove_retained(orphan)

    def _recover(self) -> None:
        """Continues after the last committed update, from durable batches; the first batch is the simplest case."""
        headers = [header for header in self.store.headers() if header.first is not None]
        if not headers:
            return
        newest = self.store.newest()
        assert newest is not None and newest.seen_from is not None
        self.ingested = newest.batch
        start = self._resume_after(headers)
        settings = self._settings
        engine = Engine(
            self.plan,
            make_policy(settings.policy, settings.sharing, settings.idle),
            CalibratedCost(modelled_cost(self.plan)),
            self.clock,
            start=start,
            seen_from=newest.seen_from // self.stream.interval,
            wanted=lambda query, end: query not in self._gone,
        )
        engine.isolate_failures = True
        self._gather(self.plan, start - self._longest, newest.batch, lambda found: self._resume(engine, found))

    def _resume_after(self, headers: Sequence[BatchHeader]) -> int:
        s = self.stream.interval
        progress = self._results.progress(self.stream.name)
        if progress is not None and _SINCE in self.state.facts(self.stream.name):
            return progress.updated_until // s
        first = headers[0]
        assert first.watermark is not None
        return min(first.watermark // s, *(header.first for header in headers if header.first is not None))

    def _resume(self, engine: Engine, found: Gathered) -> None:
        s = self.stream.interval
        noted = self.state.facts(self.stream.name).get(_SINCE, {})
        refreshed, since = {}, {}
        for plan in engine.plan.queries:
            name = plan.query.name
            done = self._results.done(name)
            oldest = engine.now - plan.reach
            if len(done):
                refreshed[name] = max(int(done[-1]) // s, oldest)
            if name in noted and noted[name][1] == _meaning(plan.query):
                since[name] = max(noted[name][0], oldest)
        self._connect(engine)
        self._take_files(found)
        engine.resume(found.partials, refreshed, since)
        engine.known_from = self._known_from(found, engine)
        self.live = LiveStream(engine)
        watermark = self.event_time.known.watermark
        if watermark is not None:
            self.live.advance(watermark)
        self._note_since()

    def _begin_change(self) -> None:
        wanted = _evolved(self.plan, self._placed)
        if self.live is None:
            self.plan = wanted
            if self.ingest is not None:
                self.ingest.needs = self._needs()
            return
        engine = self.live.engine
        resident = (spec for spec in self.plan.synopses if spec.need.resident)
        missing = to_fill((*engine.synopses.specs, *resident), wanted.synopses)
        if not missing:
            self._adopt(wanted, Gathered(self.ingested or 0, {}))
            return
        self.gathering = wanted
        if self.ingest is not None:
            self.ingest.needs = self._needs()
        oldest = engine.now - max(spec.b for spec in missing)
        needs = tuple(spec.need for spec in missing)
        self._gather(wanted, oldest, self._read_so_far(), lambda found: self._adopt(wanted, found), needs)

    def _read_so_far(self) -> int:
        """The newest batch whose reading has begun: whatever comes after it is read for ``ingest.needs`` as they are
        now. It may be on its way still: being read, or durable and not delivered. To be asked in this order: a batch
        that is not in flight any more is in the store."""
        in_flight = self.event_time.in_flight
        newest = self.store.newest()
        begun = (self.ingested, in_flight, None if newest is None else newest.batch)
        return max((batch for batch in begun if batch is not None), default=0)

    def _adopt(self, plan: StreamPlan, found: Gathered) -> None:
        assert self.live is not None
        engine = self.live.engine
        if found.partials or found.files:
            oldest = engine.now - max(spec.b for spec in plan.synopses)
            self._add_later(found, oldest)
        self._take_files(found)
        engine.replan(plan, found.partials, self._known_from(found, engine))
        self.plan, self.gathering, self._gone = plan, None, frozenset()
        if self.ingest is not None:
            self.ingest.needs = self._needs()
        self._note_since()
        if {query.query for query in plan.queries} != set(self._placed):
            self.change(self.queries)

    def _take_files(self, found: Gathered) -> None:
        """What was gathered of needs that are resident in Spark."""
        if self.resident is not None:
            write_resident(found, self.resident.target(f"later-{uuid4().hex[:8]}"))
            for need, files in found.files.items():
                self.resident.replace(need, files)

    def _add_later(self, found: Gathered, oldest: int) -> None:
        """What was delivered since ``found`` was gathered; every such batch was read for its needs."""
        needs = tuple(dict.fromkeys((*found.partials, *found.files)))
        later = gather_partials(self.store, needs, oldest, self.ingested or 0, after=found.through)
        for need, missing in later.uncovered.items():
            found.known_from[need] = max(found.known_from.get(need, 0), *((header.last or 0) + 1 for header in missing))
            logger.error("stream %s: batch %d lacks what a query needs", self.stream.name, missing[-1].batch)
        for need, tables in later.partials.items():
            found.partials.setdefault(need, []).extend(tables)
        for need, files in later.files.items():
            found.files.setdefault(need, []).extend(files)

    def _known_from(self, found: Gathered, engine: Engine) -> dict[Any, int]:
        kept_from = self.state.facts(self.stream.name).get(_KEPT_FROM, 0)
        needs = (*found.partials, *found.files)
        known = dict.fromkeys(needs, kept_from) if kept_from > engine.seen_from else {}
        return {need: max(first, known.get(need, 0)) for need, first in (known | found.known_from).items()}

    def _note_since(self) -> None:
        assert self.live is not None
        since = self.live.engine.since
        noted = {plan.query.name: [since[plan.query.name], _meaning(plan.query)] for plan in self.plan.queries}
        if noted != self.state.facts(self.stream.name).get(_SINCE):
            self.state.note(self.stream.name, **{_SINCE: noted})

    def _gather(
        self,
        plan: StreamPlan,
        oldest: int,
        through: int,
        use: Callable[[Gathered], None],
        needs: tuple[Any, ...] | None = None,
    ) -> None:
        """History of ``plan``'s needs, handed to ``use`` on the engine's thread. Without a Spark job it is there at
        once, when this is a recovery."""
        needs = plan.needs if needs is None else needs
        self._use = use
        if self.live is None:
            found = gather_partials(self.store, needs, oldest, through)
            if not found.uncovered and (self.resident is not None or not any(need.resident for need in needs)):
                use(found)
                return
        self.gathering = plan

        def work() -> None:
            for attempt in range(_ATTEMPTS):
                try:
                    found = self._gathered_now(needs, oldest, through)
                    break
                except Exception as error:
                    self.gathering_error = str(error).splitlines()[0]
                    logger.warning("stream %s: history could not be gathered: %s", self.stream.name, error)
                    if self._stopping.wait(_PAUSE_SECONDS * 2**attempt):
                        return
            else:
                found = Gathered(through, {need: [] for need in needs})
                found.known_from = dict.fromkeys(needs, self._unknown_until())
            if not self._stopping.is_set():
                self._post(lambda: self._arrived(found))

        threading.Thread(target=work, name=f"history-{self.stream.name}", daemon=True).start()

    def _gathered_now(self, needs: tuple[Any, ...], oldest: int, through: int) -> Gathered:
        while (in_flight := self.event_time.in_flight) is not None and in_flight <= through:
            if self._stopping.is_set():
                break
            time.sleep(0.01)
        found = gather_partials(self.store, needs, oldest, through)
        if found.uncovered or any(need.resident for need in needs):
            self._spark_is_up.wait()
        if found.uncovered and self._spark is not None and self.resident is not None:
            self._spark.sparkContext.addJobTag(BACKFILL_TAG)
            target = self.resident.target(f"backfill-{uuid4().hex[:8]}")
            backfill(self._spark, self.stream, self.state.raw(self.stream.name), found, oldest, target)
        if self.resident is not None:
            write_resident(found, self.resident.target(f"gathered-{uuid4().hex[:8]}"))
        self.gathering_error = None
        return found

    def _unknown_until(self) -> int:
        newest = self.store.newest()
        return (newest.last or 0) + 1 if newest is not None else 0

    def _arrived(self, found: Gathered) -> None:
        self._gathered = found
        self._finish_gathering()

    def _finish_gathering(self) -> None:
        """Uses gathered history once every batch it covers has also been delivered: none may count twice."""
        found = self._gathered
        if found is None or (self.live is not None and found.through > (self.ingested or 0)):
            return
        self._gathered = None
        if self.live is None:
            self.gathering = None
            self._add_later(found, 0)
            self._use(found)
            if {query.query for query in self.plan.queries} != set(self._placed):
                self.change(self.queries)
        else:
            self._use(found)


def _evolved(plan: StreamPlan, queries: Sequence[Query]) -> StreamPlan:
    """The plan for these queries with as little changed as possible."""
    wanted = {query.name: query for query in queries}
    there = {planned.query.name: planned.query for planned in plan.queries}
    for name, query in there.items():
        if wanted.get(name) != query:
            plan = remove(plan, name)
    for name, query in wanted.items():
        if there.get(name) != query:
            plan = add(plan, query)
    return plan


def _meaning(query: Query) -> str:
    return sha256(definition(query).encode()).hexdigest()[:16]


def facts_of(runtime: StreamRuntime) -> Mapping[str, Any]:
    """What status and metrics say of a stream."""
    live, ingest, s = runtime.live, runtime.ingest, runtime.stream.interval
    known = runtime.event_time.known
    return {
        "records": runtime.totals.records,
        "late": runtime.totals.late,
        "malformed": runtime.totals.malformed,
        "newest": known.newest,
        "watermark": known.watermark,
        "updated_until": None if live is None else live.engine.now * s,
        "waiting_updates": 0 if live is None else live.waiting,
        "batch_seconds": 0.0 if ingest is None else ingest.batch_seconds,
        "error": runtime.gathering_error or (None if ingest is None else ingest.error),
        "synopsis_bytes": 0 if live is None else live.engine.synopses.nbytes,
        "synopsis_entries": 0 if live is None else live.engine.synopses.entries,
        "resident_bytes": 0 if runtime.resident is None else runtime.resident.nbytes,
        "resident_entries": 0 if runtime.resident is None else runtime.resident.entries,
        "batch_files": len(runtime.store.headers()),
    }
