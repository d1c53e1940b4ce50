"""The flame graph and what it is drawn from."""

from __future__ import annotations

from time import perf_counter
from xml.etree import ElementTree

from benchmarks.flame_graph import flame_graph, tree
from benchmarks.profile_replay import innermost_of_ours, part_of, until_covered
from benchmarks.sampling import Sampler

STACKS = {
    ("hemiola.api.replay", "scheduler.engine.Engine.run_next", "synopses.answer.answer", "numpy.sum"): 3.0,
    ("hemiola.api.replay", "scheduler.engine.Engine.run_next"): 1.0,
    ("hemiola.api.replay", "results.sqlite_store.SqliteStore.commit"): 1.0,
}


def test_a_frame_has_the_time_of_all_it_calls() -> None:
    replay = tree(STACKS, "all").callees["hemiola.api.replay"]
    assert {name: frame.weight for name, frame in replay.callees.items()} == {
        "scheduler.engine.Engine.run_next": 4.0,
        "results.sqlite_store.SqliteStore.commit": 1.0,
    }


def test_the_picture_has_every_frame_with_its_share_as_text() -> None:
    root = ElementTree.fromstring(flame_graph(STACKS, "a < b", "all", lambda name: "#ccc"))
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert "scheduler.engine.Engine.run_next: 4.00 s, 80.0%" in titles
    assert len(titles) == 6


def test_a_stack_belongs_to_one_part_and_to_its_innermost_module_of_ours() -> None:
    probe, _, commit = STACKS
    assert (part_of(probe), part_of(commit)) == ("engine: refreshes", "commit: answers into the results")
    assert (innermost_of_ours(probe), innermost_of_ours(commit)) == ("synopses.answer", "results.sqlite_store")


def test_the_largest_are_named_until_nine_tenths_are_covered() -> None:
    assert list(until_covered({"a": 6.0, "b": 2.5, "c": 0.5, "d": 0.5, "e": 0.5})) == ["a", "b", "c"]


def test_a_look_sees_who_was_called_by_whom() -> None:
    with Sampler("nobody") as sampler:
        _busy(0.1)
    seen = {stack for stack, seconds in sampler.wall.items() if seconds > 0}
    assert any(stack[0].endswith("._busy") for stack in seen), seen


def _busy(seconds: float) -> None:
    until = perf_counter() + seconds
    while perf_counter() < until:
        sum(range(1000))
