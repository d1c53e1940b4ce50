"""The daemon: live sources, the wall clock, durable, restartable.

One thread, the engine's, does all that changes anything: batches, ticks and requests reach it as calls through one
queue. Between calls it takes one step of work at a time and commits answers and progress together.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from apscheduler.schedulers.background import BackgroundScheduler

from hemiola.admitting import check_admission
from hemiola.asking import answer_now
from hemiola.audit import AUDIT_TAG, Auditor
from hemiola.catalog import Catalog
from hemiola.control import ControlServer, Request
from hemiola.metrics import MetricsServer
from hemiola.placing import driver_budget
from hemiola.state_folder import StateFolder, socket_path
from hemiola.status import QueryHealth, snapshot, time_text
from hemiola.stream_runtime import BACKFILL_TAG, StreamRuntime
from queries.config import load_config
from queries.errors import HemiolaError, RunError
from queries.model import Config
from queries.registering import load_queries
from results import open_store
from results.store import Refresh, ResultsUnavailable, Update
from scheduler.clocks import WallClock
from scheduler.engine import Answer, Engine
from scheduler.streams import GlobalScheduler
from spark_jobs.live_sources import check_live_sources
from spark_jobs.resident_store import RESIDENT_TAG
from synopses.partials_store import StoredBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_STATUS_SECONDS, _REQUEST_SECONDS = 1.0, 50.0
_TICK_SECONDS, _HOUSEKEEPING_SECONDS = 0.25, 5.0
_STOP_SECONDS = 8.0
_BUSY_SECONDS = 2.0
"""How long a commit waits for a locked database before the reason is shown and it is tried again."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_LOOK_SECONDS = 1.0
"""How long the engine's thread sleeps at most before it looks whether the system's clock was set."""
_JUMP = 1_000_000
"""From how many microseconds on a change of the system's clock is one that somebody made."""

Call = Callable[[], None]


