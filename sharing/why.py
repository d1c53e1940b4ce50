"""Why two queries share, or do not: what each rule says of the pair."""

from __future__ import annotations

from dataclasses import dataclass

from queries.errors import InputError, Problem
from sharing.cost import Cost
from sharing.kept import KeptSynopsis
from sharing.plan import StreamPlan
from sharing.predicates import relation
from sharing.query_plan import QueryPlan
from sharing.request import Request
from sharing.rules import RULES, SS4, Offer
from sharing.rules.together import COMPUTATION_RULES
from sharing.shelf import Shelf
from sharing.wording import grouping_text, scalar_text
from synopses.preaggregate import Preaggregation


@dataclass(frozen=True)
class Saying:
    """What one rule says: that it applies (and how), or why it does not."""

    rule: str
    applies: bool
    text: str

    def __str__(self) -> str:
        return f"{'yes' if self.applies else 'no '}  {self.rule}: {self.text}"


@dataclass(frozen=True)
class Why:
    """``shared`` are the names of the synopses both queries read."""

    one: str
    other: str
    shared: tuple[str, ...]
    predicates: str
    sayings: tuple[Saying, ...]

    @property
    def sentence(self) -> str:
        if not self.shared:
            return f"{self.one} and {self.other} share nothing"
        return f"{self.one} and {self.other} share the synopsis {' and '.join(self.shared)}"


def why(plan: StreamPlan, one: str, other: str) -> Why:
    """Both must be queries of the plan's stream."""
    first, second = plan.query(one), plan.query(other)
    shared = tuple(plan.synopsis(source).name for source in first.sources if source in second.sources)
    told = relation(first.parts[0].request.predicate, second.parts[0].request.predicate)
    sayings = [*_in_the_plan(plan, first, second), *_state(plan, first, second)]
    for name, rule in COMPUTATION_RULES:
        text = rule(plan, first, second)
        if text is not None:
            sayings.append(Saying(name, True, text))
    return Why(one, other, shared, told, tuple(sayings))


def unknown(name: str, known: list[str]) -> InputError:
    hint = f"registered are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}"
    return InputError((Problem("--why", name, "there is no query of this name", hint),))


def _in_the_plan(plan: StreamPlan, first: QueryPlan, second: QueryPlan) -> list[Saying]:
    """How the plan has them read a synopsis together."""
    said = []
    for query in (first, second):
        other = second if query is first else first
        for part in query.parts:
            sources = [term.source for term in part.reading.terms]
            if any(source in other.sources for source in sources):
                names = " and ".join(plan.synopsis(source).name for source in dict.fromkeys(sources))
                text = f"{query.query.name} reads its {part.request.what} from {names}"
                said.append(Saying(part.reading.rule, True, text))
    return said


def _state(plan: StreamPlan, first: QueryPlan, second: QueryPlan) -> list[Saying]:
    """What the state rules would say if the other query's synopses were the only ones; told where nothing is shared."""
    if set(first.sources) & set(second.sources):
        return []
    cost = Cost(plan.statistics)
    said: dict[Saying, None] = {}
    for wanting, having in ((first, second), (second, first)):
        shelf = Shelf(_own(part.request) for part in having.parts)
        request = wanting.parts[0].request
        elsewhere = Shelf(kept for kept in plan.kept if kept.input not in wanting.sources)
        for rule in RULES:
            # Covers are made of several synopses, so all of the plan's others are looked at.
            outcome = rule.offer(request, elsewhere if rule.name == SS4 else shelf, cost)
            if not isinstance(outcome, Offer):
                said[Saying(rule.name, False, outcome.why)] = None
            else:
                own = cost.own(request)
                text = f"possible, at {outcome.cost:,.0f} per update against {own:,.0f} for a synopsis of its own"
                said[Saying(rule.name, False, f"{wanting.query.name}: {text}")] = None
    mine, others = first.parts[0].request.keys, second.parts[0].request.keys
    if mine != others:
        by = [", ".join(scalar_text(key) for key in keys) or "nothing" for keys in (mine, others)]
        said[Saying("grouping", False, f"one groups by {by[0]}, the other by {by[1]}")] = None
    return list(said)


def _own(request: Request) -> KeptSynopsis:
    need = Preaggregation(request.where, request.keys, request.components, request.resident)
    name = f"{grouping_text(request.predicate, request.keys)} ({request.what})"
    return KeptSynopsis(name, request.predicate, need, request.length)
