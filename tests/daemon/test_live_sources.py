"""What a live source cannot be told is refused before anything starts, with the remedy."""

from __future__ import annotations

import pytest

from hemiola import InputError, validate
from spark_jobs.live_sources import check_live_sources

CONFIG = """
streams:
  s:
    source: {SOURCE}
    schema: timestamp TIMESTAMP, value BIGINT
    time: timestamp
queries:
  - {name: n, sql: 'SELECT COUNT(*) AS n FROM s [WINDOW 2 s SLIDE 1 s]'}
SPARK
"""
KAFKA = "format: kafka, options: {kafka.bootstrap.servers: 'broker:9092', subscribe: t"
CONNECTOR = "spark: {conf: {spark.jars.packages: 'org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0'}}"


def checked(tmp_path, source: str, spark: str = "") -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.replace("SOURCE", source).replace("SPARK", spark))
    check_live_sources(validate(path))


@pytest.mark.parametrize(
    "source",
    ["format: rate, options: {rowsPerSecond: 5}", "format: socket, options: {host: localhost, port: 9}",
     "format: parquet, path: data", KAFKA + "}"],
)  # fmt: skip
def test_good_sources(tmp_path, source):
    checked(tmp_path, source, CONNECTOR)


@pytest.mark.parametrize(
    ("source", "spark", "said"),
    [
        ("format: socket, options: {host: localhost}", "", "needs the option port"),
        ("format: socket, options: {host: h, port: 9, records: xml}", "", "records: xml"),
        ("format: json, path: data, options: {latestFirst: true}", "", "latestFirst"),
        ("format: kafka, options: {subscribe: t}", CONNECTOR, "bootstrap.servers"),
        ("format: kafka, options: {kafka.bootstrap.servers: b}", CONNECTOR, "subscribe"),
        (KAFKA + ", assign: '{}'}", CONNECTOR, "one of subscribe"),
        (KAFKA + ", kafka.group.id: g}", CONNECTOR, "kafka.group.id"),
        (KAFKA + "}", "", "connector"),
    ],
)
def test_wrong_sources(tmp_path, source, spark, said):
    with pytest.raises(InputError, match=said):
        checked(tmp_path, source, spark)
