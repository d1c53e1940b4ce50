"""bytewax: one dataflow with a ``SlidingWindower`` per query, over records already in Python's memory.

A window's state is one dictionary of sums by key: with one key per group its event clock would be one per group too,
and nothing would say when all groups of a window are in. The clock's idea of now stands still, as in any replay:
otherwise records would be late as soon as the replay is slower than the stream was. Dataflows run one after the other:
they are Python, of which only one thread runs at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from math import ceil
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import pyarrow as pa
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from benchmarks.peers.streams import ByEnd
from benchmarks.yardstick import Question

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Record = tuple[datetime, Any, int]
"""Time, key (a tuple if there are several), length."""
State = dict[Any, int]


class Bytewax:
    name = "bytewax"

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._records: dict[tuple[str, ...], list[Record]] = {}

    def prepare(self, asked: Sequence[Question]) -> None:
        """Records as Python values; not counted."""
        self._records = {}
        times, lengths = self._rows["ts"].to_pylist(), self._rows["length"].to_pylist()
        for grouping in {question.keys for question in asked}:
            keys = [self._rows[key].to_pylist() for key in grouping]
            found = keys[0] if len(keys) == 1 else list(zip(*keys, strict=True))
            self._records[grouping] = list(zip(times, found, lengths, strict=True))

    def run(self, asked: Sequence[Question]) -> list[ByEnd]:
        return [self._run(question) for question in asked]

    def _run(self, question: Question) -> ByEnd:
        windower = win.SlidingWindower(timedelta(seconds=question.window), timedelta(seconds=question.slide), EPOCH)
        clock = win.EventClock(lambda record: record[0], timedelta(0), now_getter=lambda: EPOCH)
        found: list[tuple[str, tuple[int, list[tuple[Any, ...]]]]] = []
        flow = Dataflow("replay")
        records = op.input("records", flow, TestingSource(self._records[question.keys], batch_size=1000))
        keyed = op.key_on("all", records, lambda record: "all")
        windows = win.fold_window("sums", keyed, clock, windower, dict, _added, _merged, ordered=False)
        answer = _top if question.top else _quantile
        several = len(question.keys) > 1
        answers = op.map_value("answer", windows.down, lambda window: (window[0], answer(window[1], several)))
        op.output("out", answers, TestingSink(found))
        run_main(flow)
        return {number * question.slide + question.window: rows for _, (number, rows) in found}


def _added(sums: State, record: Record) -> State:
    key = record[1]
    sums[key] = sums.get(key, 0) + record[2]
    return sums


def _merged(one: State, other: State) -> State:
    for key, total in other.items():
        one[key] = one.get(key, 0) + total
    return one


def _top(sums: State, several: bool) -> list[tuple[Any, ...]]:
    best = nsmallest(10, sums.items(), key=lambda item: (-item[1], item[0]))
    return [(*key, total) if several else (key, total) for key, total in best]


def _quantile(sums: State, several: bool) -> list[tuple[Any, ...]]:
    ordered = sorted(sums.values())
    return [(ordered[ceil(0.9 * len(ordered)) - 1],)]
