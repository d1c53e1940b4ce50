"""Arrow columns as lists of values for a database driver, converted a column at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queries.types import Type
from results.wide_integers import INT64_MAX, INT64_MIN


def values(column: pa.ChunkedArray, type: Type, *, nan_as_text: bool = False) -> list[Any]:
    """The column as int, float, str, bytes or None, by the type the query declares for it.

    Integers beyond 64 bits become decimal text; booleans 0 or 1; dates and timestamps ISO text.
    ``nan_as_text`` keeps a NaN apart from NULL where a driver would merge the two.
    """
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_null(column.type):
        return [None] * len(column)
    if type.integer:
        return _integers(column)
    if type is Type.BOOLEAN:
        return _plain(pc.cast(column, pa.int8()))
    if type in (Type.FLOAT, Type.DOUBLE):
        floats = _plain(pc.cast(column, pa.float64()))
        return ["NaN" if value != value else value for value in floats] if nan_as_text else floats
    if type is Type.TIMESTAMP:
        return _timestamps(column)
    if type is Type.BINARY:
        return _objects(column)
    return _objects(column if _is_text(column.type) else pc.cast(column, pa.string()))


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Fixed-width numbers: through numpy when there is no NULL, which is several times faster."""
    return list(column.to_pylist()) if column.null_count else list(column.to_numpy().tolist())


def _objects(column: pa.ChunkedArray) -> list[Any]:
    return list(column.to_numpy().tolist())


def _integers(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_decimal(column.type) or pa.types.is_uint64(column.type):
        try:
            column = pc.cast(column, pa.int64())
        except pa.ArrowInvalid:
            return [value if value is None else _fitting(int(value)) for value in column.to_pylist()]
    elif pa.types.is_floating(column.type):
        column = pc.cast(column, pa.int64())
    return _plain(column)


def _fitting(value: int) -> int | str:
    return value if INT64_MIN <= value <= INT64_MAX else str(value)


def _timestamps(column: pa.ChunkedArray) -> list[Any]:
    naive = pc.cast(column, pa.timestamp("us"))
    texts = pc.replace_substring(pc.cast(naive, pa.string()), " ", "T")
    return _objects(pc.binary_join_element_wise(texts, "Z", ""))
