"""Which values occur most often: the frequent-items sketch per group (APPROX_TOP_K).

Items are carried as text (numbers in their shortest exact form), so that one kind of sketch holds every type; for
strings the bytes are those of Spark's ``approx_top_k_accumulate``. Its bounds hold always, not just probably.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import datasketches
import pyarrow as pa

from queries.model import Value
from queries.types import Type
from synopses.algebra import Capabilities, Reduction
from synopses.carriers import to_arrow
from synopses.sketches.grouped_values import GroupedValues, as_numbers
from synopses.sketches.sketch_states import SketchStates, payloads

DEFAULT_LG_SIZE = 12
LEAST_LG_SIZE, GREATEST_LG_SIZE = 3, 24


def count_error(lg_size: int) -> float:
    """How far apart the bounds of a count may be, as a share of all records."""
    return float(datasketches.frequent_strings_sketch.get_epsilon_for_lg_size(lg_size))


def lg_size_for(precision: float) -> int:
    """The smallest sketch with this error (below 1), or with this many places in its table (from 1)."""
    for lg_size in range(LEAST_LG_SIZE, GREATEST_LG_SIZE):
        if (count_error(lg_size) <= precision) if precision < 1 else (1 << lg_size >= precision):
            return lg_size
    return GREATEST_LG_SIZE


@dataclass(frozen=True)
class FrequentItemsSketch(SketchStates):
    """Frequent-items sketch of the values of ``argument`` with ``2**lg_size`` places, three quarters of them used."""

    argument: Value
    lg_size: int = DEFAULT_LG_SIZE
    capabilities = Capabilities()

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        assert argument is not None
        if self.argument.type is Type.STRING:
            return {"": argument}
        return {"": as_numbers(argument, self.argument.type).cast(pa.string())}

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return (Reduction("", "list"),)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        grouped, counts = GroupedValues.of(reduced[0]).counted()
        items, weights = grouped.values.to_pylist(), counts.to_pylist()
        return (payloads([self._sketch(items[start:end], weights[start:end]) for start, end in grouped.spans()]),)

    def _sketch(self, items: list[str], weights: list[int]) -> bytes:
        sketch = datasketches.frequent_strings_sketch(self.lg_size)
        deque(map(sketch.update, items, weights), maxlen=0)
        return self.serialized(sketch)

    def union(self, sketches: Sequence[datasketches.frequent_strings_sketch]) -> datasketches.frequent_strings_sketch:
        union = datasketches.frequent_strings_sketch(self.lg_size)
        for sketch in sketches:
            union.merge(sketch)
        return union

    def serialized(self, sketch: datasketches.frequent_strings_sketch) -> bytes:
        payload: bytes = sketch.serialize()
        return payload

    def deserialized(self, payload: bytes) -> datasketches.frequent_strings_sketch:
        return datasketches.frequent_strings_sketch.deserialize(payload)

    def items(self, texts: Sequence[str]) -> pa.Array:
        """The items carried by these texts, in the argument's type."""
        column = pa.array(texts, type=pa.string())
        type_ = self.argument.type
        if type_ is Type.STRING:
            return column
        numbers = column.cast(pa.float64() if type_.fractional else pa.int64())
        return to_arrow(numbers.to_numpy(zero_copy_only=False), type_)
