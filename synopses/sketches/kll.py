"""Which value has a given rank: KLL per group (APPROX_QUANTILE), over numbers, dates and times.

Values are carried as doubles; the bytes are those of Spark's ``kll_sketch_agg_double``. NaN is counted apart: it is
the greatest value (as in Spark), and the sketch passes over it. Merging draws random bits that cannot be seeded: two
runs may give different answers, both within the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import datasketches
import numpy as np
import pyarrow as pa

from queries.model import Value
from queries.types import Type
from synopses.algebra import Capabilities, Reduction, State
from synopses.carriers import Array, to_numpy
from synopses.sketches.grouped_values import GroupedValues, as_numbers
from synopses.sketches.sketch_states import SketchStates, payloads

DEFAULT_K = 200
LEAST_K, GREATEST_K = 8, 65535


def rank_error(k: int) -> float:
    """How far the rank of an answer may be off, as a share of all values (99% confidence, one quantile)."""
    return float(datasketches.kll_doubles_sketch.get_normalized_rank_error(k, False))


def k_for(precision: float) -> int:
    """The smallest k with this rank error (below 1), or this k itself (from 1)."""
    if precision >= 1:
        return int(min(max(precision, LEAST_K), GREATEST_K))
    low, high = LEAST_K, GREATEST_K
    while low < high:
        middle = (low + high) // 2
        if rank_error(middle) <= precision:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True)
class QuantileSketch(SketchStates):
    """KLL sketch of the values of ``argument`` that are numbers, and how many are NaN."""

    argument: Value
    k: int = DEFAULT_K
    capabilities = Capabilities()
    parts = 2

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        return {"": as_numbers(argument, self.argument.type).cast(pa.float64(), safe=False)}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", "list"),)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        grouped = GroupedValues.of(reduced[0])
        values = np.array(grouped.values)
        nans = np.diff(np.r_[0, np.cumsum(np.isnan(values))][grouped.offsets])
        return payloads([self._sketch(values[start:end]) for start, end in grouped.spans()]), pa.array(nans, pa.int64())

    def _sketch(self, values: Array) -> bytes:
        sketch = datasketches.kll_doubles_sketch(self.k)
        sketch.update(values)
        return self.serialized(sketch)

    def union(self, sketches: Sequence[datasketches.kll_doubles_sketch]) -> datasketches.kll_doubles_sketch:
        union = datasketches.kll_doubles_sketch(self.k)
        for sketch in sketches:
            union.merge(sketch)
        return union

    def serialized(self, sketch: datasketches.kll_doubles_sketch) -> bytes:
        payload: bytes = sketch.serialize()
        return payload

    def deserialized(self, payload: bytes) -> datasketches.kll_doubles_sketch:
        return datasketches.kll_doubles_sketch.deserialize(payload)

    def load(self, parts: Sequence[pa.Array]) -> State:
        return (*super().load(parts[:1]), to_numpy(parts[1], Type.BIGINT)[0])

    def identity(self, size: int) -> State:
        return (*super().identity(size), np.zeros(size, dtype=np.int64))

    def absorb(self, into: State, codes: Array, state: State) -> State:
        np.add.at(into[1], codes, state[1])
        return super().absorb(into, codes, state)
