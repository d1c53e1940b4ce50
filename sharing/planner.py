"""Making a plan, one query after the other: each request is read the cheapest way that the rules offer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from queries.model import Microseconds, Query, Stream
from sharing.cost import Cost, Statistics
from sharing.kept import KeptSynopsis
from sharing.kinds import check_forced_kind, check_placement, choose
from sharing.query_plan import Part, QueryPlan, group_in_spark
from sharing.reading import Input, Reading, Term
from sharing.request import Request, requests_of
from sharing.rules import OWN, RULES, Offer, cell_synopses
from sharing.rules.same_output import share_outputs
from sharing.shelf import Shelf
from sharing.wording import grouping_text
from synopses.preaggregate import Preaggregation


class Planner:
    """A plan in the making, of queries that are all in the driver or all resident in Spark. ``settle`` must be called
    once before it is read off."""

    def __init__(
        self,
        stream: Stream,
        statistics: Statistics,
        restore_reach: Microseconds = 0,
        kept: Iterable[KeptSynopsis] = (),
        plans: Iterable[QueryPlan] = (),
    ) -> None:
        self.stream, self.restore_reach = stream, restore_reach
        self.cost = Cost(statistics)
        self.shelf = Shelf(kept)
        self.plans = {plan.query.name: plan for plan in plans}
        self._touched: dict[Input, None] = {}
        self._outputs: dict[str, None] = {}

    def cut_cells(self, queries: Iterable[Query]) -> None:
        """Puts up the cell synopses that pay for these queries; those that nobody reads are dropped by ``settle``."""
        requests = [request for query in queries for request in self._requests(query)]
        for made in cell_synopses(requests, self.cost):
            kept = replace(made, need=replace(made.need, resident=requests[0].resident))
            kept = replace(kept, name=self._name(kept))
            self.shelf.put(kept)
            self._touched[kept.input] = None

    def add(self, query: Query) -> None:
        check_forced_kind(query)
        check_placement(query)
        insists = query.synopsis is not None
        parts = tuple(self._part(request, insists) for request in self._requests(query))
        plan = QueryPlan(query, self._group(parts), parts)
        self.plans[query.name] = plan
        self._outputs[plan.output] = None
        self._touched.update(dict.fromkeys(plan.sources))

    def remove(self, name: str) -> None:
        plan = self.plans.pop(name)
        self._outputs[plan.output] = None
        self._touched.update(dict.fromkeys(plan.sources))

    def prefer_exact(self) -> None:
        """Reads directly (SS1) what was planned otherwise before a later query brought just the right synopsis."""
        for name, plan in self.plans.items():
            parts = tuple(
                part if part.reading.direct or not self._has_exact(part.request) else self._part(part.request)
                for part in plan.parts
            )
            if parts != plan.parts:
                self._touched.update(dict.fromkeys(plan.sources))
                self.plans[name] = replace(plan, group=self._group(parts), parts=parts)
                self._touched.update(dict.fromkeys(self.plans[name].sources))

    def settle(self) -> None:
        """Makes every synopsis that changed as long and as wide as its readers need, and drops those without any."""
        readers: dict[Input, list[tuple[QueryPlan, Request]]] = {source: [] for source in self._touched}
        for plan in self.plans.values():
            for part in plan.parts:
                for term in part.reading.terms:
                    if term.source in readers:
                        readers[term.source].append((plan, part.request))
        for source, reading in readers.items():
            kept = self.shelf[source]
            if reading:
                self.shelf.put(_fitted(kept, reading))
            else:
                self.shelf.drop(kept.name)
        share_outputs(self.plans, self._outputs)
        self._touched, self._outputs = {}, {}

    def _group(self, parts: tuple[Part, ...]) -> str:
        primary = parts[0].reading.primary
        return group_in_spark(self.stream.name) if primary.resident else self.shelf[primary].name

    def _requests(self, query: Query) -> tuple[Request, ...]:
        return requests_of(query, self.stream, self.restore_reach)

    def _has_exact(self, request: Request) -> bool:
        return self.shelf.exact(request.predicate, request.keys, request.input.listed) is not None

    def _part(self, request: Request, insists: bool = False) -> Part:
        return Part(request, self._reading(request, insists))

    def _reading(self, request: Request, insists: bool) -> Reading:
        """A query that insists on a kind of synopsis is not answered from others' by cost, only by SS1."""
        offers: list[Offer] = []
        for rule in RULES:
            if insists and not rule.always:
                continue
            offer = rule.offer(request, self.shelf, self.cost)
            if isinstance(offer, Offer):
                if rule.always:
                    return self._taken(offer, request)
                offers.append(offer)
        best = min(offers, key=lambda offer: offer.cost, default=None)
        if best is not None and best.cost < self.cost.own(request):
            return self._taken(best, request)
        return self._own(request)

    def _taken(self, offer: Offer, request: Request) -> Reading:
        for term in offer.reading.terms:
            kept = self.shelf[term.source]
            components = kept.need.components
            if offer.extends:
                components = tuple(dict.fromkeys((*components, *request.components)))
            if components != kept.need.components or request.length > kept.b:
                need = replace(kept.need, components=components)
                self.shelf.put(replace(kept, need=need, b=max(kept.b, request.length)))
        return offer.reading

    def _own(self, request: Request) -> Reading:
        need = Preaggregation(request.where, request.keys, request.components, request.resident)
        kept = KeptSynopsis("", request.predicate, need, request.length)
        self.shelf.put(replace(kept, name=self._name(kept)))
        return Reading(request.keys, (Term(request.input),), OWN)

    def _name(self, kept: KeptSynopsis) -> str:
        attribute = None if kept.cells is None else kept.cells.attribute
        text = grouping_text(kept.predicate, kept.need.keys, attribute)
        listed = " as lists" if kept.input.listed is not None else ""
        where = " in Spark" if kept.need.resident else ""
        return self.shelf.free_name(f"{self.stream.name} {text}{listed}{where}")


def _fitted(kept: KeptSynopsis, readers: list[tuple[QueryPlan, Request]]) -> KeptSynopsis:
    wanted = {component for _, request in readers for component in request.components}
    components = tuple(component for component in kept.need.components if component in wanted)
    b = max(request.length for _, request in readers)
    need = replace(kept.need, components=components)
    kinds = choose(need, b, [(plan.query, request) for plan, request in readers])
    if (need, b, kinds) == (kept.need, kept.b, kept.kinds):
        return kept
    return replace(kept, need=need, b=b, kinds=kinds)