class Daemon:
    """``run`` returns when ``stop`` was called, everything answered being committed. It is to be called on the thread
    that made the daemon. ``spark``: a session to use, and to leave running."""

    def __init__(self, config: Config, spark: SparkSession | None = None) -> None:
        check_live_sources(config)
        self.config = config
        self.clock = WallClock()
        self.health: dict[str, QueryHealth] = {}
        self.error: str | None = None
        self.clock_set: str | None = None
        self.started_at = self.clock.now()
        self.snapshot: dict[str, Any] = {}
        self.metrics_port: int | None = None
        self._disk = {"state_bytes": 0, "disk_free_bytes": 0}
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._registering = threading.Lock()
        self._given_spark = spark
        self._auditor: Auditor | None = None
        self._spark: SparkSession | None = None
        self._spark_error: HemiolaError | None = None
        self.state = StateFolder(Path(config.state))
        try:
            self.state.claim(config.streams)
            self.catalog = Catalog(self.state.folder, config)
            self.results = open_store(
                config.results, results_keep=config.results_keep, busy_timeout=_BUSY_SECONDS, lake=config.lake
            )
        except BaseException:
            self.state.release()
            raise

    def run(self) -> None:
        try:
            threading.Thread(target=self._start_spark, name="spark", daemon=True).start()
            self._persist(lambda: self.results.register(self.catalog.queries, self.clock.now()), "registration")
            self.runtimes = {stream.name: self._runtime(stream.name) for stream in self.config.streams}
            self._schedule = GlobalScheduler({stream.name: stream.weight for stream in self.config.streams})
            self._take_snapshot()
            control = ControlServer(socket_path(self.config.state), self._asked)
            metrics = None if self.config.metrics_port is None else self._serve_metrics(self.config.metrics_port)
            self._ticks = self._started_ticks()
            try:
                self._loop()
            finally:
                self._ticks.shutdown(wait=False)
                control.close()
                if metrics is not None:
                    metrics.close()
                self._stop_spark()
            if self._spark_error is not None:
                raise self._spark_error
        finally:
            self.results.close()
            self.state.release()

    def stop(self) -> None:
        self._stopping.set()
        self._calls.put(lambda: None)

    def reload(self) -> None:
        """Reads the config again; it is taken over whole or not at all."""
        self._calls.put(self._reload)

    def _runtime(self, name: str) -> StreamRuntime:
        queries = [query for query in self.catalog.queries if query.stream == name]
        stream = self.config.stream(name)
        return StreamRuntime(
            stream,
            queries,
            self.state,
            self.results,
            self.config.scheduler,
            self.clock,
            self._calls.put,
            self.config.storage,
        )

    def _start_spark(self) -> None:
        from spark_jobs.session import open_session

        try:
            spark = self._given_spark or open_session(self.config.spark, "hemiola run")
        except HemiolaError as error:
            self._spark_error = error
            self.stop()
            return
        self._spark = spark
        if self.config.audit > 0:
            self._auditor = Auditor(spark, self.config.audit, self._stopping, self._audited)
        self._calls.put(lambda: self._spark_is_up(spark))

    def _spark_is_up(self, spark: SparkSession) -> None:
        try:
            for name, runtime in self.runtimes.items():
                runtime.spark_is_up(spark, self._deliverer(name))
        except HemiolaError as error:
            self._spark_error = error
            self.stop()

    def _deliverer(self, name: str) -> Callable[[StoredBatch], None]:
        return lambda stored: self._calls.put(lambda: self._delivered(name, stored))

    def _delivered(self, name: str, stored: StoredBatch) -> None:
        for number, table in enumerate(stored.rejects):
            self._put_rejects(name, stored.header.batch, number, table)
        self.runtimes[name].delivered(stored)

    def _put_rejects(self, name: str, batch: int, number: int, table: Any) -> None:
        self._persist(lambda: self.results.put_rejects(name, f"{batch}-{number}", table), "rejected records")

    def _started_ticks(self) -> BackgroundScheduler:
        ticks = BackgroundScheduler(
            timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        for seconds, call in ((_TICK_SECONDS, self._tick), (_HOUSEKEEPING_SECONDS, self._keep_house)):
            ticks.add_job(self._calls.put, "interval", seconds=seconds, args=[call])
        ticks.start()
        return ticks

    def _watch_clock(self) -> None:
        """A clock that was set changes no answer: event time comes from records, idle time from a clock nobody sets.
        But the ticks have their next times on it."""
        jump = self.clock.jump()
        if abs(jump) < _JUMP:
            return
        way = "forward" if jump > 0 else "back"
        self.clock_set = (
            f"the system's clock was set {way} by {abs(jump) / 1e6:.1f} s, seen {time_text(self.clock.now())}"
        )
        logger.warning("%s", self.clock_set)
        for job in self._ticks.get_jobs():
            job.reschedule(job.trigger.__class__(seconds=job.trigger.interval.total_seconds(), timezone="UTC"))

    def _serve_metrics(self, port: int) -> MetricsServer:
        server = MetricsServer(port, lambda: self.snapshot)
        self.metrics_port = server.port
        return server

    def _tick(self) -> None:
        for runtime in self.runtimes.values():
            runtime.tick()
            runtime.make_blocks_when_idle()
        self._take_snapshot()

    def _keep_house(self) -> None:
        for runtime in self.runtimes.values():
            try:
                runtime.remove_expired()
            except OSError as error:  # a full disk: what has expired is removed when there is room to note it
                logger.warning("stream %s: what has expired stays for now: %s", runtime.stream.name, error)
        self._move_what_is_too_large()
        self._disk = {"state_bytes": self.state.nbytes, "disk_free_bytes": self.state.free}

    def _move_what_is_too_large(self) -> None:
        """The budget is for the synopses of all streams together."""
        live = {name: runtime.live for name, runtime in self.runtimes.items() if runtime.live is not None}
        held = {name: stream.engine.synopses.nbytes for name, stream in live.items()}
        budget = driver_budget(self.config.driver_memory_share)
        for name in held:
            self.runtimes[name].move_what_is_too_large(budget - sum(held.values()) + held[name])

    def _loop(self) -> None:
        self._put_known_rejects()
        while not self._stopping.is_set():
            ready = [name for name, runtime in self.runtimes.items() if runtime.live is not None and runtime.live.ready]
            self._do_calls(wait=not ready)
            self._watch_clock()
            for runtime in self.runtimes.values():
                self._commit(runtime)
            name = self._schedule.next([name for name in ready if self.runtimes[name].live is not None])
            if name is not None and not self._stopping.is_set():
                began = time.perf_counter()
                live = self.runtimes[name].live
                assert live is not None
                live.step()
                self._commit(self.runtimes[name])
                self._schedule.used(name, time.perf_counter() - began)
        for runtime in self.runtimes.values():
            self._commit(runtime)

    def _do_calls(self, wait: bool) -> None:
        try:
            call = self._calls.get(block=wait, timeout=_LOOK_SECONDS)
            while True:
                call()
                call = self._calls.get(block=False)
        except queue.Empty:
            return

    def _put_known_rejects(self) -> None:
        """Of batches that became durable just before a crash."""
        for name, runtime in self.runtimes.items():
            newest = runtime.store.newest()
            if newest is not None and newest.rejected:
                for number, table in enumerate(runtime.store.rejects(newest.batch)):
                    self._put_rejects(name, newest.batch, number, table)

    def _commit(self, runtime: StreamRuntime) -> None:
        if runtime.live is None or (answers := runtime.live.take()) is None:
            return
        update = Update(runtime.progress(), tuple(Refresh(**vars(answer)) for answer in answers))
        if self._persist(lambda: self.results.commit(update), "answers"):
            self._note(answers)
            if self._auditor is not None:
                self._auditor.consider(runtime, answers)

    def _note(self, answers: tuple[Answer, ...]) -> None:
        for answer in answers:
            self.health.setdefault(answer.query, QueryHealth()).refreshed(answer)

    def _audited(self, query: str, difference: str | None) -> None:
        def note() -> None:
            health = self.health.setdefault(query, QueryHealth())
            health.audited += 1
            if difference is not None:
                logger.error("audit: %s", difference)
                health.audit_differences += 1
                health.last_error = difference

        self._calls.put(note)

    def _persist(self, write: Callable[[], None], what: str) -> bool:
        """Writes to the results, again and again while they are locked or full; False if told to stop before."""
        pause = _FIRST_PAUSE
        while True:
            try:
                write()
            except ResultsUnavailable as error:
                self.error = str(error).splitlines()[0]
                logger.warning("%s cannot be written and will be tried again: %s", what, self.error)
                if hasattr(self, "runtimes"):
                    self._take_snapshot()
                if self._stopping.wait(pause):
                    return False
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self.error = None
                return True

    def _take_snapshot(self) -> None:
        about = {
            "pid": os.getpid(),
            "config": self.config.path,
            "started_at": time_text(self.started_at),
            "now": time_text(self.clock.now()),
            "reading": self._spark is not None,
            "error": self.error,
            "clock_set": self.clock_set,
            "metrics_port": self.metrics_port,
            **self._disk,
        }
        self.snapshot = snapshot(self.runtimes.values(), self.health, about)

    def _asked(self, request: Request) -> Any:
        """Answers a request, on the control socket's thread; what changes something is done on the engine's."""
        command = request.get("command")
        if command == "status":
            return self._newest_snapshot()
        if command == "register":
            return self._register([str(path) for path in request["paths"]])
        if command == "deregister":
            return self._done(lambda: self._deregister([str(name) for name in request["names"]]))
        if command == "reload":
            return self._done(self._reload_now)
        if command == "ask":
            return self._done(lambda: answer_now(str(request["sql"]), self.config.streams, self._engine_of))
        raise RunError(f"the daemon knows no command {command}")

    def _engine_of(self, stream: str) -> Engine | None:
        live = self.runtimes[stream].live
        return None if live is None else live.engine

    def _newest_snapshot(self) -> dict[str, Any]:
        """As of now, or, while the engine is busy or waits for the results, as it last was."""
        with suppress(FutureTimeout):
            self._done(self._take_snapshot, _STATUS_SECONDS)
        return self.snapshot

    def _done(self, work: Callable[[], Any], patience: float = _REQUEST_SECONDS) -> Any:
        future: Future[Any] = Future()

        def call() -> None:
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)

        self._calls.put(call)
        return future.result(timeout=patience)

    def _register(self, paths: list[str]) -> dict[str, list[str]]:
        """The names registered, and a sentence for each with which somebody will be late (``admission: warn``). Whether
        it is admitted is found out on the request's own thread, so that nobody waits for it."""
        with self._registering:
            registered = self.catalog.queries
            known = {query.name for query in registered}
            asked = [query for path in paths for query, _ in load_queries(path, self.config.streams)]
            warnings = check_admission(self.config, registered, [query for query in asked if query.name not in known])
            return {"registered": self._done(lambda: self._add(paths)), "warnings": list(warnings)}

    def _add(self, paths: list[str]) -> list[str]:
        new = self.catalog.register(paths, self.config.streams)
        self._adopt_catalog()
        return [query.name for query in new]

    def _deregister(self, names: list[str]) -> list[str]:
        self.catalog.deregister(names)
        self._adopt_catalog()
        return names

    def _reload(self) -> None:
        try:
            self._reload_now()
        except HemiolaError as error:
            logger.error("the config was not taken over: %s", error)
            self.error = f"the edited config was not taken over: {str(error).splitlines()[0]}"

    def _reload_now(self) -> None:
        config = load_config(self.config.path)
        check_live_sources(config)
        before = {stream.name: stream for stream in self.config.streams}
        for stream in config.streams:
            if before.get(stream.name) != stream:
                raise RunError(
                    f"stream {stream.name} is not as it was; a running daemon takes over queries only",
                    hint="restart the daemon",
                )
        self.catalog.reload(config)
        self.config = config
        self._adopt_catalog()
        logger.info("the config was read again: %d queries", len(self.catalog.queries))

    def _adopt_catalog(self) -> None:
        queries = self.catalog.queries
        self._persist(lambda: self.results.register(queries, self.clock.now()), "registration")
        names = {query.name for query in queries}
        self.health = {name: health for name, health in self.health.items() if name in names}
        for name, runtime in self.runtimes.items():
            mine = tuple(query for query in queries if query.stream == name)
            if mine != runtime.queries:
                runtime.change(mine)
        self._take_snapshot()

    def _stop_spark(self) -> None:
        """Cancels what runs, by tag, and stops Spark; whatever hangs is left behind after some seconds."""

        def stop() -> None:
            for runtime in self.runtimes.values():
                runtime.stop()
                if runtime.ingest is not None:
                    runtime.ingest.stop()
            if self._spark is not None:
                try:
                    for tag in (BACKFILL_TAG, AUDIT_TAG, RESIDENT_TAG):
                        self._spark.sparkContext.cancelJobsWithTag(tag)
                    if self._given_spark is None:
                        self._spark.stop()
                except Exception as error:  # a signal to the whole process group has stopped the JVM before us
                    logger.info("Spark was gone before it was stopped: %s", type(error).__name__)

        stopper = threading.Thread(target=stop, name="stop", daemon=True)
        stopper.start()
        stopper.join(_STOP_SECONDS)


def run_config(config: Config) -> None:
    """Runs the daemon until SIGTERM or SIGINT; a second one exits at once. SIGHUP reads the config again."""
    daemon = Daemon(config)

    def on_stop(number: int, frame: FrameType | None) -> None:
        if daemon._stopping.is_set():
            os._exit(128 + number)
        logger.info("stopping on signal %d", number)
        daemon.stop()

    signal.signal(signal.SIGTERM, on_stop)
    signal.signal(signal.SIGINT, on_stop)
    signal.signal(signal.SIGHUP, lambda number, frame: daemon.reload())
    daemon.run()
