"""How many distinct values: HyperLogLog per group (APPROX_COUNT_DISTINCT).

The bytes are those of Spark's ``hll_sketch_agg`` (DataSketches' HLL_8). The empty string, which DataSketches passes
over, is counted under a stand-in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import datasketches
import pyarrow as pa
import pyarrow.compute as pc

from queries.model import Value
from queries.types import Type
from synopses.algebra import Capabilities, Reduction
from synopses.sketches.grouped_values import GroupedValues, as_numbers
from synopses.sketches.sketch_states import SketchStates, payloads

DEFAULT_LG_K = 12
LEAST_LG_K, GREATEST_LG_K = 4, 21
DEVIATIONS = 2
"""Width of the bounds in standard deviations: about 95% of them hold."""
_EMPTY_STRING = "\0"


def relative_error(lg_k: int) -> float:
    """Half the width of the bounds relative to the answer, of merged sketches with ``2**lg_k`` registers."""
    return abs(float(datasketches.hll_sketch.get_rel_err(False, True, lg_k, DEVIATIONS)))


def lg_k_for(precision: float) -> int:
    """The smallest sketch with this relative error (below 1), or with this many registers (from 1)."""
    for lg_k in range(LEAST_LG_K, GREATEST_LG_K):
        if (relative_error(lg_k) <= precision) if precision < 1 else (1 << lg_k >= precision):
            return lg_k
    return GREATEST_LG_K


@dataclass(frozen=True)
class DistinctSketch(SketchStates):
    """HLL sketch of the values of ``argument``. Values seen twice do no harm, so any cover serves (rule SS4)."""

    argument: Value
    lg_k: int = DEFAULT_LG_K
    capabilities = Capabilities(duplicate_insensitive=True)

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        if self.argument.type is Type.STRING:
            return {"": pc.if_else(pc.equal(argument, ""), _EMPTY_STRING, argument)}
        return {"": as_numbers(argument, self.argument.type)}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", "distinct", pc.CountOptions(mode="only_valid")),)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        grouped = GroupedValues.of(reduced[0])
        values = grouped.values.to_pylist()
        return (payloads([self._sketch(values[start:end]) for start, end in grouped.spans()]),)

    def _sketch(self, distinct: list[int | float | str]) -> bytes:
        sketch = datasketches.hll_sketch(self.lg_k, datasketches.HLL_8)
        deque(map(sketch.update, distinct), maxlen=0)
        return self.serialized(sketch)

    def union(self, sketches: Sequence[datasketches.hll_sketch]) -> datasketches.hll_sketch:
        union = datasketches.hll_union(self.lg_k)
        for sketch in sketches:
            union.update(sketch)
        return union.get_result(datasketches.HLL_8)

    def serialized(self, sketch: datasketches.hll_sketch) -> bytes:
        payload: bytes = sketch.serialize_compact()
        return payload

    def deserialized(self, payload: bytes) -> datasketches.hll_sketch:
        return datasketches.hll_sketch.deserialize(payload)
