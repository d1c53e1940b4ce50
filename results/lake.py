"""Answers too large for a database, as Parquet in a folder that any engine reads.

``query=<name>/end=<time>/part-*.parquet`` under the lake's folder, with the columns of the query's results table. The
tasks that compute an answer write beside it; the commit of its update moves the folder into its place, so a reader
sees a window end whole or not at all, and one that is computed again replaces what was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from queries.file_systems import opened, remove_folder, subfolders
from queries.model import Microseconds, Query
from results.answer_table import answer_table
from results.store import MakeShelf, ResultsStore, StreamProgress, Update

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = pa.timestamp("us", tz="UTC")
_STAGING = "_staging"
_ATTEMPTS = "-attempts"
_WIDE = pa.decimal128(38, 0)


@dataclass(frozen=True)
class Shelf:
    """The place of one answer, and its columns that are the same in all rows; ``staging`` is this attempt's own."""

    lake: str
    staging: str
    query: str
    window_start: Microseconds
    window_end: Microseconds
    complete: bool
    refreshed_at: Microseconds
    late_by: float
    restored: bool
    wide: frozenset[str] = frozenset()
    """Columns of integers that may exceed 64 bits: decimals in every file, so that all files are alike."""

    def put(self, part: str, rows: pa.Table) -> None:
        """Writes some rows of the answer; called by tasks, maybe again, maybe at the same time, by another attempt of
        the same task: each writes a file of its own, and the first one that is whole becomes the part."""
        system, folder = opened(self.staging)
        attempts = f"{folder}{_ATTEMPTS}"
        for needed in (folder, attempts):
            system.create_dir(needed, recursive=True)
        size = rows.num_rows
        columns = {
            "window_start": _times(self.window_start, size),
            "window_end": _times(self.window_end, size),
            "complete": pa.array(np.full(size, self.complete)),
            **{name: rows[name].cast(_WIDE) if name in self.wide else rows[name] for name in rows.column_names},
            "refreshed_at": _times(self.refreshed_at, size),
            "late_by": pa.array(np.full(size, self.late_by)),
            "restored": pa.array(np.full(size, self.restored)),
        }
        attempt, place = f"{attempts}/{uuid4().hex}.parquet", f"{folder}/part-{part}.parquet"
        pq.write_table(pa.table(columns), attempt, filesystem=system, compression="lz4")
        if system.get_file_info(place).type == fs.FileType.NotFound:
            system.move(attempt, place)

    def put_in_place(self) -> None:
        """Makes what was put the answer of its window end. An answer without rows has no folder."""
        place = f"{self.lake}/query={self.query}/end={_end_text(self.window_end)}"
        system, staging = opened(self.staging)
        if system.get_file_info(staging).type == fs.FileType.NotFound:
            return
        remove_folder(place)
        _, path = opened(place)
        system.create_dir(path.rsplit("/", 1)[0], recursive=True)
        system.move(staging, path)
        remove_folder(f"{self.staging}{_ATTEMPTS}")


class Lake:
    """The folder of large answers. Staging folders of runs that died are removed when it is opened."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.wide: dict[str, frozenset[str]] = {}
        """By query, the columns of integers that may exceed 64 bits."""
        self._attempts = 0
        self._run = uuid4().hex[:8]
        remove_folder(f"{folder}/{_STAGING}")

    def shelf(
        self, query: str, start: Microseconds, end: Microseconds, complete: bool, now: Microseconds, late_by: float,
        restored: bool,
    ) -> Shelf:  # fmt: skip
        self._attempts += 1
        staging = f"{self.folder}/{_STAGING}/{self._run}-{self._attempts}"
        wide = self.wide.get(query, frozenset())
        return Shelf(self.folder, staging, query, start, end, complete, now, late_by, restored, wide)

    def remove_before(self, query: str, end: Microseconds) -> None:
        """Forgets the answers of window ends before ``end``."""
        oldest = f"end={_end_text(end)}"
        folder = f"{self.folder}/query={query}"
        for name in subfolders(folder):
            if name < oldest:
                remove_folder(f"{folder}/{name}")


class StoreWithLake:
    """A ``ResultsStore`` whose large answers go to a lake. Files are in place before the refresh is recorded: after a
    crash between the two it is computed, and put in place, again."""

    def __init__(self, store: ResultsStore, lake: Lake, results_keep: Microseconds | None) -> None:
        self.store, self.lake, self._keep = store, lake, results_keep

    @property
    def shelf(self) -> MakeShelf:
        return self.lake.shelf

    def commit(self, update: Update) -> None:
        for refresh in update.refreshes:
            if refresh.shelf is not None:
                refresh.shelf.put_in_place()
        self.store.commit(update)
        if self._keep is not None:
            for query in {refresh.query for refresh in update.refreshes if refresh.shelf is not None}:
                with suppress(OSError):
                    self.lake.remove_before(query, update.progress.updated_until - self._keep)

    def register(self, queries: Sequence[Query], registered_at: Microseconds) -> None:
        self.store.register(queries, registered_at)
        for query in queries:
            columns = answer_table(query).columns
            self.lake.wide[query.name] = frozenset(column.name for column in columns if column.wide)

    def done(self, query: str) -> npt.NDArray[np.int64]:
        return self.store.done(query)

    def progress(self, stream: str) -> StreamProgress | None:
        return self.store.progress(stream)

    def put_rejects(self, stream: str, batch: str, rejects: pa.Table) -> None:
        self.store.put_rejects(stream, batch, rejects)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _times(value: Microseconds, size: int) -> pa.Array:
    return pa.array(np.full(size, value, dtype=np.int64)).cast(_TIME)


def _end_text(end: Microseconds) -> str:
    """Orders like the times; without colons, which some file systems refuse."""
    return f"{_EPOCH + timedelta(microseconds=end):%Y%m%dT%H%M%S.%fZ}"
