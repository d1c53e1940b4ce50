"""Durable partials and event time, without a JVM: what is read back, what survives, when intervals close."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from queries.errors import RunError
from queries.model import Column, Scalar, Source, Stream
from queries.types import Type
from synopses.components import Count, Rows
from synopses.event_time import EventTime, Known
from synopses.partials_store import BatchHeader, PartialsStore, StoredBatch, Totals, batches_to_remove, describe_need
from synopses.preaggregate import Preaggregation

SECOND = 1_000_000
SRC = Scalar("`src`", Type.STRING, ("src",))
LENGTH = Scalar("`length`", Type.BIGINT, ("length",))
BOTH = Preaggregation(None, (SRC,), (Rows(), Count(LENGTH)))
COUNTS = Preaggregation(None, (SRC,), (Count(LENGTH),))
OTHER = Preaggregation(None, (), (Rows(),))
TABLE = pa.table({"interval": [3, 4], "k0": ["a", "b"], "c0_0": [5, 6], "c1_0": [7, 8]})


def stored(batch: int, **facts: object) -> StoredBatch:
    header = BatchHeader(batch, needs=(describe_need(BOTH),), first=3, last=4, totals=Totals(10, 1, 2), **facts)
    rejects = [pa.table({"reason": ["late"], "record": ["{}"]})]
    return StoredBatch(header, [(BOTH, TABLE)], rejects)


def test_what_was_written_is_there_in_another_process(tmp_path):
    PartialsStore(tmp_path).write(stored(7, watermark=5 * SECOND))
    store = PartialsStore(tmp_path)
    assert store.headers() == [stored(7, watermark=5 * SECOND).header]
    assert store.read(7, [BOTH])[BOTH] == [TABLE]
    assert store.rejects(7)[0].to_pylist() == [{"reason": "late", "record": "{}"}]
    assert 7 in store and 8 not in store


def test_fewer_components_are_read_from_more(tmp_path):
    store = PartialsStore(tmp_path)
    store.write(stored(0))
    fewer = pa.table({"interval": [3, 4], "k0": ["a", "b"], "c0_0": [7, 8]})
    assert store.read(0, [COUNTS, OTHER]) == {COUNTS: [fewer]}
    assert store.covers(0, COUNTS) and not store.covers(0, OTHER)


def test_a_batch_again_replaces_itself_and_a_torn_one_is_not_there(tmp_path):
    store = PartialsStore(tmp_path)
    store.write(stored(1))
    store.write(stored(1, watermark=9))
    (tmp_path / "000000000002.arrow.tmp").write_bytes(b"torn")
    again = PartialsStore(tmp_path)
    assert [header.watermark for header in again.headers()] == [9]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_foreign_file_or_version_is_refused(tmp_path):
    (tmp_path / "000000000001.arrow").write_bytes(b"ARROW1 no")
    with pytest.raises(RunError, match="not a file of partial aggregates"):
        PartialsStore(tmp_path)


def test_the_newest_batch_is_never_removed():
    headers = [BatchHeader(number, first=number, last=number) for number in range(5)]
    assert [header.batch for header in batches_to_remove(headers, 3)] == [0, 1, 2]
    assert [header.batch for header in batches_to_remove(headers, 99)] == [0, 1, 2, 3]


def test_needs_are_described_alike_in_every_process():
    assert json.loads(describe_need(COUNTS))["components"] == json.loads(describe_need(BOTH))["components"][1:]


def stream(**options: object) -> Stream:
    schema = (Column("ts", Type.TIMESTAMP),)
    return Stream("s", Source("parquet", "data"), schema, "ts", SECOND, **options)


def test_the_watermark_follows_the_newest_record_at_the_lateness_and_never_goes_back():
    time = EventTime(stream(lateness=2 * SECOND), Known(), 0)
    for batch, newest, closed in ((0, 10, None), (1, 7, 8), (2, None, 8), (3, 12, 8), (4, 12, 10)):
        assert time.begin(batch) == closed
        time.end(batch, time.after(None if newest is None else newest * SECOND), 0)
    assert time.known == Known(12 * SECOND, 10 * SECOND)


def test_idle_time_moves_the_watermark_only_when_nothing_is_on_its_way():
    time = EventTime(stream(idle_timeout=5 * SECOND), Known(), 0)
    time.begin(0)
    time.end(0, time.after(100 * SECOND), 1_000 * SECOND)
    assert time.idle(None, 1_020 * SECOND) is None, "the batch is not ingested yet"
    assert time.idle(0, 1_004 * SECOND) == 100 * SECOND
    assert time.idle(0, 1_006 * SECOND) == 106 * SECOND
    assert time.idle(0, 900 * SECOND) == 106 * SECOND, "a clock that was set back"
    assert time.begin(1) == 106
    assert time.idle(0, 2_000 * SECOND) is None, "a batch is being read"
    time.end(1, None, 2_000 * SECOND)
    assert time.idle(0, 2_000 * SECOND) == 1_100 * SECOND
