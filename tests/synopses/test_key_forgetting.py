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


def partial_table(interval: int, keys: list[str], values: list[int]) -> pa.Table:
    """What pre-aggregation makes of one record per key: Rows, Total, Count, Greatest (value, seen)."""
    ones = [1] * len(keys)
    columns = [ones, values, ones, values, [True] * len(keys)]
    names = ["c0_0", "c1_0", "c2_0", "c3_0", "c3_1"]
    return pa.table({INTERVAL: [interval] * len(keys), "k0": keys, **dict(zip(names, columns, strict=True))})


@pytest.mark.parametrize("kinds", [("running",) * 3 + ("interval",), ("basic_interval",) * 4, ("interval",) * 4])
def test_memory_is_flat_over_ten_thousand_updates_of_ever_new_keys(kinds: tuple[str, ...]) -> None:
    """Each interval brings 8 keys never seen before or after, and one that always comes."""
    need, b, fresh = need_for(CALLS), 20, 8
    assert [type(component).__name__ for component in need.components] == ["Rows", "Total", "Count", "Greatest"]
    synopses = StreamSynopses([SynopsisSpec(need, b, kinds=kinds)])
    codes = entries = nbytes = 0
    for interval in range(10_000):
        keys = [f"{interval}/{number}" for number in range(fresh)]
        synopses.ingest(need, partial_table(interval, ["always", *keys], [interval + 1, *range(fresh)]))
        synopses.close(interval)
        if interval >= 1_000:
            codes = max(codes, synopses.tree.entries())
            entries = max(entries, synopses.entries)
            nbytes = max(nbytes, synopses.nbytes)
    live = b * (fresh + 1)
    assert codes <= 4096 + 2 * (fresh + 1)
    assert entries <= (2 * live if "interval" not in kinds else 14 * live) + codes
    assert nbytes <= 64 * (entries + 5 * 4096)
    ((_, merged),) = synopses.probe(need, [b])
    read = WindowRead.of(synopses.node(need), need.components, merged, {})
    total, most = (column.to_pylist() for column in map(read.aggregate, CALLS))
    found = dict(zip(read.keys()[0].to_pylist(), zip(total, most, strict=True), strict=True))
    assert found.pop("always") == (sum(range(9_981, 10_001)), 10_000)
    assert found == {f"{i}/{number}": (number, number) for i in range(9_980, 10_000) for number in range(fresh)}
