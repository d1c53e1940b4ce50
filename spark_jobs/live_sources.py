"""Live sources as streaming DataFrames with exactly the columns a stream declares, plus ``CORRUPT`` for text.

Files that arrive in a folder (parquet, json, csv), Spark's ``rate``, and two sources of text lines, ``socket`` and
``kafka``, whose lines are JSON objects or csv records in the declared schema (option ``records: json | csv``).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from queries.errors import InputError, Problem
from queries.model import Config, Stream
from queries.types import Type
from spark_jobs.session import wrap_spark_errors
from spark_jobs.sources import CORRUPT

FILE_FORMATS = ("parquet", "json", "csv")
_LINE_FORMATS = ("kafka", "socket")
_RECORDS = "records"
_KAFKA_TOPICS = ("subscribe", "subscribePattern", "assign")
_KAFKA_OWN = ("kafka.group.id", "kafka.enable.auto.commit", "kafka.key.deserializer", "kafka.value.deserializer")
_DECIMAL = "DECIMAL(38,18)"


def check_live_sources(config: Config) -> None:
    """Refuses, before anything starts, what a live source cannot be told."""
    problems = [problem for stream in config.streams for problem in _problems(stream, config)]
    if problems:
        raise InputError(tuple(problems))


def _problems(stream: Stream, config: Config) -> list[Problem]:
    options, kind = dict(stream.source.options), stream.source.format

    def problem(message: str, hint: str) -> Problem:
        return Problem(config.path, None, f"stream {stream.name}: {message}", hint)

    found = []
    if kind == "synthetic":
        found.append(problem("a synthetic source is bounded", "use hemiola replay, or a live source"))
    if kind in FILE_FORMATS and options.get("latestFirst", "false").lower() == "true":
        found.append(problem("latestFirst would make all older files late", "remove the option"))
    if kind in _LINE_FORMATS and options.get(_RECORDS, "json") not in ("json", "csv"):
        found.append(problem(f"records: {options[_RECORDS]} is not known", "write records: json or records: csv"))
    if kind == "socket":
        found += [problem(f"a socket source needs the option {name}", f"options: {{{name}: …}}")
                  for name in ("host", "port") if name not in options]  # fmt: skip
    if kind == "rate":
        known = {"timestamp", "value"}
        found += [
            problem(f"the rate source has no column {column.name}", "its columns: timestamp TIMESTAMP, value BIGINT")
            for column in stream.schema
            if column.name.lower() not in known
        ]
    if kind == "kafka":
        if "kafka.bootstrap.servers" not in options:
            hint = "options: {kafka.bootstrap.servers: host:9092}"
            found.append(problem("a kafka source needs the option kafka.bootstrap.servers", hint))
        topics = [name for name in _KAFKA_TOPICS if name in options]
        if len(topics) != 1:
            found.append(problem("a kafka source needs one of subscribe, subscribePattern and assign", "subscribe: t"))
        own = [name for name in _KAFKA_OWN if name in options]
        found += [problem(f"{name} is set by Spark itself", "remove the option") for name in own]
        packages = dict(config.spark.conf)
        if not any("kafka" in packages.get(key, "") for key in ("spark.jars.packages", "spark.jars")):
            hint = "spark: {conf: {spark.jars.packages: org.apache.spark:spark-sql-kafka-0-10_2.13:<Spark's version>}}"
            found.append(problem("Spark's Kafka connector is not in spark.conf", hint))
    return found


def read_live(spark: SparkSession, stream: Stream) -> DataFrame:
    """The streaming DataFrame of the stream's source."""
    kind = stream.source.format
    options = {key: value for key, value in stream.source.options if key != _RECORDS}
    with wrap_spark_errors(f"stream {stream.name}"):
        if kind in FILE_FORMATS:
            reader = spark.readStream.format(kind).options(**_file_options(stream)).schema(_schema_text(stream))
            return _declared(reader.load(stream.source.path), stream)
        frame = spark.readStream.format(kind).options(**options).load()
        return _parsed(frame, stream) if kind in _LINE_FORMATS else _declared(frame, stream)


def read_files(spark: SparkSession, stream: Stream, paths: Sequence[str]) -> DataFrame:
    """Some files of a file source, read as ``read_live`` reads them."""
    with wrap_spark_errors(f"stream {stream.name}"):
        options = {key: value for key, value in _file_options(stream).items() if key != "maxFilesPerTrigger"}
        reader = spark.read.format(stream.source.format).options(**options).schema(_schema_text(stream))
        return _declared(reader.load(list(paths)), stream)


def _file_options(stream: Stream) -> dict[str, str]:
    options = {"maxFilesPerTrigger": "1000"}
    if stream.source.format != "parquet":
        options |= {"mode": "PERMISSIVE", "header": "true", "columnPruning": "false"}
    options |= dict(stream.source.options)
    if stream.source.format != "parquet":
        options["columnNameOfCorruptRecord"] = CORRUPT
    return options


def _schema_text(stream: Stream, text: bool | None = None) -> str:
    text = stream.source.format != "parquet" if text is None else text
    fields = [f"{_quoted(column.name)} {_spark_type(column.type, text)}" for column in stream.schema]
    return ", ".join([*fields, *([f"{CORRUPT} STRING"] if text else [])])


def _declared(frame: DataFrame, stream: Stream) -> DataFrame:
    columns = [F.col(_quoted(column.name)).alias(column.name) for column in stream.schema]
    if CORRUPT not in frame.columns:
        return frame.select(*columns)
    return frame.select(*columns, _needing_all(F.col(CORRUPT), columns).alias(CORRUPT))


def _parsed(frame: DataFrame, stream: Stream) -> DataFrame:
    """Text lines as records: what does not parse has its text in ``CORRUPT``."""
    kind = dict(stream.source.options).get(_RECORDS, "json")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    line = F.col("value").cast("string")
    parse = F.from_json if kind == "json" else F.from_csv
    record = parse(line, _schema_text(stream, text=True), options)
    parsed = frame.select(record.alias("r"), line.alias("line"))
    columns = [F.col(f"r.{_quoted(column.name)}").alias(column.name) for column in stream.schema]
    corrupt = F.when(F.col("r").isNull(), F.col("line")).otherwise(F.col(f"r.{CORRUPT}"))
    return parsed.select(*columns, corrupt.alias(CORRUPT))


def _needing_all(corrupt: Column, columns: Sequence[Column]) -> Column:
    """Spark parses only the columns a query reads: whether a record is malformed must not depend on that."""
    some_null = F.lit(False)
    for column in columns:
        some_null = some_null | column.isNull()
    return F.substr(corrupt, F.when(some_null, F.lit(1)).otherwise(F.lit(0)))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _spark_type(kind: Type, text: bool) -> str:
    """In text a bare DECIMAL would drop the fraction."""
    return _DECIMAL if text and kind is Type.DECIMAL else kind.value
