"""Top-k and quantiles over the groups of a window, found without taking the groups out, equal recomputation."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.language import parse_query
from queries.types import Type
from synopses.answer import answer
from synopses.components import Rows
from synopses.naive import Record, recompute, window
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate
from synopses.ranked import RankedGroups
from synopses.requirements import components_of, counted_arguments
from synopses.stream_synopses import StreamSynopses, SynopsisSpec
from synopses.window_read import CounterRead, WindowRead

INTERVALS = 9
SUMS = "SELECT g, SUM(x) AS s FROM r [WINDOW 9 s SLIDE 1 s] GROUP BY g"
COUNTS = "SELECT g, COUNT(x) AS s FROM r [WINDOW 9 s SLIDE 1 s] GROUP BY g"

values = st.one_of(st.integers(-3, 3), st.sampled_from([-(2**20), 2**20, 2**31, -(2**40), 2**62]))


@st.composite
def streams(draw: st.DrawFn, nulls: bool) -> list[Record]:
    """Many groups, most of which come in few intervals: at most of them a window finds nothing."""
    some = draw(st.lists(st.tuples(st.integers(0, INTERVALS - 1), st.integers(0, 300), values), max_size=80))
    records = [Record(*record) for record in some]
    width, sign = draw(st.integers(0, 150)), draw(st.sampled_from([1, 0, -1]))
    records += [Record(INTERVALS - 1, group, sign * (group % 7)) for group in range(width)]
    if nulls:
        records += [
            Record(draw(st.integers(0, INTERVALS - 1)), group, None) for group in draw(st.sets(st.integers(0, 300)))
        ]
    return records


def answered(records: list[Record], sql: str, n: int, kind: str) -> list[tuple[Any, ...]]:
    select = parse_query("q", sql, {"r": {"ts": Type.TIMESTAMP, "g": Type.INT, "x": Type.BIGINT}})
    need = Preaggregation(None, select.leaf.keys, components_of(select.leaf.aggregates))
    counted = [
        Preaggregation(None, (*need.keys, argument), (Rows(),))
        for argument in counted_arguments(select.leaf.aggregates)
    ]
    specs = [SynopsisSpec(need, INTERVALS, kind), *(SynopsisSpec(other, INTERVALS) for other in counted)]
    synopses = StreamSynopses(specs)
    table = pa.table(
        {
            INTERVAL: pa.array([record.interval for record in records], pa.int64()),
            "g": pa.array([record.group for record in records], pa.int64()),
            "x": pa.array([record.value for record in records], pa.int64()),
        }
    )
    for wanted in (need, *counted):
        columns = {value: value.columns[0] for value in wanted.values}  # type: ignore[union-attr]
        synopses.ingest(wanted, preaggregate(table, columns, wanted))
    for interval in range(INTERVALS):
        synopses.close(interval)
    counters = {}
    for other in counted:
        ((_, merged),) = synopses.probe(other, [n])
        counters[other.keys[-1]] = CounterRead(synopses.node(other), merged.codes, merged.states[0][0])
    ((_, merged),) = synopses.probe(need, [n])
    read = WindowRead.of(synopses.node(need), need.components, merged, counters)
    return [tuple(row.values()) for row in answer(select, read).to_pylist()]


def aggregated(records: list[Record], function: str, n: int) -> dict[Any, Any]:
    return {group: recompute(function, found) for group, found in window(records, INTERVALS, n).items()}


@pytest.mark.parametrize("kind", ["running", "basic_interval"])
@given(data=st.data(), nulls=st.booleans(), n=st.integers(1, INTERVALS), k=st.integers(1, 12))
def test_the_first_of_an_order(kind: str, data: st.DataObject, nulls: bool, n: int, k: int) -> None:
    records = data.draw(streams(nulls))
    for inner, function in ((SUMS, "SUM"), (COUNTS, "COUNT")):
        groups = aggregated(records, function, n)
        for descending in (True, False):
            found = answered(records, f"{inner} ORDER BY s {'DESC' if descending else 'ASC'} LIMIT {k}", n, kind)
            sign = -1 if descending else 1
            nulls_last = 1 if descending else -1
            ordered = sorted(
                groups.items(), key=lambda pair: (nulls_last * (pair[1] is None), sign * (pair[1] or 0), pair[0])
            )
            assert [(group, None if s is None else int(s)) for group, s in found] == ordered[:k]


@pytest.mark.parametrize("kind", ["running", "basic_interval"])
@given(data=st.data(), nulls=st.booleans(), n=st.integers(1, INTERVALS), q=st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
def test_quantiles_over_the_groups(kind: str, data: st.DataObject, nulls: bool, n: int, q: float) -> None:
    records = data.draw(streams(nulls))
    for inner, function in ((SUMS, "SUM"), (COUNTS, "COUNT")):
        sums = list(aggregated(records, function, n).values())
        outputs = f"QUANTILE(s, {q}) AS d, QUANTILE_CONT(s, {q}) AS c, QUANTILE(s, 0.3) AS e"
        ((discrete, continuous, other),) = answered(records, f"SELECT {outputs} FROM ({inner})", n, kind)
        assert discrete == recompute("QUANTILE", sums, q)
        assert other == recompute("QUANTILE", sums, 0.3)
        assert continuous == pytest.approx(recompute("QUANTILE_CONT", sums, q))


@pytest.mark.parametrize("sign", [1, 0, -1])
def test_groups_that_left_the_window_are_not_there(sign: int) -> None:
    """Their sum is zero, which is more than that of others."""
    records = [Record(0, group, 1000) for group in range(100)]
    records += [Record(5, group, sign * group) for group in range(100, 200)]
    found = answered(records, f"{SUMS} ORDER BY s DESC LIMIT 3", 6, "running")
    assert (
        found
        == {
            1: [(199, 199), (198, 198), (197, 197)],
            0: [(100, 0), (101, 0), (102, 0)],
            -1: [(100, -100), (101, -101), (102, -102)],
        }[sign]
    )
    ((median,),) = answered(records, f"SELECT QUANTILE(s, 0.5) AS q FROM ({SUMS})", 6, "running")
    assert median == {1: 149, 0: 0, -1: -150}[sign]


def test_what_else_is_asked_of_the_first() -> None:
    """Counters know of all groups, also of those that are not among the first."""
    records = [Record(interval, group, group * interval) for group in range(200) for interval in range(1, 6)]
    records += [Record(7, group, 1) for group in range(0, 200, 3)]
    sql = SUMS.replace("AS s", "AS s, COUNT(DISTINCT x) AS d, QUANTILE(x, 0.5) AS q")
    found = answered(records, f"{sql} ORDER BY s DESC LIMIT 10", INTERVALS, "running")
    groups = window(records, INTERVALS, INTERVALS)
    assert [group for group, *_ in found] == list(range(199, 189, -1))
    for group, total, distinct, median in found:
        assert total == recompute("SUM", groups[group])
        assert distinct == recompute("COUNT_DISTINCT", groups[group])
        assert median == recompute("QUANTILE", groups[group], 0.5)


def test_the_short_way_is_taken() -> None:
    """Where nothing is NULL; else the tests above would say little."""
    taken: list[bool] = []

    def noted(*arguments: Any) -> Any:
        groups = of(*arguments)
        taken.append(groups is not None)
        return groups

    of = RankedGroups.of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RankedGroups, "of", staticmethod(noted))
        for value in (5, None):
            records = [Record(0, group, value) for group in range(100)]
            answered(records, f"SELECT QUANTILE(s, 0.5) AS d FROM ({SUMS})", 9, "running")
    assert taken == [True, False]
