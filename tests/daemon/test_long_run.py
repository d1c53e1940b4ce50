"""What would grow from batch to batch, in Spark and on disk, does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import spark_jobs.file_source_log as file_source_log
import spark_jobs.ingest as ingest
from queries.model import Source, Stream
from spark_jobs.file_source_log import max_file_age_ms
from tests.daemon.daemon_process import second
from tests.daemon.daemon_thread import ThreadDaemon
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

SQL = "SELECT src, SUM(length) AS bytes FROM packets [WINDOW 5 s SLIDE 1 s] GROUP BY src"
QUERIES = f"  - {{name: by_src, sql: '{SQL}'}}\n"


def read(daemon: ThreadDaemon, records: int) -> None:
    daemon.wait(f"{records} records", lambda: daemon.status()["streams"][0]["records"] == records)


def test_spark_compiles_nothing_new_for_another_batch(tmp_path, spark):
    """A batch has its own bound of what is late. As a literal in a plan it had Spark compile and load classes for every
    batch: 8 MB a minute."""
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    daemon = ThreadDaemon(tmp_path, QUERIES).use(spark)
    daemon.start()
    counts = []
    for number in range(8):
        daemon.feed(second(number))
        read(daemon, 20 * (number + 1))
        counts.append(compiled.getCount())
    assert daemon.stop() == 0
    assert counts[-1] == counts[2]


def test_files_too_old_to_be_looked_for_are_forgotten_and_not_read_again(tmp_path, spark, monkeypatch):
    spark.conf.set("spark.sql.streaming.fileSource.log.compactInterval", 3)
    monkeypatch.setattr(ingest, "_FORGET_EVERY", 1)
    monkeypatch.setattr(file_source_log, "_RECENT", 1)
    daemon = ThreadDaemon(tmp_path, QUERIES).use(spark)
    daemon.config.write_text(daemon.config.read_text().replace("path: data", "path: data, options: {maxFileAge: 3h}"))
    log = tmp_path / "state" / "checkpoints" / "packets" / "sources" / "0"

    def feed(number: int) -> None:
        """A file an hour younger than the one before."""
        path = tmp_path / "data" / f"{number:06d}.parquet"
        pq.write_table(second(number), path.with_name(f".{path.name}"))
        os.utime(path.with_name(f".{path.name}"), (0, 1_700_000_000 + 3600 * number))
        path.with_name(f".{path.name}").rename(path)
        read(daemon, 20 * (number + 1))

    daemon.start()
    for number in range(15):
        feed(number)
    assert daemon.stop() == 0
    newest = max(log.glob("*.compact"), key=lambda path: int(path.stem))
    files = [json.loads(line)["path"] for line in newest.read_text().splitlines()[1:]]
    assert [Path(path).name for path in files] == [f"{number:06d}.parquet" for number in range(11, 15)]

    daemon.start()
    for number in range(15, 20):
        feed(number)
    daemon.wait("the last answer", lambda: daemon.ends("by_src")[-1:] == [19])
    assert daemon.stop() == 0
    assert differences(tmp_path / "results.db", daemon.raw(), [Case("by_src", SQL)]) == []
    assert daemon.rows("SELECT count(*) FROM hemiola_rejects") == [(0,)]


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [(None, 7 * 86_400_000), ("90", 90), ("90 s", 90_000), ("5m", 300_000), ("2H", 7_200_000), ("a while", None)],
)
def test_max_file_age(written, milliseconds):
    options = () if written is None else (("maxfileage", written),)
    assert max_file_age_ms(Stream("s", Source("parquet", "data", options), (), "ts", 1_000_000)) == milliseconds
