"""Aggregates that look at a few places of one group's sorted values, such as quantiles: nothing is sorted for them.

Over the sums of a window's groups not even a row per group is made: the places are found where the sums lie.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall, Ref, Select, Value
from synopses.aggregates import AGGREGATES
from synopses.carriers import Array
from synopses.selection import values_at_but_for
from synopses.window_read import Groups, WindowRead


def lower_at_places(call: AggregateCall, values: Array, absent: int = 0) -> pa.Array:
    """The answer of an aggregate that looks at places over the values, at least one; ``absent`` of the zeros among them
    are not meant."""
    aggregate, count = AGGREGATES[call.function], len(values) - absent
    places = aggregate.places(call, count)
    assert places is not None
    return aggregate.lower_places(call, count, values_at_but_for(values, absent, np.array(places)))


class RankedGroups:
    """The one group of an outer level without keys whose aggregates look at places of the sums of a window's groups."""

    size = 1

    def __init__(self, inner: Select, read: WindowRead) -> None:
        self._inner, self._read = inner, read

    @staticmethod
    def of(select: Select, read: Groups) -> RankedGroups | None:
        """None if the level asks for anything else."""
        inner = select.source
        if not isinstance(inner, Select) or not isinstance(read, WindowRead) or not _has_all_rows(inner):
            return None
        if select.keys or select.where is not None:
            return None
        groups = RankedGroups(inner, read)
        return groups if all(map(groups._can, select.aggregates)) and read.size else None

    def aggregate(self, call: AggregateCall) -> pa.Array:
        sums = self._sums(call)
        assert sums is not None
        return lower_at_places(call, sums, len(sums) - self._read.size)

    def keys(self, rows: Array | None = None) -> list[pa.Array]:
        return []

    def _can(self, call: AggregateCall) -> bool:
        return AGGREGATES[call.function].places(call, 1) is not None and self._sums(call) is not None

    def _sums(self, call: AggregateCall) -> Array | None:
        summed = _aggregate_at(self._inner, call.argument)
        return None if summed is None else self._read.sums(summed)


def _has_all_rows(select: Select) -> bool:
    """Whether a level has one row for each group of a window."""
    if isinstance(select.source, Select) or select.having is not None or select.limit is not None:
        return False
    return not any(AGGREGATES[call.function].by_items for call in select.aggregates)


def _aggregate_at(select: Select, value: Value | None) -> AggregateCall | None:
    """The aggregate that a column of a level is, and nothing more."""
    for output in select.outputs:
        if isinstance(value, Ref) and output.name == value.name:
            return select.aggregate_at(output.value)
    return None
