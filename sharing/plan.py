"""The shared plan of one stream: which pre-aggregations and synopses its queries need, and who reads which.

Applied here: SS1 (one synopsis serves every window of the same input and data), SS2 and CS3 (AVG reads the SUM and
COUNT components of the same synopsis), CS1 (counters are merged once for all that read them) and CS2 (all queries on
one basic interval synopsis can be computed together: they are one group).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from queries.model import Microseconds, Query, Scalar, Stream, Value
from synopses.algebra import Component
from synopses.answer import components_of, counted_arguments, listed_items
from synopses.choice import BASIC_INTERVAL, TOP_K_LISTS
from synopses.components import Rows
from synopses.preaggregate import Preaggregation
from synopses.stream_synopses import SynopsisSpec
from synopses.topk_lists import Listed, ListedItems

Input = tuple[Value | None, tuple[Value, ...]]
"""Which records, grouped how: (where, keys)."""


@dataclass(frozen=True)
class QueryPlan:
    """How one query is answered: the synopsis of its groups, one of counters per counted argument, and top-k lists.

    ``window``, ``slide`` and ``reach`` (how far back restore may need to look) are in intervals.
    """

    query: Query
    group: str
    base: Preaggregation
    counters: tuple[tuple[Value, Preaggregation], ...]
    window: int
    slide: int
    reach: int
    lists: tuple[tuple[ListedItems, Preaggregation], ...] = ()

    @property
    def needs(self) -> tuple[Preaggregation, ...]:
        return (self.base, *(need for _, need in self.counters), *(need for _, need in self.lists))


@dataclass(frozen=True)
class StreamPlan:
    stream: Stream
    synopses: tuple[SynopsisSpec, ...]
    queries: tuple[QueryPlan, ...]

    @property
    def needs(self) -> tuple[Preaggregation, ...]:
        return tuple(spec.need for spec in self.synopses)

    def readers(self, need: Preaggregation) -> tuple[QueryPlan, ...]:
        return tuple(plan for plan in self.queries if need in plan.needs)


def plan_stream(stream: Stream, queries: Iterable[Query], restore_reach: Microseconds = 0) -> StreamPlan:
    """One pre-aggregation and one synopsis per distinct input, however many queries read it."""
    queries = tuple(queries)
    components: dict[Input, dict[Component, None]] = {}
    for query in queries:
        for input_, wanted in _inputs(query).items():
            components.setdefault(input_, {}).update(dict.fromkeys(wanted))
    needs = {input_: Preaggregation(*input_, tuple(wanted)) for input_, wanted in components.items()}
    plans = tuple(_planned(query, stream, needs, restore_reach) for query in queries)
    lengths: dict[Preaggregation, int] = dict.fromkeys(needs.values(), 0)
    for plan in plans:
        for need in plan.needs:
            lengths[need] = max(lengths.get(need, 0), plan.window + plan.reach)
    return StreamPlan(stream, tuple(SynopsisSpec(need, b, _kind(need)) for need, b in lengths.items()), plans)


def _kind(need: Preaggregation) -> str:
    return TOP_K_LISTS if isinstance(need.components[0], Listed) else BASIC_INTERVAL


def _inputs(query: Query) -> dict[Input, tuple[Component, ...]]:
    """What the query reads: its groups, and for each counted argument x the grouping keys + x."""
    leaf = query.select.leaf
    inputs: dict[Input, tuple[Component, ...]] = {(leaf.where, leaf.keys): components_of(leaf.aggregates)}
    for argument in counted_arguments(leaf.aggregates):
        inputs.setdefault((leaf.where, (*leaf.keys, argument)), (Rows(),))
    return inputs


def _planned(query: Query, stream: Stream, needs: dict[Input, Preaggregation], restore_reach: int) -> QueryPlan:
    leaf = query.select.leaf
    s = stream.interval
    counters = tuple(
        (argument, needs[leaf.where, (*leaf.keys, argument)]) for argument in counted_arguments(leaf.aggregates)
    )
    slide = query.slide // s
    reach = max(slide, restore_reach // s) if query.semantics == "restore" else 0
    base = needs[leaf.where, leaf.keys]
    lists = tuple((listed, listed.need(leaf.where)) for listed in listed_items(leaf.aggregates))
    return QueryPlan(query, group_name(stream.name, base), base, counters, query.window // s, slide, reach, lists)


def group_name(stream: str, need: Preaggregation) -> str:
    """Readable and unique: the stream, its keys and its filter."""
    by = f" by {', '.join(_text(key) for key in need.keys)}" if need.keys else ""
    where = f" where {_text(need.where)}" if need.where is not None else ""
    return f"{stream}{by}{where}"


def _text(value: Value) -> str:
    assert isinstance(value, Scalar)
    return value.sql.replace("`", "")
