"""How one query is answered: what it requests, and the reading that gives it each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from queries.model import Query, Select, StreamWindow, Value
from sharing.reading import Input, Reading
from sharing.request import Request
from synopses.algebra import Component
from synopses.topk_lists import ListedItems


def group_in_spark(stream: str) -> str:
    """The group of all that is resident in Spark: one job scans for all of it (architecture.md, placement)."""
    return f"{stream} in Spark"


@dataclass(frozen=True)
class Part:
    request: Request
    reading: Reading


@dataclass(frozen=True)
class QueryPlan:
    """``parts`` begins with the query's groups; then come the counters of counted arguments, and top-k lists.

    ``group`` names the queries it can be computed together with. ``shares_output_of`` names the query, identical but
    for its slide, whose answers it takes (CS8), and ``output_slide`` is then that query's slide. ``window``, ``slide``
    and ``reach`` (how far back restore may need to look) are in intervals.
    """

    query: Query
    group: str
    parts: tuple[Part, ...]
    shares_output_of: str | None = None
    output_slide: int | None = None

    @property
    def window(self) -> int:
        return self.parts[0].request.window

    @property
    def slide(self) -> int:
        return self.parts[0].request.slide

    @property
    def reach(self) -> int:
        return self.parts[0].request.reach

    @property
    def effective_slide(self) -> int:
        """The slide to schedule it with where output is shared (not under the policy ``none``)."""
        return self.slide if self.output_slide is None else self.output_slide

    @property
    def base(self) -> Reading:
        return self.parts[0].reading

    @property
    def resident(self) -> bool:
        """Whether it is answered in Spark."""
        return self.base.primary.resident

    @property
    def components(self) -> tuple[Component, ...]:
        """What the reading of its groups must bring."""
        return self.parts[0].request.components

    @cached_property
    def counters(self) -> tuple[tuple[Value, Reading], ...]:
        parts = (part for part in self.parts if part.request.counted is not None)
        return tuple((part.request.counted, part.reading) for part in parts if part.request.counted is not None)

    @cached_property
    def lists(self) -> tuple[tuple[ListedItems, Reading], ...]:
        return tuple((part.request.listed, part.reading) for part in self.parts if part.request.listed is not None)

    @cached_property
    def sources(self) -> tuple[Input, ...]:
        """The synopses it reads, each once."""
        return tuple(dict.fromkeys(term.source for part in self.parts for term in part.reading.terms))

    @property
    def answered_as(self) -> str:
        """Queries with the same name here have the same answer over the same window."""
        return self.query.name if self.shares_output_of is None else self.shares_output_of

    def taking_output(self, of: str | None, slide: int | None) -> QueryPlan:
        """The same, its answers taken from another query or (None) from nobody."""
        plan = replace(self, shares_output_of=of, output_slide=slide)
        plan.__dict__["output"] = self.output
        return plan

    @cached_property
    def output(self) -> str:
        """Equal for queries that are identical but for their slide."""
        return repr(_without_slide(self.query.select))


def _without_slide(select: Select) -> Select:
    if isinstance(select.source, StreamWindow):
        return replace(select, source=replace(select.source, slide=0))
    return replace(select, source=_without_slide(select.source))
