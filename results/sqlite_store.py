"""The results in SQLite: a write-ahead log, one transaction per update, one writer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queries.errors import RunError
from queries.model import Microseconds, Query
from queries.types import Type
from results import registration
from results.answer_table import AnswerTable
from results.arrow_columns import values
from results.sqlite_dialect import BUSY_TIMEOUT_SECONDS, explained, insert_rows, quote, upsert
from results.sqlite_schema import check_sqlite_version, connect, transaction
from results.store import Refresh, StreamProgress, Update
from results.times import optional_time_text, time_of, time_text, times_of
from results.writer_lock import WriterLock

_REFRESH = (
    "query", "window_end", "task", "started_at", "duration_ms", "rows", "late_by", "restored", "shared_with",
)  # fmt: skip
_PUT_REFRESH = upsert("hemiola_refreshes", _REFRESH, ("query", "window_end"))
_STREAM = ("stream", "interval_us", "seen_from", "newest", "updated_until", "records", "rejected")
_PUT_STREAM = upsert(
    "hemiola_streams", _STREAM, ("stream",), "WHERE excluded.updated_until >= hemiola_streams.updated_until"
)


class SqliteStore:
    """A ``ResultsStore``. ``results_keep`` bounds the history: window ends older than the stream's newest update by
    more than it are deleted, also from the tables of inactive and archived queries."""

    shelf = None

    def __init__(
        self,
        database: Path,
        *,
        results_keep: Microseconds | None = None,
        busy_timeout: float = BUSY_TIMEOUT_SECONDS,
    ) -> None:
        check_sqlite_version()
        self._database = database.resolve()
        self._keep = results_keep
        self._tables: dict[str, AnswerTable] = {}
        self._oldest: dict[str, dict[str, str]] = {}
        self._newest: dict[str, str] = {}
        try:
            self._database.parent.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock(self._database)
        except OSError as error:
            raise RunError(
                f"cannot write the results {self._database}: {error.strerror}",
                hint="check the path and its permissions",
            ) from error
        try:
            with explained(self._database):
                self._connection = connect(self._database, busy_timeout)
        except BaseException:
            self._lock.release()
            raise

    def register(self, queries: Sequence[Query], registered_at: Microseconds) -> None:
        with explained(self._database), transaction(self._connection):
            tables = registration.register(self._connection, queries, registered_at)
        self._tables = tables
        self._oldest = self._oldest_by_stream()
        self._newest = self._newest_by_query()

    def done(self, query: str) -> npt.NDArray[np.int64]:
        with explained(self._database):
            rows = self._connection.execute(
                "SELECT window_end FROM hemiola_refreshes WHERE query = ? ORDER BY window_end", (query,)
            ).fetchall()
        return times_of([end for (end,) in rows])

    def progress(self, stream: str) -> StreamProgress | None:
        with explained(self._database):
            row = self._connection.execute(
                "SELECT interval_us, updated_until, seen_from, newest, records, rejected"
                " FROM hemiola_streams WHERE stream = ?",
                (stream,),
            ).fetchone()
        if row is None:
            return None
        interval, updated_until, seen_from, newest, records, rejected = row
        until = int(times_of([updated_until])[0])
        return StreamProgress(stream, interval, until, time_of(seen_from), time_of(newest), records, rejected)

    def commit(self, update: Update) -> None:
        progress = update.progress
        oldest = dict(self._oldest.get(progress.stream, {}))
        newest: dict[str, str] = {}
        with explained(self._database), transaction(self._connection):
            for refresh in update.refreshes:
                end = time_text(refresh.window_end)
                before = newest.get(refresh.query, self._newest.get(refresh.query, ""))
                self._put_answer(refresh, again=end <= before)
                oldest[refresh.query] = min(end, oldest.get(refresh.query, end))
                newest[refresh.query] = max(end, before)
            self._connection.executemany(_PUT_REFRESH, map(_refresh_row, update.refreshes))
            self._connection.execute(_PUT_STREAM, _stream_row(progress))
            if self._keep is not None:
                self._forget(progress.stream, self._keep, oldest)
        self._oldest[progress.stream] = oldest
        self._newest |= newest

    def put_rejects(self, stream: str, batch: str, rejects: pa.Table) -> None:
        reasons, records = (values(rejects[name], Type.STRING) for name in ("reason", "record"))
        with explained(self._database), transaction(self._connection):
            self._connection.execute("DELETE FROM hemiola_rejects WHERE stream = ? AND batch = ?", (stream, batch))
            self._connection.executemany(
                "INSERT INTO hemiola_rejects (stream, reason, record, batch) VALUES (?, ?, ?, ?)",
                zip(repeat(stream), reasons, records, repeat(batch), strict=False),
            )

    def close(self) -> None:
        self._connection.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _put_answer(self, refresh: Refresh, again: bool) -> None:
        """``again`` says that the table may have rows of this window end already."""
        table = self._tables.get(refresh.query)
        if table is None:
            raise RunError("answers came for a query that is not registered in the results", query=refresh.query)
        if again:
            self._connection.execute(
                f"DELETE FROM {quote(table.name)} WHERE window_end = ?", (time_text(refresh.window_end),)
            )
        if refresh.table.num_rows:
            try:
                self._connection.executemany(insert_rows(table), _answer_rows(table, refresh))
            except sqlite3.IntegrityError as error:
                end = time_text(refresh.window_end)
                message = f"the answer at {end} does not fit its table: {error}"
                raise RunError(message, query=refresh.query) from error

    def _forget(self, stream: str, keep: Microseconds, oldest: dict[str, str]) -> None:
        """Delete what is too old; ``oldest`` (by query) spares the tables that have nothing to delete."""
        mark = self.progress(stream)
        assert mark is not None
        before = time_text(mark.updated_until - keep)
        for query in [query for query, end in oldest.items() if end < before]:
            self._connection.execute(f"DELETE FROM {quote(query)} WHERE window_end < ?", (before,))
            self._connection.execute(
                "DELETE FROM hemiola_refreshes WHERE query = ? AND window_end < ?", (query, before)
            )
            (end,) = self._connection.execute(
                "SELECT min(window_end) FROM hemiola_refreshes WHERE query = ?", (query,)
            ).fetchone()
            if end is None:
                del oldest[query]
            else:
                oldest[query] = end

    def _newest_by_query(self) -> dict[str, str]:
        """Of every query there was, the newest window end its table may have rows of."""
        with explained(self._database):
            rows = self._connection.execute(
                "SELECT name, (SELECT max(window_end) FROM hemiola_refreshes WHERE query = name) FROM hemiola_queries"
            )
            return {name: end for name, end in rows if end is not None}

    def _oldest_by_stream(self) -> dict[str, dict[str, str]]:
        """Of every table there still is, archives included, the oldest window end. Like the newest, it is looked up
        query by query: the refreshes of months are not to be read because a query is registered."""
        oldest: dict[str, dict[str, str]] = {}
        with explained(self._database):
            rows = self._connection.execute(
                "SELECT stream, name, (SELECT min(window_end) FROM hemiola_refreshes WHERE query = name)"
                " FROM hemiola_queries WHERE name IN (SELECT name FROM sqlite_master WHERE type = 'table')"
            )
            for stream, name, end in rows:
                if end is not None:
                    oldest.setdefault(stream, {})[name] = end
        return oldest


def _answer_rows(table: AnswerTable, refresh: Refresh) -> Iterable[tuple[Any, ...]]:
    """The rows to insert, zipped from whole columns."""
    answer = refresh.table
    names = [column.name for column in table.columns]
    if sorted(answer.column_names) != sorted(names):
        raise ValueError(f"{refresh.query}: the answer has columns {answer.column_names}, its table {names}")
    rank = (range(1, answer.num_rows + 1),) if table.ordered else ()
    return zip(
        repeat(time_text(refresh.window_start)),
        repeat(time_text(refresh.window_end)),
        repeat(int(refresh.complete)),
        *rank,
        *(values(answer[column.name], column.type, nan_as_text=column.key) for column in table.columns),
        repeat(time_text(refresh.refreshed_at)),
        repeat(refresh.late_by),
        repeat(int(refresh.restored)),
        strict=False,
    )


def _refresh_row(refresh: Refresh) -> tuple[object, ...]:
    return (
        refresh.query, time_text(refresh.window_end), refresh.task, time_text(refresh.started_at),
        refresh.duration_ms, refresh.rows, refresh.late_by, int(refresh.restored),
        json.dumps(refresh.shared_with, ensure_ascii=False),
    )  # fmt: skip


def _stream_row(progress: StreamProgress) -> tuple[object, ...]:
    return (
        progress.stream, progress.interval, optional_time_text(progress.seen_from),
        optional_time_text(progress.newest), time_text(progress.updated_until), progress.records, progress.rejected,
    )  # fmt: skip
