"""What goes into the results and what a store of them promises, whatever database it is.

All times are microseconds since the epoch (UTC); ``late_by`` is in seconds, ``duration_ms`` in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queries.errors import RunError
from queries.model import Microseconds, Query


class ResultsUnavailable(RunError):
    """The results cannot be written now (locked, disk full). Nothing was written: the same commit may be retried."""


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream has come: the mark that is committed together with an update's answers.

    ``updated_until`` is the time of the newest finished update; ``seen_from`` and ``newest`` are the first and the
    newest event time seen (None before the first record); ``records`` and ``rejected`` count since the beginning.
    """

    stream: str
    interval: Microseconds
    updated_until: Microseconds
    seen_from: Microseconds | None = None
    newest: Microseconds | None = None
    records: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class Refresh:
    """One refresh of one query: the answer over ``[window_start, window_end)`` and how it came about.

    ``table`` holds the answer columns under their output names in SELECT order; the rows of an ordered query are
    in rank order. ``shared_with`` names the other queries that were refreshed in the same joint execution. The rows
    of an answer on a ``shelf`` (``results.lake``) are there and not in ``table``; ``shelved`` is their number.
    """

    query: str
    window_start: Microseconds
    window_end: Microseconds
    complete: bool
    table: pa.Table
    task: str
    started_at: Microseconds
    refreshed_at: Microseconds
    duration_ms: float
    late_by: float = 0.0
    restored: bool = False
    shared_with: tuple[str, ...] = ()
    shelf: OnShelf | None = None
    shelved: int = 0

    @property
    def rows(self) -> int:
        return self.table.num_rows if self.shelf is None else self.shelved


class OnShelf(Protocol):
    """An answer that lies beside its place."""

    def put_in_place(self) -> None: ...


MakeShelf = Callable[[str, Microseconds, Microseconds, bool, Microseconds, float, bool], OnShelf]


@dataclass(frozen=True)
class Update:
    """All answers of one update of one stream, and the progress mark they stand for."""

    progress: StreamProgress
    refreshes: tuple[Refresh, ...] = ()


class ResultsStore(Protocol):
    """Where answers go. One writer at a time; readers use ``results.reader`` and are never in the way.

    ``shelf``: a place in the lake for one answer (query, window start and end, complete, now, late by, restored), or
    None where there is no lake.
    """

    @property
    def shelf(self) -> MakeShelf | None: ...

    def register(self, queries: Sequence[Query], registered_at: Microseconds) -> None:
        """Make this the registered set, all or nothing.

        A name that comes back with another meaning keeps its old rows under ``<name>__1``, ``<name>__2``, …;
        a query that is no longer in the set is marked inactive and keeps its table.
        """
        ...

    def done(self, query: str) -> npt.NDArray[np.int64]:
        """The window ends already refreshed, ascending: work = due - done."""
        ...

    def commit(self, update: Update) -> None:
        """Write a whole update in one transaction; committing a (query, window end) again replaces its rows.

        Raises ResultsUnavailable when the database is locked or full, with nothing written. The progress mark
        never moves back. History beyond ``results_keep`` is deleted in the same transaction.
        """
        ...

    def progress(self, stream: str) -> StreamProgress | None: ...

    def put_rejects(self, stream: str, batch: str, rejects: pa.Table) -> None:
        """Keep the malformed or too late records of a batch: columns ``reason`` and ``record`` (text).

        Storing a batch again replaces what it left before.
        """
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
