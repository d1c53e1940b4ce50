"""``hemiola ask``: a one-time query answered from the synopses that the registered queries keep anyway.

A running daemon answers as of its newest update, before everything that is due. Without one, bounded sources are
read: only the records of the asked window, pre-aggregated as the shared plan would, as of the end of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hemiola.control import request
from hemiola.state_folder import socket_path
from hemiola.status import time_text
from queries.errors import InputError, Problem, RunError
from queries.language import parse_query
from queries.model import Config, Query, Stream
from queries.sql_errors import SqlError, line_and_column
from results import ReadResult
from results.arrow_columns import values
from scheduler.asking import matching
from scheduler.clocks import VirtualClock
from scheduler.cost import CostModel
from scheduler.engine import Answer, Engine
from scheduler.policies import make_policy
from sharing.plan import StreamPlan, plan_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "ask"


@dataclass(frozen=True)
class Asked:
    """An answer over ``[window_start, window_end)``; ``complete`` if the stream was seen from its beginning on."""

    window_start: str
    window_end: str
    complete: bool
    result: ReadResult


def ask_config(config: Config, sql: str, spark: SparkSession | None = None) -> Asked:
    """The answer of a running daemon, else of the bounded source as of its end."""
    query = asked_query(sql, config.streams)
    socket = socket_path(config.state)
    if _answers(socket):
        return _from_reply(request(socket, "ask", sql=sql))
    return _from_reply(reply(_from_source(config, query, spark), query))


def answer_now(sql: str, streams: Sequence[Stream], engine_of: Callable[[str], Engine | None]) -> dict[str, Any]:
    """What a daemon replies to ``ask``; to be called on the engines' thread, between two executions."""
    query = asked_query(sql, streams)
    engine = engine_of(query.stream)
    if engine is None:
        raise RunError(f"stream {query.stream} has no records yet", hint="ask again when its first update is done")
    return reply(engine.ask(query), query)


def asked_query(sql: str, streams: Sequence[Stream]) -> Query:
    """The checked query; its slide does not matter."""
    try:
        select = parse_query(NAME, sql, {stream.name: stream.types for stream in streams})
    except SqlError as error:
        places = (line_and_column(sql, problem.offset) for problem in error.problems)
        raise InputError(
            tuple(
                Problem(f"{line}:{column}", None, problem.message, problem.hint)
                for (line, column), problem in zip(places, error.problems, strict=True)
            )
        ) from error
    return Query(NAME, sql, select)


def reply(answer: Answer, query: Query) -> dict[str, Any]:
    """An answer as plain values, as they go over the control socket."""
    outputs = query.select.outputs
    columns = [values(answer.table[output.name], output.type, nan_as_text=True) for output in outputs]
    return {
        "window_start": time_text(answer.window_start),
        "window_end": time_text(answer.window_end),
        "complete": answer.complete,
        "columns": [output.name for output in outputs],
        "rows": [list(row) for row in zip(*columns, strict=True)],
    }


def _answers(socket: Path) -> bool:
    """Whether a daemon is there; one that was killed leaves its socket behind."""
    if not socket.exists():
        return False
    try:
        request(socket, "status")
    except RunError:
        return False
    return True


def _from_reply(found: Mapping[str, Any]) -> Asked:
    result = ReadResult(tuple(found["columns"]), [tuple(row) for row in found["rows"]])
    return Asked(found["window_start"], found["window_end"], found["complete"], result)


def _from_source(config: Config, query: Query, spark: SparkSession | None) -> Answer:
    """The plan decides before Spark is started. One window is never too much for the driver."""
    registered = (replace(other, placement="driver") for other in config.queries_on(query.stream))
    plan = plan_stream(config.stream(query.stream), registered)
    sources = matching(plan, query).sources
    needed = StreamPlan(plan.stream, tuple(plan.synopsis(source) for source in sources), (), plan.statistics)
    from spark_jobs.session import spark_session

    with spark_session(config.spark, "hemiola ask") if spark is None else nullcontext(spark) as session:
        return _as_of_the_end(needed, query, session)


def _as_of_the_end(plan: StreamPlan, query: Query, spark: SparkSession) -> Answer:
    from spark_jobs.preaggregation import preaggregate_records
    from spark_jobs.sources import read_bounded, time_bounds

    stream, s = plan.stream, plan.stream.interval
    bounds = time_bounds(read_bounded(spark, stream), stream)
    if bounds.oldest_us is None or bounds.newest_us is None:
        raise RunError(f"stream {stream.name} has no records")
    last = bounds.newest_us // s + 1
    first = last - query.window // s
    engine = Engine(
        plan,
        make_policy("none", "off"),
        CostModel(),
        VirtualClock(last * s),
        start=first,
        seen_from=bounds.oldest_us // s,
    )
    frame = read_bounded(spark, stream, first * s, last * s)
    for need, partials in preaggregate_records(frame, stream, plan.needs).partials:
        engine.ingest(need, partials)
    for _ in range(first, last):
        engine.update()
    return engine.ask(query)
