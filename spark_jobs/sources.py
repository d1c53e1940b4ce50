"""Bounded sources as DataFrames with exactly the columns a stream declares.

What can be wrong with a source is said here, with the stream's name and a remedy, before any query runs. A malformed
record of a text format is not an error: it comes with its text in ``CORRUPT``, to be counted and kept by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from queries.errors import RunError
from queries.model import Microseconds, Stream
from queries.synthetic import synthetic_options
from queries.types import Type
from spark_jobs.session import wrap_spark_errors
from spark_jobs.synthetic import packets

CORRUPT = "_corrupt_record"
"""Column of csv and json streams: the text of a malformed record, NULL for a good one."""

_TEXT_FORMATS = ("csv", "json")
_LIVE_FORMATS = ("kafka", "rate", "rate-micro-batch", "socket")
_DECIMAL = "DECIMAL(38,18)"


@dataclass(frozen=True)
class TimeBounds:
    """Event times in microseconds (None without records) over the ``records`` that are well-formed.

    ``without_time`` of them have NULL for a time; ``malformed`` ones are not among them.
    """

    oldest_us: Microseconds | None
    newest_us: Microseconds | None
    records: int
    without_time: int
    malformed: int = 0


def read_bounded(
    spark: SparkSession,
    stream: Stream,
    from_us: Microseconds | None = None,
    until_us: Microseconds | None = None,
) -> DataFrame:
    """The stream's declared columns in their declared order and types, plus ``CORRUPT`` for csv and json.

    With a bound, only records with ``from_us`` <= event time < ``until_us``, and the source reads no more than it
    must. Records without a time, and so most malformed ones, are only in a read without bounds.
    """
    kind = stream.source.format.lower()
    if kind in _LIVE_FORMATS:
        raise RunError(
            f"stream {stream.name}: a {kind} source has no end and needs `hemiola run`",
            hint="replay reads bounded sources: parquet, json, csv, synthetic",
        )
    with wrap_spark_errors(f"stream {stream.name}"):
        if kind == "synthetic":
            options = synthetic_options(stream.source.options)
            return _declared(packets(spark, options, from_us, until_us), stream)
        read = _read_text(spark, stream, kind) if kind in _TEXT_FORMATS else _read_typed(spark, stream)
        return _within(read, stream, from_us, until_us)


def time_bounds(records: DataFrame, stream: Stream) -> TimeBounds:
    """How far the records reach in event time, in one Spark job."""
    time = F.unix_micros(F.col(_quoted(stream.time)))
    good = F.col(CORRUPT).isNull() if CORRUPT in records.columns else F.lit(True)
    with wrap_spark_errors(f"stream {stream.name}"):
        row = records.select(F.when(good, time).alias("us"), good.alias("good")).agg(
            F.min("us"), F.max("us"), F.count_if("good"), F.count_if(F.col("good") & F.col("us").isNull()), F.count("*")
        )
        oldest, newest, well_formed, without_time, everything = row.toArrow().to_pydict().values()
    return TimeBounds(oldest[0], newest[0], well_formed[0], without_time[0], everything[0] - well_formed[0])


def _read_typed(spark: SparkSession, stream: Stream) -> DataFrame:
    """Formats that carry their own schema: parquet, and any other bounded source Spark knows."""
    reader = spark.read.format(stream.source.format).options(**dict(stream.source.options))
    if stream.source.path is None:
        return _declared(reader.load(), stream)
    _require_files(spark, stream)
    return _declared(reader.load(stream.source.path), stream)


def _read_text(spark: SparkSession, stream: Stream, kind: str) -> DataFrame:
    """csv and json in the declared types, malformed records kept.

    Spark parses, and so checks, only the columns a query reads. Whether a record is malformed must not depend on who
    asks, so ``CORRUPT`` is made to need every declared column. (substr counts from 1, and takes 0 for 1.)
    """
    _require_files(spark, stream)
    assert stream.source.path is not None
    options = {"mode": "PERMISSIVE"}
    if kind == "csv":
        options |= {"header": "true", "columnPruning": "false"}
    options |= dict(stream.source.options)
    options["columnNameOfCorruptRecord"] = CORRUPT
    names = [column.name for column in stream.schema]
    if kind == "csv" and options["header"].lower() == "true":
        names = _header(spark, stream, options)
        options.setdefault("enforceSchema", "false")
    types = {column.name.lower(): _spark_type(column.type) for column in stream.schema}
    fields = [f"{_quoted(name)} {types.get(name.lower(), 'STRING')}" for name in [*names, CORRUPT]]
    read = spark.read.format(kind).options(**options).schema(", ".join(fields)).load(stream.source.path)
    columns = [F.col(_quoted(column.name)).alias(column.name) for column in stream.schema]
    some_null = F.lit(False)
    for column in columns:
        some_null = some_null | column.isNull()
    corrupt = F.substr(F.col(CORRUPT), F.when(some_null, F.lit(1)).otherwise(F.lit(0)))
    return read.select(*columns, corrupt.alias(CORRUPT))


def _header(spark: SparkSession, stream: Stream, options: dict[str, str]) -> list[str]:
    """The column names of a csv file with a header, in the file's order."""
    assert stream.source.path is not None
    plain = {key: value for key, value in options.items() if key.lower() != "inferschema"}
    names = spark.read.options(**plain).csv(stream.source.path).columns
    known = {name.lower() for name in names}
    missing = [column.name for column in stream.schema if column.name.lower() not in known]
    if missing:
        raise _absent(
            stream, missing[0], names, "correct the schema, or set options: {header: false} if it has no header"
        )
    return names


