"""One joint execution: queries of one group refreshed together from one probe of each synopsis they read.

Windows are visited from short to long, so that a basic interval synopsis is scanned once for all of them (CS2),
and queries over the same window share one read (CS1, CS3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from queries.model import Value
from sharing.plan import QueryPlan
from synopses.aggregates.items import ListRead
from synopses.answer import answer
from synopses.components import Rows
from synopses.merged import Merged
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import StreamSynopses
from synopses.topk_lists import ListedItems
from synopses.window_read import CounterRead, WindowRead


def execute(synopses: StreamSynopses, plans: Sequence[QueryPlan], age: int = 0) -> dict[str, pa.Table]:
    """The answers of these queries by name, over windows that end ``age`` intervals before the newest update."""
    answers: dict[str, pa.Table] = {}
    for base in dict.fromkeys(plan.base for plan in plans):
        answers.update(_execute_on(synopses, base, [plan for plan in plans if plan.base == base], age))
    return answers


def _execute_on(
    synopses: StreamSynopses, base: Preaggregation, plans: Sequence[QueryPlan], age: int
) -> Iterator[tuple[str, pa.Table]]:
    by_window: dict[int, list[QueryPlan]] = {}
    for plan in plans:
        by_window.setdefault(plan.window, []).append(plan)
    counted: dict[Preaggregation, Iterator[tuple[int, Merged]]] = {}
    for need in dict.fromkeys(need for plan in plans for _, need in (*plan.counters, *plan.lists)):
        windows = [plan.window for plan in plans if need in plan.needs]
        counted[need] = synopses.probe(need, windows, age)
    for window, merged in synopses.probe(base, list(by_window), age):
        together = by_window[window]
        needs = dict(pair for plan in together for pair in plan.counters)
        counters: dict[Value, CounterRead] = {}
        for argument, need in needs.items():
            _, found = next(counted[need])
            counters[argument] = CounterRead(
                synopses.node(need), found.codes, found.states[need.components.index(Rows())][0]
            )
        lists: dict[ListedItems, ListRead] = {}
        for listed, need in dict(pair for plan in together for pair in plan.lists).items():
            _, found = next(counted[need])
            (counter,), (covered,), (delta,) = found.states
            lists[listed] = ListRead(synopses.node(need), found.codes, counter, covered, delta)
        read = WindowRead.of(synopses.node(base), base.components, merged, counters, lists)
        for plan in together:
            yield plan.query.name, answer(plan.query.select, read)
