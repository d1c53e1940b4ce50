"""Load, admission, remedies and room: by hand where it can be counted, by simulation where it is one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.admission import added, admit, all_at_once, late_queries, marginal_shares, members_of_load, share
from scheduler.capacity import grown, room
from scheduler.cost import CostModel
from scheduler.load import load, savings
from scheduler.policies import make_policy
from scheduler.simulator import StreamLoad
from scheduler.tasks import Member, SubGroup, subgroups

READS = CostModel(read=1, merge=0)


def stream(members: list[Member], policy: str = "conservative", load: float = 0.01) -> StreamLoad:
    chosen = make_policy(policy, "off")
    return StreamLoad("s", subgroups(members, chosen.joined), chosen, READS, interval=1.0, load=load)


def test_load_of_the_example_is_its_cost_per_update(example: tuple[SubGroup, ...]) -> None:
    merges, conservative, none = CostModel(), make_policy("conservative", "off"), make_policy("none", "off")
    assert load(conservative.tasks(example, merges), merges) == pytest.approx(358 / 30)
    assert load(none.tasks(example, merges), merges, joined=False) == pytest.approx(9 / 2 + 14 / 3 + 29 / 5)
    hybrid = make_policy("hybrid", "off")
    saved = savings(hybrid, hybrid.tasks(example, merges), merges)
    assert saved.scheduled == pytest.approx(11.40)
    assert saved.by_slide == pytest.approx(9 / 2 + 14 / 3 + 29 / 5)
    assert saved.by_query == pytest.approx((9 + 4 + 5) / 2 + (14 + 11) / 3 + (19 + 29) / 5)
    assert saved.factor == pytest.approx(saved.by_query / 11.40)


def test_a_query_on_a_scan_that_is_made_anyway_adds_nothing() -> None:
    present = stream([Member("long", "g", 50, 1)])
    found = admit(Member("short", "g", 20, 1), present)
    assert found.fits
    assert (found.before, found.after, found.added) == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0))


def test_a_query_on_a_synopsis_of_its_own_adds_its_scan() -> None:
    present = stream([Member("long", "g", 50, 1)])
    found = admit(Member("other", "h", 20, 2), present)
    assert found.added == pytest.approx(0.1)
    assert found.fits
    assert marginal_shares(added(present, [Member("other", "h", 20, 2)])) == {
        "long": pytest.approx(0.5),
        "other": pytest.approx(0.1),
    }


def test_what_does_not_fit_is_named_with_what_would_help() -> None:
    """Half the processor is taken; 80 reads at every update are too many, at every second they fit."""
    present = stream([Member("first", "g", 50, 1)])
    heavy = Member("heavy", "h", 80, 1)
    found = admit(heavy, present, synopses={"interval": replace(READS, kinds={"h": "interval"})})
    assert not found.fits
    assert found.after == pytest.approx(1.3)
    assert {"first", "heavy"} & found.late.keys()
    slides = [remedy.slide for remedy in found.remedies if remedy.slide is not None]
    assert slides
    assert admit(replace(heavy, slide=slides[0]), present).fits
    assert [remedy.synopsis for remedy in found.remedies if remedy.synopsis] == ["interval"]


def test_who_is_late_already_does_not_count_against_a_newcomer_that_changes_nothing() -> None:
    present = stream([Member("first", "g", 150, 1)])
    assert late_queries([present])
    assert admit(Member("same scan", "g", 100, 1), present).late.keys() <= {"same scan"}


def test_another_stream_on_the_same_processor_counts() -> None:
    """The candidate alone would fit; beside a stream that uses 0.7 it does not."""
    calm = stream([Member("a", "g", 10, 1)])
    busy = replace(stream([Member("b", "x", 70, 1)]), name="other")
    candidate = Member("c", "h", 60, 1)
    assert admit(candidate, calm).fits
    assert not admit(candidate, calm, [busy]).fits


def test_everything_at_once_within_an_interval_means_nobody_is_ever_late() -> None:
    present = stream([Member("a", "g", 50, 3), Member("b", "h", 45, 7)])
    assert all_at_once(present) == pytest.approx(0.95)
    assert late_queries([present]) == {}
    assert late_queries([present, replace(stream([]), name="empty")]) == {}


def test_room_is_the_number_that_still_fits() -> None:
    members = [Member(f"q{number}", f"g{number}", 9, 1 + number % 3) for number in range(6)]
    present = replace(stream(members, "none", load=0.01), cost=CostModel(read=1, merge=0, post=3))
    found = room([present], seed=3)
    assert 0 < found.more < 100
    assert found.late
    assert late_queries(grown([present], found.more, seed=3)) == {}
    assert late_queries(grown([present], found.more + max(1, found.more // 100) + 1, seed=3))


def test_copies_stay_within_their_groups_windows_and_slides() -> None:
    members = [Member("a", "g", 10, 2), Member("b", "g", 30, 6), Member("c", "h", 5, 1)]
    (many,) = grown([stream(members)], 50)
    copies = [member for member in members_of_load(many) if "copy" in member.query]
    assert len(copies) == 50
    for copy in copies:
        low, high = ((10, 2), (30, 6)) if copy.group == "g" else ((5, 1), (5, 1))
        assert low[0] <= copy.window <= high[0]
        assert low[1] <= copy.slide <= high[1]
    (fewer,) = grown([stream(members)], 20)
    assert set(members_of_load(fewer)) <= set(members_of_load(many))


def test_sharing_makes_room() -> None:
    members = [Member(f"q{number}", "g", 40, 2 + number) for number in range(4)]
    apart, together = (room([stream(members, policy)]).more for policy in ("none", "hybrid"))
    assert together > 2 * apart


def test_nothing_fits_where_somebody_is_late() -> None:
    found = room([stream([Member("a", "g", 150, 1)])])
    assert (found.more, found.late) == (0, ("a",))
    assert share(stream([Member("a", "g", 150, 1)])) == pytest.approx(1.5)
