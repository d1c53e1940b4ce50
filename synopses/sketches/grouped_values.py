"""The argument's values group by group, as Arrow's hash aggregation hands them over: one flat array and offsets.

Sketches are built from slices of it: what loops in Python is the groups of a flush, never its records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.types import Type
from synopses.carriers import Array


@dataclass(frozen=True)
class GroupedValues:
    """Group ``i`` owns ``values[offsets[i]:offsets[i + 1]]``; NULLs are left out."""

    values: pa.Array
    offsets: Array

    @staticmethod
    def of(lists: pa.ListArray) -> GroupedValues:
        values = lists.flatten()
        offsets = np.asarray(lists.offsets) - lists.offsets[0].as_py()
        if values.null_count:
            there = values.is_valid().to_numpy(zero_copy_only=False)
            values, offsets = values.drop_null(), np.r_[0, np.cumsum(there)][offsets]
        return GroupedValues(values, offsets)

    @property
    def groups(self) -> Array:
        """The group of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def spans(self) -> Iterator[tuple[int, int]]:
        """Start and end of each group."""
        return pairwise(self.offsets.tolist())

    def counted(self) -> tuple[GroupedValues, pa.Array]:
        """Each value once per group, and how often it occurred there."""
        table = pa.table({"group": self.groups, "value": self.values})
        counted = table.group_by(["group", "value"], use_threads=False).aggregate([([], "count_all")])
        counted = counted.sort_by("group")
        groups = counted["group"].to_numpy()
        offsets = np.searchsorted(groups, np.arange(len(self.offsets)))
        return GroupedValues(counted["value"].combine_chunks(), offsets), counted["count_all"].combine_chunks()


def as_numbers(argument: pa.Array | pa.ChunkedArray, type_: Type) -> pa.Array | pa.ChunkedArray:
    """A column that is not of strings as int64 or float64, as ``synopses.carriers`` has it; one zero, as in Spark."""
    if type_.fractional:
        return pc.add(argument.cast(pa.float64()), 0.0)
    if type_ is Type.DATE:
        argument = argument.cast(pa.int32())
    elif type_ is Type.TIMESTAMP:
        argument = argument.cast(pa.timestamp("us", tz="UTC"))
    return argument.cast(pa.int64())