def _require_files(spark: SparkSession, stream: Stream) -> None:
    """An error unless the path (a file, a folder or a glob, on any file system of Hadoop's) holds data."""
    path = stream.source.path
    if path is None:
        raise RunError(f"stream {stream.name}: a {stream.source.format} source needs a path", hint="add source.path")
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    place = hadoop.Path(path)
    files = place.getFileSystem(spark._jsc.hadoopConfiguration())
    matches = list(files.globStatus(place) or [])
    if not matches:
        raise RunError(
            f"stream {stream.name}: there is nothing at {path}",
            hint="check source.path; a relative path starts at the config file's folder",
        )
    if not any(_holds_data(files, match) for match in matches):
        raise RunError(
            f"stream {stream.name}: there is no data file in {path}", hint="check source.path, or write the data first"
        )


def _holds_data(files: object, status: object, depth: int = 8) -> bool:
    """Whether a file, or any file below a folder, is one that Spark would read (names with _ or . are not)."""
    name = status.getPath().getName()  # type: ignore[attr-defined]
    if not status.isDirectory():  # type: ignore[attr-defined]
        return not name.startswith(("_", "."))
    below = files.listStatus(status.getPath())  # type: ignore[attr-defined]
    return depth > 0 and any(
        _holds_data(files, entry, depth - 1) for entry in below if not entry.getPath().getName().startswith(("_", "."))
    )


def _declared(found: DataFrame, stream: Stream) -> DataFrame:
    """The declared columns of a typed source, refusing a column that is absent or of another type."""
    fields = {field.name.lower(): field for field in found.schema.fields}
    columns: list[Column] = []
    for column in stream.schema:
        field = fields.get(column.name.lower())
        if field is None:
            raise _absent(stream, column.name, list(found.columns), "correct the stream's schema")
        there = field.dataType.simpleString().split("(")[0]
        value = F.col(_quoted(field.name))
        if column.type is Type.TIMESTAMP and there == "timestamp_ntz":
            value = value.cast("timestamp")  # the session is in UTC
        elif there != column.type.value.lower():
            raise RunError(
                f"stream {stream.name}: column {column.name} is declared {column.type.value}, "
                f"but {_where(stream)} has {_shown(field)}",
                hint=f"declare it as {column.name} {_shown(field)}, or convert the data",
            )
        columns.append(value.alias(column.name))
    return found.select(*columns)


def _within(read: DataFrame, stream: Stream, from_us: Microseconds | None, until_us: Microseconds | None) -> DataFrame:
    time = F.col(_quoted(stream.time))
    if from_us is not None:
        read = read.where(time >= F.timestamp_micros(F.lit(from_us)))
    if until_us is not None:
        read = read.where(time < F.timestamp_micros(F.lit(until_us)))
    return read


def _absent(stream: Stream, column: str, there: list[str], hint: str) -> RunError:
    found = ", ".join(there)
    return RunError(f"stream {stream.name}: column {column} is declared, but {_where(stream)} has {found}", hint=hint)


def _where(stream: Stream) -> str:
    return stream.source.path or f"the {stream.source.format} source"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _spark_type(kind: Type) -> str:
    """For text formats, where a bare DECIMAL would drop the fraction."""
    return _DECIMAL if kind is Type.DECIMAL else kind.value


def _shown(field: StructField) -> str:
    return field.dataType.simpleString().upper()
