"""Aggregates whose answer is a list of items: APPROX_TOP_K and TOP_K_LISTS give one row per item, not per group.

Every column of such an answer is an ``AggregateCall`` that differs from the others only in its ``part``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from synopses.carriers import Array
from synopses.keys import KeyNode
from synopses.topk_lists import ListedItems


@dataclass(frozen=True)
class ItemRows:
    """Parallel columns: the items, what each weighs (estimate, low, high), and δ where the aggregate has one."""

    item: pa.Array
    count: pa.Array
    low: pa.Array
    high: pa.Array
    delta: pa.Array | None = None

    def column(self, part: str) -> pa.Array:
        found: Any = getattr(self, part or "item")
        return found


@dataclass(frozen=True)
class ListRead:
    """The reported items of one window: codes of the node of items, counters, Σ δi where they are listed, δ."""

    node: KeyNode
    codes: Array
    counters: Array
    covered: Array
    delta: Array


Lists = Mapping[ListedItems, ListRead]
