"""Plans whose synopses live in files, driven without Spark: the tasks of a joint probe run here, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa

from queries.model import Query
from scheduler.resident import Consume, Produce, Told, probe_jointly
from scheduler.resident_probe import Asked
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


class InThisProcess:
    """``ResidentSynopses`` without Spark: the tasks run one after the other, their messages meet in a dictionary."""

    def __init__(self, files: Files, tasks: int = 3) -> None:
        self._files, self.tasks, self.jobs = files, tasks, 0

    def files(self, need: Preaggregation) -> Sequence[ResidentFile]:
        return self._files.get(need, ())

    def run(self, tasks: int, produce: Produce, consume: Sequence[Consume]) -> list[Told]:
        self.jobs += 1
        told = [message for task in range(tasks) for message in produce(task)]
        for function in consume:
            by_target: dict[int, list[Told]] = {}
            for message in told:
                by_target.setdefault(message[0], []).append(message)
            told = [message for together in by_target.values() for message in function(together)]
        return told


def ask(plan: StreamPlan, files: Files, asked: Sequence[Asked], tasks: int = 3) -> list[pa.Table]:
    return [found.table for found in probe_jointly(InThisProcess(files, tasks), plan.needs, asked)]


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
