"""The rows in which tables of partial aggregates travel between Spark's workers and the driver: as bytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

ROW = "need INT, part INT, payload BINARY, records BIGINT"


def row(need: int, payload: bytes, records: int, part: int = 0) -> pa.RecordBatch:
    """One row: what it is of (``need``), where it has to meet others of its kind (``part``), its content."""
    columns = [pa.array([need], pa.int32()), pa.array([part], pa.int32()), pa.array([payload], pa.binary())]
    names = ["need", "part", "payload", "records"]
    return pa.record_batch([*columns, pa.array([records], pa.int64())], names=names)


def encoded(table: pa.Table) -> bytes:
    table = _narrowed(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


def decoded(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as reader:
        table = reader.read_all()
    return table.cast(pa.schema([pa.field(column.name, _widened(column), column.nullable) for column in table.schema]))


_WIDE = b"wide"
"""Marks a column of 64 bit integers that travels as a smaller one."""


def _narrowed(table: pa.Table) -> pa.Table:
    """Columns of 64 bit integers in as few bits as their values need: counts and sums of one flush are small, and a
    worker's answers are copied several times on their way to the driver."""
    for place, column in enumerate(table.schema):
        if not pa.types.is_int64(column.type) or not table.num_rows:
            continue
        extremes = pc.min_max(table.column(place)).as_py()
        low, high = extremes["min"], extremes["max"]
        for bits, narrow in ((8, pa.int8()), (16, pa.int16()), (32, pa.int32())):
            if low is not None and -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
                marked = pa.field(column.name, narrow, column.nullable, {_WIDE: b""})
                table = table.set_column(place, marked, table.column(place).cast(narrow))
                break
    return table


def _widened(column: pa.Field) -> pa.DataType:
    return pa.int64() if column.metadata is not None and _WIDE in column.metadata else column.type
