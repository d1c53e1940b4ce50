"""Plans driven without Spark: DuckDB evaluates the record-level expressions, everything after is Hemiola's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

from queries.model import Query, Scalar, Value
from queries.types import Type
from scheduler.execution import execute
from sharing.plan import StreamPlan
from synopses.preaggregate import INTERVAL, preaggregate
from synopses.stream_synopses import StreamSynopses
from tests.oracle.judge import Case, _alike, _plain, _sortable
from tests.sharing.small_events import SECOND, SECONDS, START, rows

FIRST = int(START.timestamp())
Answers = dict[tuple[str, int], list[tuple[Any, ...]]]


@cache
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    made.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    made.register("raw", rows())
    made.execute("CREATE TABLE events AS SELECT * REPLACE (ts::TIMESTAMP AS ts) FROM raw")
    return made


def records(values: Iterable[Value]) -> tuple[pa.Table, dict[Value, str]]:
    """Every record with its interval and these expressions evaluated."""
    columns: dict[Value, str] = {}
    selected = [f"epoch_us(ts) // {SECOND} AS {INTERVAL}"]
    for value in values:
        assert isinstance(value, Scalar)
        columns[value] = f"v{len(columns)}"
        sql = sqlglot.transpile(value.sql, read="spark", write="duckdb")[0]
        target = "VARCHAR" if value.type is Type.STRING else value.type.value
        selected.append(f"CAST(({sql}) AS {target}) AS {columns[value]}")
    return connection().sql(f"SELECT {', '.join(selected)} FROM events").to_arrow_table(), columns


def drive(plan: StreamPlan, at: Callable[[int], Sequence[str]] | None = None) -> Answers:
    """The answers of every query at every update on its slide's grid (or of those that ``at`` names), all due at one
    update executed jointly."""
    table, columns = records(dict.fromkeys(value for need in plan.needs for value in need.values))
    synopses = StreamSynopses(plan.synopses)
    for need in plan.needs:
        synopses.ingest(need, preaggregate(table, columns, need))
    answers: Answers = {}
    for interval in range(FIRST, FIRST + SECONDS):
        synopses.close(interval)
        now = interval + 1
        due = [query for query in plan.queries if now % query.slide == 0]
        if at is not None:
            due = [plan.query(name) for name in at(now)]
        if due:
            for name, answer in execute(synopses, due).items():
                answers[name, now] = plain(answer.to_pylist())
    return answers


def plain(answer: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    whole = [tuple(_plain(_whole(value)) for value in row.values()) for row in answer]
    return sorted(whole, key=_sortable)


def _whole(value: Any) -> Any:
    return int(value) if type(value).__name__ == "Decimal" else value


def judged(queries: Iterable[Query], answers: Answers) -> list[str]:
    """Where the answers differ from DuckDB's over the raw rows, as sentences."""
    cases = {query.name: Case(query.name, query.sql) for query in queries}
    found = []
    for (name, now), got in answers.items():
        end = START.replace(tzinfo=None) + timedelta(seconds=now - FIRST)
        relation = connection().sql(cases[name].duckdb(end - timedelta(seconds=cases[name].window), end))
        wanted = sorted([tuple(_plain(value) for value in row) for row in relation.fetchall()], key=_sortable)
        if len(got) != len(wanted) or not all(_alike(a, b) for a, b in zip(got, wanted, strict=True)):
            found.append(f"{name} as of {end}: got {got[:4]}, DuckDB has {wanted[:4]}")
    return found


def same(one: Answers, other: Answers) -> list[str]:
    """Where two sets of answers differ, as sentences; doubles may differ in their last digits."""
    found = [f"only one has {key}" for key in one.keys() ^ other.keys()]
    for key in one.keys() & other.keys():
        pairs = list(zip(one[key], other[key], strict=False))
        if len(one[key]) != len(other[key]) or not all(_alike(a, b) for a, b in pairs):
            found.append(f"{key}: {one[key][:4]} against {other[key][:4]}")
    return found
