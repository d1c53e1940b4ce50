"""Records through the whole of ``synopses``: lifted, cut into pieces, shuffled, updated, probed, lowered."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from queries.functions import AGGREGATES as SIGNATURES
from queries.model import AggregateCall, Scalar
from queries.types import Type
from synopses.carriers import ARROW_TYPES
from synopses.components import Rows
from synopses.naive import Record
from synopses.preaggregate import INTERVAL, Preaggregation, preaggregate
from synopses.requirements import components_of
from synopses.stream_synopses import StreamSynopses, SynopsisSpec
from synopses.window_read import CounterRead, WindowRead

KEY = Scalar("k", Type.STRING, ("k",))


def value_of(type_: Type) -> Scalar:
    return Scalar("x", type_, ("x",))


def call(function: str, type_: Type, parameter: float | None = None) -> AggregateCall:
    """``function`` over the records' value; ROWS is COUNT(*)."""
    if function == "ROWS":
        return AggregateCall("COUNT", None, (), Type.BIGINT)
    parameters = () if parameter is None else (parameter,)
    return AggregateCall(function, value_of(type_), parameters, SIGNATURES[function].result(type_))


def need_for(calls: Sequence[AggregateCall], keys: tuple[Scalar, ...] = (KEY,)) -> Preaggregation:
    return Preaggregation(None, keys, components_of(tuple(calls)))


def partials(records: Sequence[Record], need: Preaggregation, type_: Type) -> pa.Table:
    table = pa.table(
        {
            INTERVAL: pa.array([record.interval for record in records], pa.int64()),
            "k": pa.array([record.group for record in records], pa.string()),
            "x": pa.array([record.value for record in records], ARROW_TYPES[type_]),
        }
    )
    return preaggregate(table, {KEY: "k", value_of(type_): "x"}, need)


class Fed:
    """Synopses of one grouping (and of the counters of the value) that have seen ``records``."""

    def __init__(
        self,
        records: Sequence[Record],
        calls: Sequence[AggregateCall],
        type_: Type,
        b: int,
        kinds: tuple[str, ...] | None = None,
        kind: str = "basic_interval",
        counters: bool = False,
        pieces: int = 1,
        seed: int = 0,
        intervals: int | None = None,
    ) -> None:
        self.type, self.calls = type_, tuple(calls)
        self.need = need_for(calls)
        self.counted = Preaggregation(None, (KEY, value_of(type_)), (Rows(),))
        specs = [SynopsisSpec(self.need, b, kind, kinds)]
        if counters:
            specs.append(SynopsisSpec(self.counted, b, kind))
        self.synopses = StreamSynopses(specs)
        shuffled = list(records)
        Random(seed).shuffle(shuffled)
        for piece in range(pieces):
            part = shuffled[piece::pieces]
            self.synopses.ingest(self.need, partials(part, self.need, type_))
            if counters:
                counted = [record for record in part if record.value is not None]
                self.synopses.ingest(self.counted, partials(counted, self.counted, type_))
        last = max((record.interval for record in records), default=-1)
        for interval in range(last + 1 if intervals is None else intervals):
            self.synopses.close(interval)

    def answers(self, windows: Sequence[int], age: int = 0) -> dict[tuple[int, AggregateCall], dict[Hashable, Any]]:
        found: dict[tuple[int, AggregateCall], dict[Hashable, Any]] = {}
        node = self.synopses.node(self.need)
        counting = len(self.synopses.specs) > 1
        counters = dict(self.counters(windows, age)) if counting else {}
        for n, merged in self.synopses.probe(self.need, windows, age):
            counted = {value_of(self.type): counters[n]} if counting else {}
            read = WindowRead.of(node, self.need.components, merged, counted)
            (keys,) = read.keys()
            for wanted in self.calls:
                column = read.aggregate(wanted)
                found[n, wanted] = dict(zip(keys.to_pylist(), column.to_pylist(), strict=True))
        return found

    def counters(self, windows: Sequence[int], age: int) -> list[tuple[int, CounterRead]]:
        node = self.synopses.node(self.counted)
        return [
            (n, CounterRead(node, merged.codes.copy(), merged.states[0][0].copy()))
            for n, merged in self.synopses.probe(self.counted, windows, age)
        ]
