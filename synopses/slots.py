"""A slot for every key tuple: the same in every process, so that files of partials can be cut by ranges of slots.

A slot is the top bits of a hash of the key values. Values that are one group are in one slot: 0.0 and -0.0, every
NaN, an integer however wide its column is.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synopses.carriers import Array

SLOTS = 1 << 12
"""Slots are 0..SLOTS−1; a synopsis can be probed by at most so many tasks."""
_NULL = np.uint64(0x9E3779B97F4A7C15)


def slots_of(keys: Sequence[pa.Array], rows: int) -> Array:
    """The slot of each key tuple, given column by column; without keys there is but one group, in slot 0."""
    if not keys:
        return np.zeros(rows, dtype=np.int32)
    mixed = np.zeros(rows, dtype=np.uint64)
    for column in keys:
        encoded = column.dictionary_encode(null_encoding="encode")
        hashes = _hashes(encoded.dictionary)
        mixed = _scrambled(mixed ^ hashes[encoded.indices.to_numpy(zero_copy_only=False)])
    return (mixed >> np.uint64(64 - 12)).astype(np.int32)


def _hashes(distinct: pa.Array) -> Array:
    valid = distinct.is_valid().to_numpy(zero_copy_only=False)
    return np.where(valid, _scrambled(_numbers(distinct)), _NULL)


def _numbers(distinct: pa.Array) -> Array:
    """Values as 64 bit numbers; what stands for NULL does not matter."""
    type_ = distinct.type
    if pa.types.is_floating(type_):
        values = np.array(pc.fill_null(distinct, 0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)) + 0.0
        values[np.isnan(values)] = np.nan
        return values.view(np.uint64)
    if pa.types.is_decimal(type_):
        whole = (0 if value is None else int(value) for value in distinct.to_pylist())
        return np.fromiter((value & (2**64 - 1) for value in whole), dtype=np.uint64, count=len(distinct))
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        texts = pc.fill_null(distinct, "").cast(pa.binary()).to_pylist()
        return np.fromiter(map(crc32, texts), dtype=np.uint64, count=len(texts))
    if pa.types.is_date(type_):
        distinct = distinct.cast(pa.int32())
    integers: Array = pc.fill_null(distinct.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return integers.view(np.uint64)


def _scrambled(numbers: Array) -> Array:
    """The finalizer of SplitMix64: every bit of the input reaches every bit of the output."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: Array = numbers ^ (numbers >> np.uint64(31))
    return mixed
