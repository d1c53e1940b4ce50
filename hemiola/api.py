"""The Python API: what the command line does, as functions. Spark is loaded only by what needs it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

from hemiola.explanation import Explanation, explain_config
from hemiola.simulating import Simulation, simulate_config
from queries.config import load_config
from queries.model import Config
from results import ReadResult, open_store, read
from sharing.plan import plan_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hemiola.asking import Asked
    from hemiola.reports import ReplayReport

Source = str | Path | Config


def validate(config: Source) -> Config:
    """The checked configuration; raises InputError with every problem found, those of planning included."""
    checked = _loaded(config)
    for stream in checked.streams:
        plan_stream(stream, checked.queries_on(stream.name))
    return checked


def _loaded(config: Source) -> Config:
    return config if isinstance(config, Config) else load_config(config)


def explain(config: Source) -> Explanation:
    """The shared plan of a configuration."""
    return explain_config(_loaded(config))


def query(config: Source, sql: str) -> ReadResult:
    """Read-only SQL on the results."""
    return read(_loaded(config).results, sql)


def ask(config: Source, sql: str, *, spark: SparkSession | None = None) -> Asked:
    """A one-time query, answered from what the registered queries keep."""
    from hemiola.asking import ask_config

    return ask_config(_loaded(config), sql, spark)


def simulate(config: Source, *, policy: str | None = None, load: float = 1.0, updates: int | None = None) -> Simulation:
    """The schedule in virtual time, by policy (``"all"``, a name, or the config's own)."""
    return simulate_config(_loaded(config), policy, load, updates)


def replay(
    config: Source,
    *,
    until: int | None = None,
    again: bool = False,
    cuts: tuple[int, ...] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    spark: SparkSession | None = None,
) -> ReplayReport:
    """Replays the bounded sources in virtual time. Times are microseconds since the epoch (UTC)."""
    from hemiola.replaying import ReplayOptions, replay_config
    from spark_jobs.session import spark_session

    checked = validate(config)
    with (
        open_store(checked.results, results_keep=checked.results_keep, lake=checked.lake) as store,
        spark_session(checked.spark, "hemiola replay") if spark is None else nullcontext(spark) as session,
    ):
        store.register(checked.queries, time_ns() // 1000)
        options = ReplayOptions(until, again, cuts)
        return replay_config(checked, session, store, options, progress or (lambda stream, done, total: None))
