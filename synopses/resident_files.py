"""Partials that live outside the driver: immutable Parquet files, each of one pre-aggregation, sorted by slot.

A file holds one interval (or a block of merged ones) of a range of slots (``synopses.slots``), so that a task which
answers for some slots reads just those rows of every interval. Files are written whole by the tasks that compute
them, under names nobody else uses; what counts is what the driver was told of and has committed. Whatever a task
that failed has left behind is never read and goes with its interval's folder.

Folders are paths or URIs that Arrow knows (``queries.file_systems``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from queries.file_systems import opened
from synopses.algebra import Component, State
from synopses.carriers import WIDE, Array
from synopses.keys import KeyNode, KeyTree
from synopses.partials import OpenIntervals, split_states
from synopses.preaggregate import INTERVAL, Preaggregation, key_name, part_name
from synopses.slots import SLOTS, slots_of

SLOT = "slot"
_ROW_GROUP = 1 << 15


@dataclass(frozen=True)
class ResidentFile:
    """The partials of intervals ``[first, last)``, merged if they are several, of slots ``[low, high)``."""

    path: str
    first: int
    last: int
    low: int
    high: int
    rows: int
    nbytes: int


def folder_name(described: str) -> str:
    """The folder of one pre-aggregation (``partials_store.describe_need``) under the root of its stream."""
    return sha256(described.encode()).hexdigest()[:16]


def write_intervals(root: str, name: str, need: Preaggregation, tables: Sequence[pa.Table]) -> Iterator[ResidentFile]:
    """Writes these partials, each (interval, group) once, as one file per interval: ``root/interval/name.parquet``."""
    for interval, table in merged_by_interval(need, tables):
        yield write_file(f"{root}/{interval}", name, interval, interval + 1, table)


def write_file(folder: str, name: str, first: int, last: int, table: pa.Table) -> ResidentFile:
    """Writes partials, sorted by slot, as one file."""
    system, path = opened(f"{folder}/{name}.parquet")
    system.create_dir(path.rsplit("/", 1)[0], recursive=True)
    slots = slots_of([table[key].combine_chunks() for key in _keys_in(table)], table.num_rows)
    order = np.argsort(slots, kind="stable")
    table = table.append_column(SLOT, pa.array(slots)).take(pa.array(order))
    pq.write_table(
        table, path, filesystem=system, row_group_size=_ROW_GROUP, compression="lz4", use_dictionary=[INTERVAL, SLOT]
    )
    if isinstance(system, fs.LocalFileSystem):  # others make files durable when they are closed
        with open(path, "rb") as written:
            os.fsync(written.fileno())
    nbytes = system.get_file_info(path).size
    low, high = (int(slots.min()), int(slots.max()) + 1) if len(slots) else (0, SLOTS)
    return ResidentFile(f"{folder}/{name}.parquet", first, last, low, high, table.num_rows, nbytes)


def read_file(file: ResidentFile, low: int, high: int) -> pa.Table:
    """The rows of slots ``[low, high)``: columns ``interval, k0…, c0_0…``. Of the file's groups of rows, which are
    sorted by slot, only those that can hold some are read."""
    system, path = opened(file.path)
    with pq.ParquetFile(path, filesystem=system) as parquet:
        place = parquet.schema_arrow.get_field_index(SLOT)
        groups = []
        for number in range(parquet.num_row_groups):
            bounds = parquet.metadata.row_group(number).column(place).statistics
            if bounds is None or (bounds.min < high and bounds.max >= low):
                groups.append(number)
        table = parquet.read_row_groups(groups, use_threads=False)
    start, end = np.searchsorted(table[SLOT].to_numpy(), [low, high])
    return table.slice(start, end - start).drop_columns([SLOT])


def merged_by_interval(need: Preaggregation, tables: Sequence[pa.Table]) -> Iterator[tuple[int, pa.Table]]:
    """By interval, ascending, the partials of these tables as one, each group once."""
    node = KeyTree().node(need.keys)
    buffer = OpenIntervals(need.components)
    for table in tables:
        buffer.add(*split_states(table, need, node))
    for interval in buffer.intervals():
        partials = buffer.close(interval)
        yield interval, partials_table(need, node, interval, partials.codes, partials.states)


def partials_table(
    need: Preaggregation, node: KeyNode, interval: int, codes: Array, states: Sequence[State]
) -> pa.Table:
    """Coded partials of one interval as a table: what ``split_states`` takes apart again."""
    columns: dict[str, pa.Array] = {INTERVAL: pa.array(np.full(len(codes), interval, dtype=np.int64))}
    columns |= {key_name(place): column for place, column in enumerate(node.decode(codes))}
    for number, (component, state) in enumerate(zip(need.components, states, strict=True)):
        columns |= _parts(number, component, state)
    return pa.table(columns)


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of them all. A column whose integers are too wide for 64 bits in some of them is wide in all."""
    first = tables[0].schema
    if all(table.schema.equals(first) for table in tables):
        return pa.concat_tables(tables)
    wide = {field.name for table in tables for field in table.schema if pa.types.is_decimal(field.type)}
    return pa.concat_tables([_widened(table, wide) for table in tables])


def _widened(table: pa.Table, wide: set[str]) -> pa.Table:
    fields = [pa.field(field.name, WIDE if field.name in wide else field.type) for field in table.schema]
    return table.cast(pa.schema(fields))


def _parts(number: int, component: Component, state: State) -> dict[str, pa.Array]:
    return {part_name(number, part): column for part, column in enumerate(component.unload(state))}


def _keys_in(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if name.startswith("k")]
