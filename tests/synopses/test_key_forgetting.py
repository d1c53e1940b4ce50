"""Keys that vanish from every interval are forgotten, and those that stay keep their answers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from queries.types import Type
from synopses.preaggregate import INTERVAL
from synopses.stream_synopses import StreamSynopses, SynopsisSpec
from synopses.window_read import WindowRead
from tests.synopses.feeding import call, need_for

CALLS = (call("SUM", Type.BIGINT), call("MAX", Type.BIGINT))


def partial_table(intervals: range, fresh: int) -> pa.Table:
    """What pre-aggregation makes of one record per key: Rows, Total, Count, Greatest (value, seen)."""
    rows = [(i, "always", i + 1) for i in intervals]
    rows += [(i, f"{i}/{number}", number) for i in intervals for number in range(fresh)]
    interval, keys, values = (list(column) for column in zip(*rows, strict=True))
    ones = [1] * len(keys)
    columns = [ones, values, ones, values, [True] * len(keys)]
    names = ["c0_0", "c1_0", "c2_0", "c3_0", "c3_1"]
    return pa.table({INTERVAL: interval, "k0": keys, **dict(zip(names, columns, strict=True))})


MIXED = ("running", "basic_interval", "running", "interval")


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("basic_interval",) * 4, MIXED], ids=["basic interval", "all three"])
def test_memory_is_flat_over_ten_thousand_updates_of_ever_new_keys(kinds: tuple[str, ...]) -> None:
    """Each interval brings 8 keys never seen before or after, and one that always comes; 40 intervals per batch."""
    need, b, fresh, batch = need_for(CALLS), 20, 8, 40
    assert [type(component).__name__ for component in need.components] == ["Rows", "Total", "Count", "Greatest"]
    synopses = StreamSynopses([SynopsisSpec(need, b, kinds=kinds)])
    codes = entries = nbytes = 0
    for interval in range(10_000):
        if interval % batch == 0:
            synopses.ingest(need, partial_table(range(interval, interval + batch), fresh))
        synopses.close(interval)
        codes = max(codes, synopses.tree.entries())
        entries = max(entries, synopses.entries)
        nbytes = max(nbytes, synopses.nbytes)
    live = b * (fresh + 1)
    assert codes <= 4096 + 2 * batch * (fresh + 1)
    assert entries <= (live if kinds != MIXED else 10 * live + 2 * codes)
    assert nbytes <= 64 * (entries + 4 * 4096)
    ((_, merged),) = synopses.probe(need, [b])
    read = WindowRead.of(synopses.node(need), need.components, merged, {})
    total, most = (column.to_pylist() for column in map(read.aggregate, CALLS))
    found = dict(zip(read.keys()[0].to_pylist(), zip(total, most, strict=True), strict=True))
    assert found.pop("always") == (sum(range(9_981, 10_001)), 10_000)
    assert found == {f"{i}/{number}": (number, number) for i in range(9_980, 10_000) for number in range(fresh)}
