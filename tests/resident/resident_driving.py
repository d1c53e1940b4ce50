"""Plans whose synopses live in files, driven without Spark: the tasks of a joint probe run here, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa

from queries.model import Query
from scheduler.resident_probe import ANSWER, Asked, JointProbe, run_here
from sharing.plan import StreamPlan
from synopses.preaggregate import Preaggregation, preaggregate
from synopses.resident_files import ResidentFile, write_intervals
from tests.sharing.driven import FIRST, Answers, plain, records
from tests.sharing.small_events import SECONDS

Files = dict[Preaggregation, list[ResidentFile]]


def in_spark(queries: Sequence[Query]) -> list[Query]:
    return [replace(query, placement="spark") for query in queries]


def written(plan: StreamPlan, folder: Path, pieces: int = 3, seed: int = 0) -> Files:
    """The partials of all events as files, each interval in several of them, as batches would leave them."""
    table, columns = records(dict.fromkeys(value for need in plan.needs for value in need.values))
    batch = pa.array([Random(seed).randrange(pieces) for _ in range(table.num_rows)])
    files: Files = {}
    for number, need in enumerate(plan.needs):
        for piece in range(pieces):
            some = table.filter(pa.compute.equal(batch, piece))
            partials = preaggregate(some, columns, need)
            files.setdefault(need, []).extend(write_intervals(f"{folder}/{number}", f"{piece}", need, [partials]))
    return files


def ask(plan: StreamPlan, files: Files, asked: Sequence[Asked], tasks: int = 3) -> list[pa.Table]:
    probe = JointProbe(plan.needs, asked, files, tasks)
    found = probe.nothing() | {piece.of: piece.table for piece in run_here(probe) if piece.kind == ANSWER}
    return [found[number] for number in range(len(asked))]


def drive_resident(
    plan: StreamPlan, files: Files, at: Callable[[int], Sequence[str]] | None = None, tasks: int = 3
) -> Answers:
    """As ``tests.sharing.driven.drive``, of a plan whose synopses are all in files."""
    answers: Answers = {}
    for now in range(FIRST + 1, FIRST + SECONDS + 1):
        due = [query for query in plan.queries if now % query.slide == 0]
        if at is not None:
            due = [plan.query(name) for name in at(now)]
        asked = [Asked(now, query) for query in due]
        for one, table in zip(asked, ask(plan, files, asked, tasks), strict=True):
            answers[one.plan.query.name, now] = plain(table.to_pylist())
    return answers
