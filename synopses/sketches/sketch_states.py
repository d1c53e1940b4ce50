"""States made of sketches: object arrays of immutable sketches, merged by union, None where nothing was seen.

A sketch in a state is never changed: a union is a new sketch. So an accumulator may hold the very sketch a synopsis
stores, and the states handed out for a short window survive the merging for a longer one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from synopses.algebra import State
from synopses.carriers import Array


class SketchStates(ABC):
    """Identity, combine and load of a component whose first part is a sketch per group."""

    parts = 1

    @abstractmethod
    def union(self, sketches: Sequence[Any]) -> Any:
        """A new sketch of what all of them have seen."""

    @abstractmethod
    def deserialized(self, payload: bytes) -> Any: ...

    @abstractmethod
    def serialized(self, sketch: Any) -> bytes: ...

    def identity(self, size: int) -> State:
        return (np.full(size, None, dtype=object),)

    def absorb(self, into: State, codes: Array, state: State) -> State:
        (merged, *_), (sketches, *_) = into, state
        if not len(codes):
            return into
        order = np.argsort(codes, kind="stable")
        codes, ordered = codes[order], sketches[order].tolist()
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        ends = [*starts[1:].tolist(), len(ordered)]
        for code, start, end in zip(codes[starts].tolist(), starts.tolist(), ends, strict=True):
            found = [sketch for sketch in (merged[code], *ordered[start:end]) if sketch is not None]
            if found:
                merged[code] = found[0] if len(found) == 1 else self.union(found)
        return into

    def guard(self, state: State, intervals: int) -> State:
        return state

    def load(self, parts: Sequence[pa.Array]) -> State:
        return (objects(self.deserialized(payload) for payload in parts[0].to_pylist()),)

    def unload(self, state: State) -> tuple[pa.Array, ...]:
        """A group in which nothing was seen has no sketch: an empty union stands for it."""
        sketches, *others = state
        stored = (self.serialized(self.union([]) if sketch is None else sketch) for sketch in sketches)
        return payloads(stored), *(pa.array(part) for part in others)


def objects(items: Iterable[Any]) -> Array:
    return np.fromiter(items, dtype=object)


def payloads(items: Iterable[bytes]) -> pa.Array:
    return pa.array(items, type=pa.binary())
