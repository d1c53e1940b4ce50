"""Queries come and go: the plan changes as little as possible, says what changed, and answers as if made anew."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from queries.errors import InputError
from sharing.diff import diff
from sharing.plan import add, plan_stream, remove
from synopses.components import Total
from tests.sharing.driven import drive, judged, same
from tests.sharing.random_queries import RELATED, sql_texts
from tests.sharing.small_events import STREAM, query

ONE_GROUP = st.sampled_from([condition for family in RELATED for condition in family])
TEXTS = st.one_of(sql_texts(), sql_texts(st.just([]), ["SUM(length)"], ONE_GROUP))


class Registrations(RuleBasedStateMachine):
    """The daemon's life: register, deregister, in any order."""

    names = Bundle("names")

    def __init__(self):
        super().__init__()
        self.plan = plan_stream(STREAM, ())
        self.registered = {}
        self.count = 0

    @rule(target=names, text=TEXTS)
    def register(self, text):
        self.count += 1
        added = query(f"q{self.count}", text)
        self.registered[added.name] = added
        before, self.plan = self.plan, add(self.plan, added)
        changes = diff(before, self.plan)
        assert changes.registered == (added.name,)
        assert changes.reread == () and changes.dropped == () and changes.deregistered == ()
        return added.name

    @rule(name=consumes(names))
    def deregister(self, name):
        del self.registered[name]
        before, self.plan = self.plan, remove(self.plan, name)
        changes = diff(before, self.plan)
        assert changes.deregistered == (name,)
        assert changes.reread == () and changes.added == () and changes.registered == ()

    @invariant()
    def all_that_is_read_is_kept_and_nothing_else(self):
        assert {plan.query.name for plan in self.plan.queries} == set(self.registered)
        read = set()
        for plan in self.plan.queries:
            for part in plan.parts:
                for term in part.reading.terms:
                    kept = self.plan.synopsis(term.source)
                    read.add(kept.name)
                    assert kept.b >= part.request.length
                    assert set(part.request.components) <= set(kept.need.components)
                    assert len(kept.kinds) == len(kept.need.components)
        assert read == {kept.name for kept in self.plan.kept}

    def teardown(self):
        if self.registered:
            answers = drive(self.plan)
            assert same(answers, drive(plan_stream(STREAM, self.registered.values()))) == []
            assert judged(self.registered.values(), answers) == []


Registrations.TestCase.settings = settings(
    max_examples=12, stateful_step_count=12, suppress_health_check=list(HealthCheck), deadline=None
)
TestRegistrations = pytest.mark.slow(Registrations.TestCase)

SHORT = query("short", "SELECT src, SUM(length) AS a FROM @4/2 GROUP BY src")
LONG = query("long", "SELECT src, MAX(length) AS a FROM @12/4 GROUP BY src")


def test_registering_says_what_it_adds_and_extends():
    first = plan_stream(STREAM, [SHORT])
    assert "+ synopsis events by src, 4 intervals" in str(diff(plan_stream(STREAM, []), first))
    told = str(diff(first, add(first, LONG)))
    assert told.startswith("+ query long\n~ synopsis events by src: also keeps MAX(length); 4 → 12 intervals")
    assert str(diff(first, first)) == "nothing changes"


def test_deregistering_gives_back_length_components_and_synopses():
    both = plan_stream(STREAM, [SHORT, LONG])
    left = remove(both, "long")
    assert left.kept == plan_stream(STREAM, [SHORT]).kept
    assert "no longer keeps MAX(length); 12 → 4 intervals" in str(diff(both, left))
    assert remove(left, "short").kept == ()


def test_a_synopsis_stays_while_a_cover_reads_it():
    texts = [("tcp", "protocol = 'TCP'"), ("udp", "protocol = 'UDP'"), ("both", "protocol IN ('TCP', 'UDP')")]
    made = [query(name, f"SELECT SUM(length) AS a FROM @4/2 WHERE {where}") for name, where in texts]
    plan = remove(remove(plan_stream(STREAM, made), "tcp"), "udp")
    assert [kept.name for kept in plan.kept] == [
        "events in one group where protocol = 'TCP'",
        "events in one group where protocol = 'UDP'",
    ]
    assert any(isinstance(part, Total) for kept in plan.kept for part in kept.need.components)
    assert remove(plan, "both").kept == ()


def test_the_output_passes_to_the_next_when_its_owner_leaves():
    texts = [("slow", 6), ("fast", 2), ("middle", 4)]
    plan = plan_stream(STREAM, [query(name, f"SELECT COUNT(*) AS n FROM @12/{slide} ") for name, slide in texts])
    assert [plan.query(name).shares_output_of for name, _ in texts] == ["fast", None, "fast"]
    assert plan.query("slow").effective_slide == 2
    left = remove(plan, "fast")
    assert [left.query(name).shares_output_of for name in ("slow", "middle")] == ["middle", None]


def test_a_kind_that_cannot_keep_the_aggregate_is_the_users_error():
    with pytest.raises(InputError, match=r"query q.*MAX") as refused:
        plan_stream(STREAM, [query("q", "SELECT MAX(length) AS a FROM @4/2 ", synopsis="running")])
    assert refused.value.exit_code == 2


def test_two_queries_cannot_force_two_kinds_on_one_synopsis():
    forced = [query(kind, "SELECT SUM(length) AS a FROM @4/2 ", synopsis=kind) for kind in ("running", "interval")]
    with pytest.raises(InputError, match=r"interval.*running"):
        plan_stream(STREAM, forced)
    assert plan_stream(STREAM, forced[1:]).kept[0].kinds == ("interval",) * 3
