"""One joint execution: queries refreshed together from one probe of each synopsis they read.

Windows are visited from short to long, so that a basic interval synopsis is scanned once for all of them (CS2), and
queries over the same window share one read (CS1, CS3). What a query reads of other predicates, of cells or of finer
groupings is assembled from the same probes (CS6, CS7), once for all that read it alike. Queries that are identical
get one answer (CS8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from queries.model import Value
from scheduler.assembly import assemble
from sharing.query_plan import QueryPlan
from sharing.reading import Input, Reading, input_of
from synopses.aggregates.items import ListRead
from synopses.algebra import Component
from synopses.answer import answer
from synopses.components import Rows
from synopses.merged import Merged
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import StreamSynopses
from synopses.topk_lists import ListedItems
from synopses.window_read import CounterRead, WindowRead


def execute(synopses: StreamSynopses, plans: Sequence[QueryPlan], age: int = 0) -> dict[str, pa.Table]:
    """The answers of these queries by name, over windows that end ``age`` intervals before the newest update."""
    by_window: dict[int, list[QueryPlan]] = {}
    windows: dict[Input, dict[int, None]] = {}
    for plan in plans:
        by_window.setdefault(plan.window, []).append(plan)
        for source in plan.sources:
            windows.setdefault(source, {})[plan.window] = None
    needs = {input_of(spec.need): spec.need for spec in synopses.specs}
    probes = {source: synopses.probe(needs[source], list(asked), age) for source, asked in windows.items()}
    answers: dict[str, pa.Table] = {}
    for window, together in sorted(by_window.items()):
        found = {source: next(probe)[1] for source, probe in probes.items() if window in windows[source]}
        answers.update(_Window(synopses, needs, found).answers(together))
    return answers


@dataclass
class _Window:
    """All that was probed over one window. States are views that the next window overwrites."""

    synopses: StreamSynopses
    needs: dict[Input, Preaggregation]
    found: dict[Input, Merged]
    _counters: dict[Reading, CounterRead] = field(default_factory=dict)

    def answers(self, plans: Sequence[QueryPlan]) -> Iterator[tuple[str, pa.Table]]:
        by_reading: dict[tuple[object, ...], list[QueryPlan]] = {}
        for plan in plans:
            by_reading.setdefault((plan.base.keys, plan.base.terms), []).append(plan)
        tables: dict[str, pa.Table] = {}
        for together in by_reading.values():
            read = self._read(together)
            for plan in together:
                if plan.answered_as not in tables:
                    tables[plan.answered_as] = answer(plan.query.select, read)
                yield plan.query.name, tables[plan.answered_as]

    def _read(self, plans: Sequence[QueryPlan]) -> WindowRead:
        """One read for all queries over the same groups."""
        base = plans[0].base
        wanted = tuple(dict.fromkeys(component for plan in plans for component in plan.components))
        counters: dict[Value, CounterRead] = {}
        lists: dict[ListedItems, ListRead] = {}
        for plan in plans:
            for argument, reading in plan.counters:
                if argument not in counters:
                    counters[argument] = self._counted(reading)
            for items, reading in plan.lists:
                merged = self.found[reading.primary]
                node = self.synopses.node(self.needs[reading.primary])
                lists[items] = ListRead(node, merged.codes, *(state[0] for state in merged.states))
        components, merged = self._merged(base, wanted)
        return WindowRead.of(self.synopses.tree.node(base.keys), components, merged, counters, lists)

    def _counted(self, reading: Reading) -> CounterRead:
        if reading not in self._counters:
            components, merged = self._merged(reading, (Rows(),))
            counts = merged.state(components.index(Rows()))[0].astype(np.int64, copy=False)
            self._counters[reading] = CounterRead(self.synopses.tree.node(reading.keys), merged.codes, counts)
        return self._counters[reading]

    def _merged(self, reading: Reading, wanted: tuple[Component, ...]) -> tuple[tuple[Component, ...], Merged]:
        if reading.direct:
            return self.needs[reading.primary].components, self.found[reading.primary]
        return wanted, assemble(reading, wanted, self.synopses.tree, self.needs, self.found)
