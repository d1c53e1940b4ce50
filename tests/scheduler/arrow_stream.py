"""A stream's records as partial aggregates without a JVM: DuckDB evaluates the record-level expressions."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pyarrow as pa
from sqlglot import parse_one

from queries.model import Stream, Value
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate


def partials(
    rows: duckdb.DuckDBPyConnection, stream: Stream, needs: Iterable[Preaggregation]
) -> list[tuple[Preaggregation, pa.Table]]:
    """What Spark would bring of the table named like the stream, all at once."""
    needs = tuple(needs)
    distinct = dict.fromkeys(value for need in needs for value in need.values)
    values: dict[Value, str] = {value: f"v{number}" for number, value in enumerate(distinct)}
    columns = [f"({parse_one(value.sql, read='spark').sql('duckdb')}) AS {name}" for value, name in values.items()]
    interval = f"epoch_us({stream.time}) // {stream.interval} AS {INTERVAL}"
    records = rows.sql(f"SELECT {', '.join([interval, *columns])} FROM {stream.name}").to_arrow_table()
    return [(need, preaggregate(records, values, need)) for need in needs]
