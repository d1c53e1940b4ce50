"""Runs in virtual time: on time when underloaded, nobody starved when overloaded, streams apart from each other."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cost import CostModel
from scheduler.policies import make_policy
from scheduler.simulator import StreamLoad, simulate, simulate_streams
from scheduler.streams import GlobalScheduler
from scheduler.tasks import Member, SubGroup, subgroups
from scheduler.timeline import rows, svg_timeline, svg_timelines, text_timeline

POLICIES = list(itertools.product(("none", "aggressive", "conservative", "hybrid"), ("off", "late", "late_pending")))
COST = CostModel(post=1, fixed=1)


def workload(seed: int, queries: int, groups: int = 3) -> tuple[SubGroup, ...]:
    rng = random.Random(seed)
    members = []
    for number in range(queries):
        window = rng.randint(4, 40)
        members.append(Member(f"q{number}", f"g{number % groups}", window, rng.randint(1, window // 2)))
    return subgroups(members)


@given(st.integers(0, 10_000), st.sampled_from(POLICIES), st.sampled_from(("wait", "refresh_early")))
@settings(max_examples=80, deadline=None)
def test_underloaded_nobody_is_ever_late(seed: int, names: tuple[str, str], idle: str) -> None:
    group = workload(seed, queries=12)
    everything_once = sum(COST.cost([subgroup]) for subgroup in group)
    run = simulate(group, make_policy(*names, idle), COST, updates=60, load=0.9 / everything_once)
    assert run.lateness() == dict.fromkeys(run.refreshes(), 0.0)
    assert all(updates for query, updates in run.refreshes().items())


@given(st.integers(0, 10_000), st.sampled_from(POLICIES), st.floats(0.01, 1.0))
@settings(max_examples=80, deadline=None)
def test_under_any_load_every_query_is_refreshed_again_and_again(
    seed: int, names: tuple[str, str], load: float
) -> None:
    """Between two refreshes of a query every task runs about once at most, beyond its own period."""
    group = workload(seed, queries=8)
    round_of_all = load * sum(COST.cost([subgroup]) for subgroup in group)
    longest = max(subgroup.slide for subgroup in group)
    bound = 2 * (round_of_all + longest) + longest + 2
    run = simulate(group, make_policy(*names), COST, updates=int(6 * bound), load=load)
    for updates in run.refreshes().values():
        gaps = [after - before for before, after in itertools.pairwise([0, *updates, run.updates])]
        assert max(gaps) <= bound


@pytest.mark.parametrize("names", POLICIES)
def test_no_query_is_refreshed_twice_at_one_update(names: tuple[str, str]) -> None:
    for idle in ("wait", "refresh_early"):
        run = simulate(workload(3, 12), make_policy(*names, idle), COST, updates=100, load=0.004)
        for updates in run.refreshes().values():
            assert updates == sorted(set(updates))


def test_idle_time_is_used_for_earlier_refreshes() -> None:
    group = workload(4, 12)
    runs = {
        idle: simulate(group, make_policy("conservative", "off", idle), COST, 60, 1e-4)
        for idle in ("wait", "refresh_early")
    }
    assert runs["refresh_early"].throughput == pytest.approx(12.0, rel=0.02)
    assert runs["wait"].throughput < 6


def test_latency_counts_extra_updates_only() -> None:
    """A slide of 2 refreshed at every third update has latency 1."""
    group = subgroups([Member("q", "g", 4, 2)])
    run = simulate(group, make_policy("none", "off"), CostModel(merge=0, fixed=3), updates=302)
    assert run.refreshes()["q"][:4] == [2, 5, 8, 11]
    assert run.latency == pytest.approx(1, abs=0.02)
    assert run.throughput == pytest.approx(1 / 3, rel=0.01)


SCHEDULES = {
    "a_aggressive": ("aggressive", "off", {}),
    "b_conservative": ("conservative", "off", {}),
    "c_hybrid": ("hybrid", "off", {}),
    "d_hybrid_late_pending": ("hybrid", "late_pending", {2: 3.0}),
}


@pytest.mark.parametrize("figure", SCHEDULES)
def test_figure_8_6(example: tuple[SubGroup, ...], figure: str) -> None:
    """The four schedules. In (d) the first execution stalls for three updates: then slides 2 and 3 are late by one,
    slide 5 is pending, and all run together."""
    policy, sharing, delays = SCHEDULES[figure]
    run = simulate(example, make_policy(policy, sharing), CostModel(), updates=15, load=0.001, delays=delays)
    golden = Path(__file__).parent / "timelines" / f"{figure}.txt"
    assert text_timeline(run) == golden.read_text()


def test_svg_has_a_mark_for_every_refresh(example: tuple[SubGroup, ...]) -> None:
    run = simulate(example, make_policy("hybrid", "off"), CostModel(), updates=10, load=0.001)
    drawn = ElementTree.fromstring(svg_timeline(run, title="a < b"))
    legend = 3
    marks = sum(len(row.marks) for row in rows(run))
    assert len(drawn.findall("{http://www.w3.org/2000/svg}circle")) == marks + legend


def test_several_schedules_stand_below_each_other_and_long_names_keep_their_slide(
    example: tuple[SubGroup, ...],
) -> None:
    long = subgroups([Member("q", "packets by src where " + "port = 443 OR " * 9, 4, 2)])
    runs = [
        (name, simulate(group, make_policy("none", "off"), CostModel(), 10, 0.001))
        for name, group in (("first", example), ("second", long))
    ]
    frame = ElementTree.fromstring(svg_timelines(runs))
    pictures = frame.findall("{http://www.w3.org/2000/svg}svg")
    first_height = int(pictures[0].get("height") or 0)
    assert [picture.get("y") for picture in pictures] == ["0", str(first_height)]
    assert frame.get("height") == str(sum(int(picture.get("height") or 0) for picture in pictures))
    (row,) = rows(runs[1][1])
    assert len(row.label) == 48
    assert row.label.endswith("…/2")


def test_a_stream_overloaded_tenfold_leaves_the_other_on_time() -> None:
    """The calm stream asks for 0.3 of the processor, the other for ten times the processor, in executions that fit
    between two updates: one that has begun is not interrupted."""
    policy = make_policy("hybrid", "off")
    demands = {"calm": (workload(1, 10), 0.3), "overloaded": (workload(2, 400, groups=100), 10.0)}
    streams = []
    for name, (group, demand) in demands.items():
        unit = simulate(group, policy, COST, 200, 1e-6).busy / 1e-6
        streams.append(StreamLoad(name, group, policy, COST, load=demand / unit))
    runs = simulate_streams(streams, duration=400)
    assert max(execution.finish - execution.start for execution in runs["overloaded"].executions) < 0.5
    assert runs["calm"].latency == 0
    assert runs["overloaded"].latency > 5
    assert runs["calm"].busy == pytest.approx(0.3, rel=0.1)
    assert runs["overloaded"].busy == pytest.approx(0.7, rel=0.1)


def test_busy_streams_share_by_weight() -> None:
    scheduler = GlobalScheduler({"a": 3.0, "b": 1.0})
    used = {"a": 0.0, "b": 0.0}
    for _ in range(400):
        chosen = scheduler.next(used.keys())
        assert chosen is not None
        used[chosen] += 1
        scheduler.used(chosen, 1)
    assert used["a"] / used["b"] == pytest.approx(3, rel=0.02)


def test_time_left_unused_is_not_saved_up() -> None:
    scheduler = GlobalScheduler({"a": 1.0, "b": 1.0})
    for _ in range(100):
        assert scheduler.next({"a"}) == "a"
        scheduler.used("a", 1)
    turns = []
    for _ in range(10):
        chosen = scheduler.next({"a", "b"})
        assert chosen is not None
        turns.append(chosen)
        scheduler.used(chosen, 1)
    assert turns.count("b") in (5, 6)
    assert turns[0] == "b" or turns[1] == "b"


def test_weights_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        GlobalScheduler({"a": 0.0})
