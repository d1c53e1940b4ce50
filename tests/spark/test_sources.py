"""Spark's rim: every bounded source gives the declared columns, and what is wrong is said in one line."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from queries.errors import RunError
from queries.model import Column, Source, SparkSettings, Stream
from queries.synthetic import SyntheticOptions
from queries.types import Type
from spark_jobs.session import open_session, spark_session, wrap_spark_errors
from spark_jobs.sources import CORRUPT, TimeBounds, read_bounded, time_bounds
from spark_jobs.synthetic import packets

SECOND = 1_000_000
NOON = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z
SCHEMA = (
    Column("ts", Type.TIMESTAMP),
    Column("src", Type.STRING),
    Column("port", Type.INT),
    Column("length", Type.BIGINT),
)
PACKET_SCHEMA = (
    Column("ts", Type.TIMESTAMP),
    Column("src", Type.STRING),
    Column("dst", Type.STRING),
    Column("protocol", Type.STRING),
    Column("port", Type.INT),
    Column("length", Type.BIGINT),
)


def stream(
    source_format: str, path: Path | str | None = None, schema: tuple[Column, ...] = SCHEMA, **options: str
) -> Stream:
    source = Source(source_format, None if path is None else str(path), tuple(options.items()))
    return Stream("packets", source, schema, time="ts", interval=SECOND)


def table(zone: str | None = "UTC", **replaced: Any) -> pa.Table:
    columns = {
        "length": pa.array([40, 1500, None], pa.int64()),
        "src": pa.array(["a", "b", None]),
        "ts": pa.array([NOON, NOON + 1, NOON + 5 * SECOND], pa.timestamp("us", zone)),
        "port": pa.array([80, 443, 53], pa.int32()),
        "unused": pa.array([1.5, 2.5, 3.5]),
    }
    return pa.table(columns | replaced)


def rows(records: DataFrame, *order: str) -> list[tuple[Any, ...]]:
    found = records.withColumn("ts", F.unix_micros("ts")).orderBy(*(order or ("ts",))).toArrow()
    return list(zip(*found.to_pydict().values(), strict=True))


WHOLE = [(NOON, "a", 80, 40), (NOON + 1, "b", 443, 1500), (NOON + 5 * SECOND, None, 53, None)]


@pytest.mark.parametrize("zone", ["UTC", None], ids=["timestamp", "timestamp_ntz"])
def test_parquet_file_folder_and_glob(spark: SparkSession, tmp_path: Path, zone: str | None) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    pq.write_table(table(zone).slice(0, 2), folder / "one.parquet")
    pq.write_table(table(zone).slice(2), folder / "two.parquet")
    for path in (folder, tmp_path / "a*" / "*.parquet"):
        read = read_bounded(spark, stream("parquet", path))
        assert read.columns == ["ts", "src", "port", "length"]
        assert rows(read) == WHOLE
    assert rows(read_bounded(spark, stream("parquet", folder / "one.parquet"))) == WHOLE[:2]
    part = read_bounded(spark, stream("parquet", folder), NOON + 1, NOON + 5 * SECOND)
    assert rows(part) == WHOLE[1:2]


def test_time_bounds(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array([None, NOON + 7, NOON - 3], pa.timestamp("us", "UTC"))
    pq.write_table(table(ts=times), tmp_path / "x.parquet")
    packets_in = stream("parquet", tmp_path / "x.parquet")
    assert time_bounds(read_bounded(spark, packets_in), packets_in) == TimeBounds(NOON - 3, NOON + 7, 3, 1)
    pq.write_table(table().slice(0, 0), tmp_path / "x.parquet")
    assert time_bounds(read_bounded(spark, packets_in), packets_in) == TimeBounds(None, None, 0, 0)


def test_csv_columns_go_by_header_and_malformed_records_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "packets.csv"
    file.write_text(
        "src,more,ts,length,port\n"
        "a,x,2026-01-01T12:00:00Z,40,80\n"
        "b,x,2026-01-01T12:00:01Z,many,443\n"
        "c,x,yesterday,50,22\n"
        "d,x,2026-01-01T12:00:03.000001Z,,53\n"
        "e,x,2026-01-01T12:00:04Z,1,1,one too many\n"
    )
    packets_in = stream("csv", file)
    read = read_bounded(spark, packets_in)
    good = read.where(F.col(CORRUPT).isNull()).drop(CORRUPT)
    assert rows(good) == [(NOON, "a", 80, 40), (NOON + 3 * SECOND + 1, "d", 53, None)]
    bad = read.where(F.col(CORRUPT).isNotNull())
    assert sorted(bad.select(CORRUPT).toArrow().to_pydict()[CORRUPT]) == [
        "b,x,2026-01-01T12:00:01Z,many,443",
        "c,x,yesterday,50,22",
        "e,x,2026-01-01T12:00:04Z,1,1,one too many",
    ]
    assert time_bounds(read, packets_in) == TimeBounds(NOON, NOON + 3 * SECOND + 1, 2, 0, malformed=3)


@pytest.mark.parametrize("source_format", ["csv", "json"])
def test_whether_a_record_is_malformed_does_not_depend_on_the_columns_read(
    spark: SparkSession, tmp_path: Path, source_format: str
) -> None:
    text = {
        "csv": "ts,src,port,length\n2026-01-01T12:00:00Z,a,80,many\n2026-01-01T12:00:00Z,b,80,2\n",
        "json": '{"ts": "2026-01-01T12:00:00Z", "src": "a", "port": 80, "length": "many"}\n'
        '{"ts": "2026-01-01T12:00:00Z", "src": "b", "port": 80, "length": 2}\n',
    }
    (tmp_path / "records").write_text(text[source_format])
    read = read_bounded(spark, stream(source_format, tmp_path / "records"))
    assert [row.src for row in read.where(F.col(CORRUPT).isNull()).select("src").collect()] == ["b"]


def test_csv_without_header_goes_by_position(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("2026-01-01T12:00:00Z;a;80;40\n")
    read = read_bounded(spark, stream("csv", tmp_path / "x.csv", header="false", sep=";"))
    assert rows(read) == [(*WHOLE[0], None)]


def test_json_lines(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '{"src": "a", "port": 80, "length": 40, "ts": "2026-01-01T12:00:00Z", "more": [1]}\n'
        '{"ts": "2026-01-01T14:00:01+02:00"}\n'
        '{"ts": "2026-01-01T12:0\n'
    )
    packets_in = stream("json", tmp_path)
    read = read_bounded(spark, packets_in)
    good = read.where(F.col(CORRUPT).isNull()).drop(CORRUPT)
    assert rows(good) == [WHOLE[0], (NOON + SECOND, None, None, None)]
    assert time_bounds(read, packets_in) == TimeBounds(NOON, NOON + SECOND, 2, 0, malformed=1)


def test_fractions_of_a_decimal_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("ts,price\n2026-01-01T12:00:00Z,12.34\n")
    priced = (Column("ts", Type.TIMESTAMP), Column("price", Type.DECIMAL))
    [row] = read_bounded(spark, stream("csv", tmp_path / "x.csv", priced)).collect()
    assert float(row.price) == 12.34


@pytest.mark.parametrize("source_format", ["parquet", "csv", "json"])
def test_nothing_there(spark: SparkSession, tmp_path: Path, source_format: str) -> None:
    with pytest.raises(RunError, match=r"stream packets: there is nothing at .*/nowhere\n  hint: check source.path"):
        read_bounded(spark, stream(source_format, tmp_path / "nowhere"))
    with pytest.raises(RunError, match="there is nothing at"):
        read_bounded(spark, stream(source_format, tmp_path / "*.gone"))
    (tmp_path / "empty" / "below").mkdir(parents=True)
    (tmp_path / "empty" / "_SUCCESS").touch()
    with pytest.raises(RunError, match=r"stream packets: there is no data file in .*/empty"):
        read_bounded(spark, stream(source_format, tmp_path / "empty"))


def test_another_type_in_the_files(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(length=pa.array(["1", "2", "3"])), tmp_path / "x.parquet")
    with pytest.raises(RunError, match=r"column length is declared BIGINT, but .*x.parquet has STRING"):
        read_bounded(spark, stream("parquet", tmp_path / "x.parquet"))


def test_a_column_not_in_the_files(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table().drop_columns(["port"]), tmp_path / "x.parquet")
    with pytest.raises(RunError, match=r"column port is declared, but .*x.parquet has length, src, ts, unused"):
        read_bounded(spark, stream("parquet", tmp_path / "x.parquet"))
    (tmp_path / "x.csv").write_text("ts,src,length\n")
    with pytest.raises(RunError, match=r"column port is declared, but .*x.csv has ts, src, length"):
        read_bounded(spark, stream("csv", tmp_path / "x.csv"))


def test_a_file_that_is_not_what_it_says(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("this is no parquet file")
    with pytest.raises(RunError, match=r"stream packets: .*x.parquet") as raised:
        read_bounded(spark, stream("parquet", tmp_path / "x.parquet"))
    assert raised.value.hint == "check that the file is whole and of the format the config says"


def test_live_sources_are_for_run(spark: SparkSession) -> None:
    with pytest.raises(RunError, match="a kafka source has no end and needs `hemiola run`"):
        read_bounded(spark, stream("kafka", subscribe="packets"))


BURSTING = SyntheticOptions(seconds=30, rate=7, start=NOON, burst_at=10, burst_seconds=5, burst_factor=4, seed=3)


def test_synthetic_packets_do_not_depend_on_how_time_is_cut(spark: SparkSession) -> None:
    everything = sorted(packets(spark, BURSTING).collect())
    assert len(everything) == 30 * 7 + 5 * 21
    cuts = [NOON - 9, NOON + 1, NOON + 10 * SECOND, NOON + 11_234_567, NOON + 14_999_999, BURSTING.until]
    parts = [packets(spark, BURSTING, start, end).repartition(3) for start, end in pairwise(cuts)]
    assert sorted(row for part in parts for row in part.collect()) == everything
    other_seed = SyntheticOptions(seconds=30, rate=7, start=NOON, seed=4)
    assert set(packets(spark, other_seed).collect()).isdisjoint(everything)


def test_synthetic_burst_comes_from_one_source(spark: SparkSession) -> None:
    made = packets(spark, BURSTING)
    inside = made.where((F.unix_micros("ts") >= NOON + 10 * SECOND) & (F.unix_micros("ts") < NOON + 15 * SECOND))
    assert inside.count() == 5 * 7 * 4
    top = inside.groupBy("src", "dst").count().orderBy(F.desc("count")).first()
    assert top is not None
    assert top["count"] >= 5 * 21
    assert time_bounds(made, stream("synthetic")).records == made.count()


def test_synthetic_values(spark: SparkSession) -> None:
    options = SyntheticOptions(seconds=20, rate=1_000, sources=300, destinations=2, ports=20, protocols=4)
    facts = packets(spark, options).agg(
        F.min("length"), F.max("length"), F.count_distinct("src"), F.count_distinct("dst"),
        F.count_distinct("port"), F.count_distinct("protocol"), F.count_if(F.col("src").rlike(r"^10\.0\.[01]\.\d+$")),
    )  # fmt: skip
    least, most, sources, destinations, ports, protocols, addresses = facts.collect()[0]
    assert (least, most) == (40, 1500)
    assert (destinations, ports, protocols, addresses) == (2, 20, 4, 20_000)
    assert 290 <= sources <= 300


def test_synthetic_stream(spark: SparkSession) -> None:
    made = stream("synthetic", None, PACKET_SCHEMA, seconds="10", rate="50", start="2026-01-01T13:00:00+01:00")
    assert read_bounded(spark, made).count() == 500
    bounds = time_bounds(read_bounded(spark, made), made)
    assert bounds.oldest_us is not None and NOON <= bounds.oldest_us < NOON + 20_000
    second = read_bounded(spark, made, NOON + SECOND, NOON + 2 * SECOND)
    assert second.columns == [column.name for column in PACKET_SCHEMA]
    assert second.count() == 50


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("SELECT idd FROM range(3)", "`idd` cannot be resolved", "schema"),
        ("SELECT CAST(id || 'x' AS INT) FROM range(3)", 'cannot be cast to "INT" because it is malformed.', "TRY_CAST"),
        ("SELECT 1 DIV (id - id) FROM range(3)", "Division by zero.", "NULLIF"),
        ("SELECT 9223372036854775807 + id FROM range(3)", "overflow.", "wider"),
    ],
)
def test_errors_of_spark_are_one_line_and_a_hint(spark: SparkSession, sql: str, message: str, hint: str) -> None:
    with pytest.raises(RunError) as raised, wrap_spark_errors("query q"):
        spark.sql(sql).toArrow()
    assert raised.value.message.startswith("query q: ")
    assert message in raised.value.message
    assert len(raised.value.message.splitlines()) == 1
    assert raised.value.hint is not None
    assert hint in raised.value.hint


def test_sessions_share_the_running_spark_and_leave_it_running(spark: SparkSession) -> None:
    settings = SparkSettings("local[2]", (("spark.sql.shuffle.partitions", "7"),))
    with spark_session(settings) as session:
        assert session.conf.get("spark.sql.shuffle.partitions") == "7"
        assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
        assert session.range(3).count() == 3
    assert spark.range(3).count() == 3


def test_windows_are_cut_in_utc() -> None:
    with pytest.raises(RunError, match=r"spark\.sql\.session\.timeZone to Europe/Berlin"):
        open_session(SparkSettings("local[2]", (("spark.sql.session.timeZone", "Europe/Berlin"),)))


def test_without_java_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from spark_jobs import session

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(
        RunError, match=r"Java 17 or newer, and none was found \(.*does not run\)\n  hint: run `make setup`"
    ):
        session.find_java_home()


def test_session_is_in_utc(spark: SparkSession) -> None:
    noon = spark.sql("SELECT unix_micros(TIMESTAMP '2026-01-01 12:00:00') AS us").collect()[0].us
    assert noon == NOON == int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()) * SECOND
