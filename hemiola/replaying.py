"""Replay: bounded sources in virtual time, as fast as the machine goes, with the daemon's own engine.

Work is what is due and not done: window ends already in the results are left alone, so a replay that was killed, or
is given more data, more queries or a later end, does just the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from hemiola.placing import driver_budget, moved, to_move
from hemiola.reports import ReplayReport, StreamReport
from queries.model import Config, Microseconds, Query, Stream
from results.store import Refresh, ResultsStore, StreamProgress, Update
from scheduler.clocks import VirtualClock
from scheduler.engine import Answer, Engine
from scheduler.plan_cost import modelled_cost
from scheduler.policies import make_policy
from sharing.plan import plan_stream
from spark_jobs.preaggregation import Batch, preaggregate_records, rejected_records
from spark_jobs.resident_store import ResidentStore
from spark_jobs.sources import TimeBounds, read_bounded, time_bounds
from synopses.preaggregate import Preaggregation

CHUNK_RECORDS = 2_000_000
"""Records per Spark job, on average: the driver holds the partial aggregates of one chunk at a time."""


Progress = Callable[[str, int, int], None]
"""Called with (stream, updates done, updates in all)."""


def _silent(stream: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class ReplayOptions:
    """``until``: the last update. ``again``: compute also what is already in the results. ``cuts``: where to cut
    history into Spark jobs (event times); by default chunks of about ``CHUNK_RECORDS``."""

    until: Microseconds | None = None
    again: bool = False
    cuts: tuple[Microseconds, ...] | None = None


def replay_config(
    config: Config, spark: SparkSession, store: ResultsStore, options: ReplayOptions, progress: Progress = _silent
) -> ReplayReport:
    report = ReplayReport()
    for stream in config.streams:
        queries = tuple(config.queries_on(stream.name))
        if queries:
            report.streams.append(_StreamReplay(config, stream, queries, spark, store, options, progress).run())
    return report


class _StreamReplay:
    def __init__(
        self,
        config: Config,
        stream: Stream,
        queries: Sequence[Query],
        spark: SparkSession,
        store: ResultsStore,
        options: ReplayOptions,
        progress: Progress,
    ) -> None:
        self.config, self.stream, self.spark, self.store = config, stream, spark, store
        self.options, self.progress = options, progress
        self.plan = plan_stream(stream, queries)
        self.resident = ResidentStore(spark, f"{config.storage}/replay-{uuid4().hex[:8]}/{stream.name}", stream.name)
        self.report = StreamReport(stream.name)
        self._seen = 0
        """The update at which all records are in."""
        self._finals: dict[str, int] = {}
        self._grouped: bool | None = None
        """Whether Spark groups records before the workers do, as the first chunk tells."""
        self._jobs = 0

    def run(self) -> StreamReport:
        try:
            return self._replayed()
        finally:
            self.resident.remove()

    def _replayed(self) -> StreamReport:
        s = self.stream.interval
        began = perf_counter()
        frame = read_bounded(self.spark, self.stream)
        bounds = time_bounds(frame, self.stream)
        self.report.spark_seconds += perf_counter() - began
        self.report.known_records = bounds.records
        self.report.rejected = bounds.malformed + bounds.without_time
        if self.report.rejected:
            self._keep_rejects(frame)
        if bounds.oldest_us is None or bounds.newest_us is None:
            return self.report
        first, self._seen = bounds.oldest_us // s, bounds.newest_us // s + 1
        limit = None if self.options.until is None else self.options.until // s
        self._seen = self._seen if limit is None else min(self._seen, limit)
        done = {plan.query.name: self._done(plan.query.name, bounds) for plan in self.plan.queries}
        engine = self._engine(first, done, first)
        self._finals = _final_updates(engine, self._seen, limit)
        missing = _first_missing(engine, first, self._finals, done)
        if missing is None:
            return self.report
        longest = max(spec.b for spec in self.plan.synopses)
        start = max(first, missing - longest)
        if start > first:
            engine = self._engine(start, done, first)
        self._run(engine, start, max(self._finals.values()), bounds)
        return self.report

    def _engine(self, start: int, done: dict[str, frozenset[int]], first: int) -> Engine:
        settings = self.config.scheduler
        engine = Engine(
            self.plan,
            make_policy(settings.policy, settings.sharing, settings.idle),
            modelled_cost(self.plan),
            VirtualClock(start * self.stream.interval),
            start=start,
            seen_from=first,
            registered_at=first,
            wanted=lambda query, end: end not in done[query] and end <= self._finals[query] * self.stream.interval,
        )
        engine.resident, engine.shelves = self.resident, self.store.shelf
        return engine

    def _done(self, query: str, bounds: TimeBounds) -> frozenset[int]:
        """Window ends that need not be computed again. The last interval of an earlier replay may have been closed
        by the end of its input: if the source has grown since, answers that include it are not final."""
        before = self.store.progress(self.stream.name)
        if self.options.again or before is None or before.newest is None or bounds.oldest_us != before.seen_from:
            return frozenset()
        ends = self.store.done(query)
        if before.newest != bounds.newest_us:
            ends = ends[ends <= before.newest // self.stream.interval * self.stream.interval]
        return frozenset(ends.tolist())

    def _keep_rejects(self, frame: DataFrame) -> None:
        for number, table in enumerate(rejected_records(frame, self.stream)):
            self.store.put_rejects(self.stream.name, f"replay-{number}", table)

    def _run(self, engine: Engine, start: int, last: int, bounds: TimeBounds) -> None:
        s = self.stream.interval
        from_us = start * s
        for until, batch in self._batches(self._cuts(from_us, self._seen * s, bounds)):
            self.report.records += batch.records
            self._take(engine, batch)
            added = tuple(need for need in self.plan.needs if need not in batch.needs)
            if added:
                self._take(engine, self._preaggregated((from_us, until), added))
            from_us = until
            self._advance(engine, until // s, start, last, bounds)
            self.resident.keep({spec.need: engine.now - spec.b for spec in self.plan.synopses if spec.need.resident})
            if until < self._seen * s:
                self._move_what_is_too_large(engine, until)
        self._advance(engine, last, start, last, bounds)
        self.report.synopsis_entries = engine.synopses.entries
        self.report.synopsis_bytes = engine.synopses.nbytes
        self.report.resident_entries = self.resident.entries

    def _take(self, engine: Engine, batch: Batch) -> None:
        for need, partials in batch.partials:
            if need in self.plan.needs:
                engine.ingest(need, partials)
        self.resident.add((need, file) for need, file in batch.files if need in self.plan.needs)

    def _move_what_is_too_large(self, engine: Engine, until: Microseconds) -> None:
        """Gives queries to Spark while the driver's synopses are over their budget; their history, all that any
        window still reaches, is read again from the source."""
        moving = to_move(engine, driver_budget(self.config.driver_memory_share))
        if not moving:
            return
        self.plan = moved(self.plan, moving)
        needs = tuple(need for need in self.plan.needs if need.resident and not self.resident.files(need))
        oldest = min(engine.now - spec.b for spec in self.plan.synopses if spec.need in needs) * self.stream.interval
        self.resident.add(self._preaggregated((oldest, until), needs).files)
        engine.replan(self.plan, {}, {})
        self.report.moved += len(moving)

    def _advance(self, engine: Engine, to: int, start: int, last: int, bounds: TimeBounds) -> None:
        """Every update up to ``to``, each with all that is due at it, committed as one."""
        assert isinstance(engine.clock, VirtualClock)
        while engine.now < min(to, last):
            began = perf_counter()
            engine.update()
            engine.clock.advance_to(engine.now * self.stream.interval)
            answers: list[Answer] = []
            while (more := engine.run_next()) is not None:
                answers += more
            self.report.engine_seconds += perf_counter() - began
            self._commit(engine, answers, bounds, final=engine.now == last)
            self.progress(self.stream.name, engine.now - start, last - start)

    def _cuts(self, from_us: Microseconds, until_us: Microseconds, bounds: TimeBounds) -> list[Microseconds]:
        if self.options.cuts is not None:
            return [from_us, *sorted({cut for cut in self.options.cuts if from_us < cut < until_us}), until_us]
        assert bounds.oldest_us is not None and bounds.newest_us is not None
        span = max(bounds.newest_us - bounds.oldest_us, 1)
        expected = bounds.records * (until_us - from_us) // span
        s = self.stream.interval
        step = -(-(until_us - from_us) // max(1, -(-expected // CHUNK_RECORDS)) // s) * s
        return [*range(from_us, until_us, step), until_us]

    def _batches(self, cuts: Sequence[Microseconds]) -> Iterator[tuple[Microseconds, Batch]]:
        """One Spark job per chunk, the next one running while the engine works on the last."""
        spans = list(pairwise(cuts))

        def job(span: tuple[Microseconds, Microseconds]) -> Batch:
            return self._preaggregated(span, self.plan.needs)

        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="preaggregation") as pool:
            following = pool.submit(job, spans[0])
            for number, (_, until) in enumerate(spans):
                batch = following.result()
                if number + 1 < len(spans):
                    following = pool.submit(job, spans[number + 1])
                yield until, batch

    def _preaggregated(self, span: tuple[Microseconds, Microseconds], needs: tuple[Preaggregation, ...]) -> Batch:
        began = perf_counter()
        self._jobs += 1
        frame = read_bounded(self.spark, self.stream, *span)
        target = self.resident.target(f"{self._jobs}")
        batch = preaggregate_records(frame, self.stream, needs, grouped=self._grouped, resident=target)
        self._grouped = batch.grouped
        self.report.spark_seconds += perf_counter() - began
        return batch

    def _commit(self, engine: Engine, answers: list[Answer], bounds: TimeBounds, final: bool) -> None:
        self.report.updates += 1
        if not answers and not final:
            return
        began = perf_counter()
        seen_us = self._seen * self.stream.interval
        refreshes = tuple(
            replace(Refresh(**vars(answer)), complete=answer.complete and answer.window_end <= seen_us)
            for answer in answers
        )
        progress = StreamProgress(
            stream=self.stream.name,
            interval=self.stream.interval,
            updated_until=min(engine.now, self._seen) * self.stream.interval,
            seen_from=bounds.oldest_us,
            newest=bounds.newest_us,
            records=bounds.records - bounds.without_time,
            rejected=self.report.rejected,
        )
        self.store.commit(Update(progress, refreshes))
        self.report.commit_seconds += perf_counter() - began
        self.report.refreshes += len(refreshes)
        self.report.rows += sum(refresh.rows for refresh in refreshes)
        self.report.rescanned += sum(_rescan(refresh, bounds) for refresh in refreshes)


def _rescan(refresh: Refresh, bounds: TimeBounds) -> int:
    """About how many records a query of its own would have read for this refresh."""
    assert bounds.oldest_us is not None and bounds.newest_us is not None
    seen = refresh.window_end - max(refresh.window_start, bounds.oldest_us)
    return int(bounds.records * min(1.0, seen / max(bounds.newest_us - bounds.oldest_us, 1)))


def _final_updates(engine: Engine, seen: int, limit: int | None) -> dict[str, int]:
    """The last update of each query: the first one it is due at when all records are in, so that every record is in
    some answer of every query, whatever else is registered."""
    periods = {query: task.period for task in engine.agenda.tasks for query in task.queries}
    finals = {
        plan.query.name: -(-seen // period) * period
        for plan in engine.plan.queries
        for period in [periods.get(plan.query.name, plan.slide)]
    }
    return finals if limit is None else {query: min(final, limit) for query, final in finals.items()}


def _first_missing(engine: Engine, first: int, finals: dict[str, int], done: dict[str, frozenset[int]]) -> int | None:
    """The first update at which something is due that is not done."""
    s = engine.interval
    periods = {query: task.period for task in engine.agenda.tasks for query in task.queries}
    missing = []
    for plan in engine.plan.queries:
        name = plan.query.name
        grids = {periods.get(name, plan.slide)} | ({plan.slide} if plan.query.semantics == "restore" else set())
        for period in grids:
            due = range((first // period + 1) * period, finals[name] + 1, period)
            missing += [next((end for end in due if end * s not in done[name]), None)]
    return min((end for end in missing if end is not None), default=None)
