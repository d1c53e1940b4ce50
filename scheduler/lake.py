"""Answers too large for the driver, left in the lake by the tasks that compute them.

``query=<name>/end=<time>/part-*.parquet`` under the lake's folder, with the columns of the query's results table.
Tasks write beside it, under a name of their own; whoever commits the update moves the folder into its place, so a
reader sees a window end whole or not at all, and computing it again replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from queries.model import Microseconds
from synopses.resident_files import opened

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Shelved:
    """Where one answer goes: the lake's folder, the query, and the columns that are the same in all rows. ``token``
    tells this attempt from all others."""

    lake: str
    token: str
    query: str
    window_start: Microseconds
    window_end: Microseconds
    complete: bool
    refreshed_at: Microseconds
    late_by: float
    restored: bool

    @property
    def staging(self) -> str:
        return f"{self.lake}/_staging/{self.token}/{self.query}-{self.window_end}"

    @property
    def place(self) -> str:
        end = _EPOCH + timedelta(microseconds=self.window_end)
        fraction = f".{end.microsecond:06d}" if end.microsecond else ""
        return f"{self.lake}/query={self.query}/end={end:%Y%m%dT%H%M%S}{fraction}Z"


def shelve(shelf: Shelved, part: str, rows: pa.Table) -> pa.Table:
    """Writes some rows of the answer into the staging folder. What comes back says how many, and the file's name."""
    system, folder = opened(shelf.staging)
    system.create_dir(folder, recursive=True)
    size = rows.num_rows
    before = {
        "window_start": pa.array([shelf.window_start] * size, pa.int64()).cast(_TIME),
        "window_end": pa.array([shelf.window_end] * size, pa.int64()).cast(_TIME),
        "complete": pa.array([shelf.complete] * size),
    }
    after = {
        "refreshed_at": pa.array([shelf.refreshed_at] * size, pa.int64()).cast(_TIME),
        "late_by": pa.array([shelf.late_by] * size, pa.float64()),
        "restored": pa.array([shelf.restored] * size),
    }
    name = f"part-{part}.parquet"
    table = pa.table({**before, **{column: rows[column] for column in rows.column_names}, **after})
    pq.write_table(table, f"{folder}/{name}", filesystem=system, compression="lz4")
    return pa.table({"rows": [size], "name": [name]})


def put_in_place(shelf: Shelved) -> None:
    """Makes what was shelved the answer of its window end, in place of what was there."""
    system, staging = opened(shelf.staging)
    _, place = opened(shelf.place)
    if system.get_file_info(place).type != fs.FileType.NotFound:
        system.delete_dir(place)
    system.create_dir(place.rsplit("/", 1)[0], recursive=True)
    if system.get_file_info(staging).type == fs.FileType.NotFound:
        return
    system.move(staging, place)
