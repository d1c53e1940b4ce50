"""Streams of the config: source, schema and time column, checked without looking at any data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from queries.config_schema import StreamShape, check_shape
from queries.durations import Microseconds
from queries.errors import Problem
from queries.model import Column, Source, Stream
from queries.sql_errors import did_you_mean
from queries.stream_schema import parse_schema
from queries.synthetic import OptionError, synthetic_options
from queries.types import Type
from queries.yaml_source import Document, Path

FILE_FORMATS = ("parquet", "json", "csv")
LIVE_FORMATS = ("kafka", "rate", "socket")
FORMATS = (*FILE_FORMATS, "synthetic", *LIVE_FORMATS)

PACKETS = (
    Column("ts", Type.TIMESTAMP),
    Column("src", Type.STRING),
    Column("dst", Type.STRING),
    Column("protocol", Type.STRING),
    Column("port", Type.INT),
    Column("length", Type.BIGINT),
)
"""The schema of the ``synthetic`` source."""


@dataclass(frozen=True)
class PendingStream:
    """A checked stream whose interval may still be open: it depends on the queries."""

    shape: StreamShape
    name: str
    source: Source
    schema: tuple[Column, ...]
    time: str

    @property
    def interval(self) -> Microseconds | None:
        return self.shape.interval

    @property
    def types(self) -> dict[str, Type]:
        return {column.name: column.type for column in self.schema}

    def with_interval(self, interval: Microseconds) -> Stream:
        return Stream(
            name=self.name,
            source=self.source,
            schema=self.schema,
            time=self.time,
            interval=interval,
            lateness=self.shape.lateness,
            retain=self.shape.retain,
            weight=self.shape.weight,
            idle_timeout=self.shape.idle_timeout,
        )


def check_stream(document: Document, name: str, value: Any, resolved: Callable[[str], str]) -> PendingStream | None:
    """The stream ``name``, or None with the reasons in ``document.problems``."""
    before, path = len(document.problems), ("streams", name)
    shape = check_shape(StreamShape, document, path, value, f"stream {name}")
    if shape is None:
        return None
    source = _source(document, path, name, shape, resolved)
    schema = _schema(document, path, name, shape)
    time = _time(document, path, name, shape, schema) if schema else None
    if len(document.problems) > before or not schema or time is None:
        return None
    return PendingStream(shape, name, source, schema, time)


def _source(document: Document, path: Path, name: str, shape: StreamShape, resolved: Callable[[str], str]) -> Source:
    kind = shape.source.format.lower()
    place = (*path, "source")
    if kind not in FORMATS:
        hint = did_you_mean(kind, FORMATS) or f"there are {', '.join(FORMATS)}"
        document.problem((*place, "format"), f"there is no source format {shape.source.format}", hint)
    elif kind in FILE_FORMATS and not shape.source.path:
        document.problem(place, f"stream {name} reads {kind} files and needs a path:", "path: data/…", key=True)
    elif kind not in FILE_FORMATS and shape.source.path is not None:
        document.problem((*place, "path"), f"a {kind} source has no path", "give its settings under options:")
    options = tuple(sorted(shape.source.options.items()))
    if kind == "synthetic":
        try:
            synthetic_options(options)
        except OptionError as error:
            option = (*place, "options", error.option) if error.option in shape.source.options else place
            document.problem(option, f"stream {name}: {error.message}", error.hint)
    return Source(kind, resolved(shape.source.path) if shape.source.path else None, options)


def _schema(document: Document, path: Path, name: str, shape: StreamShape) -> tuple[Column, ...]:
    if shape.columns is None:
        if shape.source.format.lower() == "synthetic":
            return PACKETS
        document.problem(
            path, f"stream {name} needs the key schema:", "as in schema: ts TIMESTAMP, src STRING", key=True
        )
        return ()
    columns, problems = parse_schema(shape.columns)
    for problem in problems:
        place = document.locate_inside((*path, "schema"), problem.offset)
        document.problems.append(Problem(place, None, f"stream {name}: {problem.message}", problem.hint))
    return () if problems else columns


def _time(document: Document, path: Path, name: str, shape: StreamShape, schema: tuple[Column, ...]) -> str | None:
    if shape.time is None:
        if shape.source.format.lower() == "synthetic" and any(column == PACKETS[0] for column in schema):
            return PACKETS[0].name
        stamps = [column.name for column in schema if column.type is Type.TIMESTAMP]
        hint = f"as in time: {stamps[0]}" if stamps else "the schema needs a TIMESTAMP column"
        document.problem(path, f"stream {name} needs the key time:, its event time", hint, key=True)
        return None
    for column in schema:
        if column.name.lower() == shape.time.lower():
            if column.type is Type.TIMESTAMP:
                return column.name
            message = f"the time column {column.name} of stream {name} is {column.type.value}, not TIMESTAMP"
            document.problem((*path, "time"), message, f"declare it as {column.name} TIMESTAMP")
            return None
    guess = did_you_mean(shape.time, [column.name for column in schema])
    document.problem((*path, "time"), f"stream {name} has no column {shape.time} to be its time", guess)
    return None
