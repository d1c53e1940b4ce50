"""How values of each column type are carried in numpy, and back to Arrow.

Integers, booleans, dates (days) and timestamps (microseconds) are int64; floating point is float64; strings are
Python objects. What adds up is stored as int32 where its sums cannot leave that: half the memory, and several times
faster to add up, as more of it fits the caches. An integer array whose sums might leave int64 becomes an object array
of Python integers: slower, still exact (semantics.md 2: widened, never wrapped).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queries.types import Type

Array = npt.NDArray[Any]

WIDE = pa.decimal256(75, 0)
"""Arrow type of integers that do not fit int64."""

ARROW_TYPES: dict[Type, pa.DataType] = {
    Type.BOOLEAN: pa.bool_(),
    Type.TINYINT: pa.int64(),
    Type.SMALLINT: pa.int64(),
    Type.INT: pa.int64(),
    Type.BIGINT: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


_PLAIN = {pa.int64(): np.dtype(np.int64), pa.float64(): np.dtype(np.float64)}
"""What needs no more than to be handed over. Arrow would convert other widths as well, but for few values twenty times
slower than numpy."""


def dtype_of(type_: Type) -> np.dtype[Any]:
    """The numpy type that carries ``type_``."""
    if type_.fractional:
        return np.dtype(np.float64)
    return np.dtype(object) if type_ is Type.STRING else np.dtype(np.int64)


def to_numpy(array: pa.Array, type_: Type) -> tuple[Array, Array]:
    """Values and validity of an Arrow column. Invalid places hold zero (strings: None)."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else np.ones(len(array), dtype=bool)
    if type_ is Type.STRING:
        return np.asarray(array.to_pylist(), dtype=object).reshape(len(array)), valid
    if pa.types.is_decimal(array.type):
        whole = np.array([0 if v is None else int(v) for v in array.to_pylist()], dtype=object)
        return narrowed(whole), valid
    if type_ is Type.DATE:
        array = array.cast(pa.int32())
    elif type_ is Type.TIMESTAMP:
        array = array.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    carried = pa.float64() if type_.fractional else pa.int64()
    if array.type != carried:
        array = array.cast(carried)
    if array.null_count:
        array = pc.fill_null(array, 0.0 if type_.fractional else 0)
    return array.to_numpy(zero_copy_only=False), valid


def to_arrow(values: Array, type_: Type, valid: Array | None = None) -> pa.Array:
    """The inverse of ``to_numpy``; integers outside int64 come back as ``WIDE`` decimals."""
    arrow = ARROW_TYPES[type_]
    mask = None if valid is None or valid.all() else ~valid
    plain = _PLAIN.get(arrow)
    if plain is not None and values.dtype.kind == plain.kind:
        return pa.array(values.astype(plain, copy=False), type=arrow, mask=mask)
    if values.dtype == object and type_.integer:
        values = narrowed(values if mask is None else np.where(mask, 0, values))
        if values.dtype == object:
            return pa.array(values.tolist(), type=WIDE, mask=mask)
    if type_ is Type.STRING:
        return pa.array(values, type=arrow, mask=mask)
    if type_ is Type.DATE:
        return pa.array(values.astype(np.int32), type=pa.int32(), mask=mask).cast(arrow)
    if type_ is Type.BOOLEAN:
        return pa.array(values.astype(bool), mask=mask)
    carried = pa.float64() if type_.fractional else pa.int64()
    return pa.array(values, type=carried, mask=mask).cast(arrow)


INT64 = np.iinfo(np.int64)


def narrowed(values: Array) -> Array:
    """An object array of integers as int64 if every one fits, else unchanged."""
    if values.dtype != object:
        return values
    if values.size and (values.max() > INT64.max or values.min() < INT64.min):
        return values
    return values.astype(np.int64)


def fitted(values: Array, times: int) -> Array:
    """Integers in the narrowest type (int32, int64, Python's own) that a sum of ``times`` such values cannot leave,
    nor a sum of two such sums; doubles unchanged."""
    if values.dtype.kind == "f":
        return values
    largest = magnitude(values) * max(times, 1)
    wanted = np.dtype(np.int32 if largest < 2**30 else np.int64 if largest < 2**62 else object)
    return values if values.dtype == wanted else values.astype(wanted)


def widened(values: Array, dtype: np.dtype[Any]) -> Array:
    """The values in a type that holds them and those of ``dtype``."""
    if values.dtype == dtype:
        return values
    wide = np.promote_types(values.dtype, dtype)
    return values if values.dtype == wide else values.astype(wide)


def magnitude(values: Array) -> int:
    """The largest absolute value, as a Python integer (abs of int64's minimum does not wrap)."""
    if not values.size:
        return 0
    return max(abs(int(values.max())), abs(int(values.min())))
