"""The synopses of one stream that live in Spark: which files hold them, and the jobs over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.sql import SparkSession

from queries.file_systems import remove_folder, subfolders
from spark_jobs.map_reduce import Consume, Message, Produce, map_reduce
from spark_jobs.resident_blocks import Block, block_of, make_blocks
from spark_jobs.resident_partials import ResidentTarget
from synopses.partials_store import describe_need
from synopses.preaggregate import Preaggregation
from synopses.resident_blocks import block_to_make, by_span
from synopses.resident_files import ResidentFile, folder_name

RESIDENT_TAG = "hemiola-resident"


class ResidentStore:
    """Files are added when they are durable, and gone when no window can reach them. ``root`` is theirs alone."""

    def __init__(self, spark: SparkSession, root: str, stream: str) -> None:
        self.root, self.stream = root, stream
        self._spark = spark
        self._files: dict[Preaggregation, list[ResidentFile]] = {}

    @property
    def tasks(self) -> int:
        return self._spark.sparkContext.defaultParallelism

    def target(self, name: str) -> ResidentTarget:
        """For a job that writes files under this name, which no other job has."""
        return ResidentTarget(self.root, name, self.tasks)

    def add(self, files: Iterable[tuple[Preaggregation, ResidentFile]]) -> None:
        for need, file in files:
            self._files.setdefault(need, []).append(self._here(file))

    def replace(self, need: Preaggregation, files: Iterable[ResidentFile]) -> None:
        """Makes these all there is of a pre-aggregation."""
        self._files[need] = [self._here(file) for file in files]

    def named(self, file: ResidentFile) -> ResidentFile:
        """As it is written down: by its name under the root, which may be moved."""
        return replace(file, path=file.path.removeprefix(f"{self.root}/"))

    def _here(self, file: ResidentFile) -> ResidentFile:
        return replace(file, path=f"{self.root}/{self.named(file).path}")

    def files(self, need: Preaggregation) -> Sequence[ResidentFile]:
        return self._files.get(need, ())

    @property
    def entries(self) -> int:
        return sum(file.rows for files in self._files.values() for file in files)

    @property
    def nbytes(self) -> int:
        return sum(file.nbytes for files in self._files.values() for file in files)

    def run(self, tasks: int, produce: Produce, consume: Sequence[Consume]) -> list[Message]:
        context = self._spark.sparkContext
        context.addJobTag(RESIDENT_TAG)
        try:
            doing = f"stream {self.stream}: the synopses in Spark could not be probed"
            return map_reduce(self._spark, tasks, produce, consume, self.tasks, doing)
        finally:
            context.removeJobTag(RESIDENT_TAG)

    def blocks_to_make(self, oldest: dict[Preaggregation, int], closed: int) -> list[Block]:
        """At most one for each pre-aggregation, of intervals before ``closed``."""
        found = []
        for need, first in oldest.items():
            span = block_to_make(by_span(self.files(need)), first, closed)
            if span is not None:
                found.append(block_of(need, self.target("").folder(need), self.files(need), *span))
        return found

    def make_blocks(self, blocks: Sequence[Block]) -> list[tuple[Preaggregation, ResidentFile]]:
        """The files of these blocks, to be added; on any thread."""
        context = self._spark.sparkContext
        context.addJobTag(RESIDENT_TAG)
        try:
            return make_blocks(self._spark, blocks, self.tasks)
        finally:
            context.removeJobTag(RESIDENT_TAG)

    def remove(self) -> None:
        """All of it."""
        self._files = {}
        remove_folder(self.root)

    def keep(self, oldest: dict[Preaggregation, int]) -> None:
        """Keeps the pre-aggregations named, from these intervals on; all other files go, whoever left them."""
        for need in [need for need in self._files if need not in oldest]:
            del self._files[need]
        for need, first in oldest.items():
            self._files[need] = [file for file in self._files.get(need, ()) if file.first >= first]
        folders = {folder_name(describe_need(need)): first for need, first in oldest.items()}
        with suppress(OSError):
            for folder in subfolders(self.root):
                if folder not in folders:
                    remove_folder(f"{self.root}/{folder}")
                    continue
                for interval in subfolders(f"{self.root}/{folder}"):
                    if int(interval) < folders[folder]:
                        remove_folder(f"{self.root}/{folder}/{interval}")
