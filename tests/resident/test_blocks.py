"""Blocks of merged intervals change no answer, and make long windows read few files."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from scheduler.resident_probe import Asked, JointProbe
from sharing.plan import plan_stream
from spark_jobs.resident_blocks import _Work, block_of
from synopses.resident_blocks import block_to_make, by_span, covering
from synopses.resident_files import ResidentFile
from tests.resident.resident_driving import Files, drive_resident, in_spark, written
from tests.resident.test_joint_probe import SHAPES
from tests.sharing.driven import FIRST, same
from tests.sharing.small_events import SECONDS, STREAM, query


def with_blocks(files: Files, folder: str) -> Files:
    """All blocks there can be, made as the job's tasks make them."""
    found = {need: list(own) for need, own in files.items()}
    for number, (need, own) in enumerate(found.items()):
        while (span := block_to_make(by_span(own), FIRST, FIRST + SECONDS)) is not None:
            work = _Work((block_of(need, f"{folder}/{number}", own, *span),), 2)
            own += [ResidentFile(**json.loads(about)) for part in (0, 1) for _, about, _ in work(part)]
    return found


def test_answers_are_the_same_with_blocks(tmp_path):
    plan = plan_stream(STREAM, in_spark([query(name, sql) for name, sql in SHAPES.items()]))
    files = written(plan, tmp_path)
    blocks = with_blocks(files, str(tmp_path))
    assert same(drive_resident(plan, blocks), drive_resident(plan, files)) == []
    longest = max(plan.queries, key=lambda one: one.window)
    asked = [Asked(FIRST + 2 * longest.window, longest)]
    read = [sum(len(files) for files in JointProbe(plan.needs, asked, some, 1)._files) for some in (blocks, files)]
    assert read[0] < read[1]


def test_a_task_run_twice_writes_two_files(tmp_path):
    plan = plan_stream(STREAM, in_spark([query(name, sql) for name, sql in SHAPES.items()]))
    need, own = next(iter(written(plan, tmp_path).items()))
    span = block_to_make(by_span(own), FIRST, FIRST + SECONDS)
    assert span is not None
    work = _Work((block_of(need, str(tmp_path), own, *span),), 1)
    attempts = [[json.loads(about)["path"] for _, about, _ in work(0)] for _ in range(2)]
    assert attempts[0] and not set(attempts[0]) & set(attempts[1])


@given(
    there=st.sets(st.integers(0, 63)),
    blocks=st.sets(
        st.sampled_from([4, 16]).flatmap(lambda n: st.integers(0, 64 // n - 1).map(lambda i: (i * n, i * n + n)))
    ),
    window=st.tuples(st.integers(0, 64), st.integers(0, 64)).map(sorted),
)
def test_a_cover_holds_every_interval_once_and_nothing_else(there, blocks, window):
    spans = [(first, first + 1) for first in there] + [span for span in blocks if there & set(range(*span))]
    files = [ResidentFile("", *span, 0, 1, 1, 1) for span in spans]
    held = [i for file in covering(by_span(files), *window) for i in range(file.first, file.last)]
    assert len(held) == len(set(held))
    assert set(held) & there == there & set(range(*window))
    assert all(window[0] <= i < window[1] for i in held)
