"""Lift: from records to partial aggregates per (interval, keys), in one pass of Arrow hash aggregation, or of numpy
where keys are integers (``synopses.integer_groups``).

Pure Arrow: Spark's Python workers run it on each chunk of records (``spark_jobs.preaggregation``), the driver runs
it for the outer level of two-level queries, and the tests run it without a JVM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from queries.model import Value
from synopses.algebra import Component, Reduction
from synopses.integer_groups import integer_groups

INTERVAL = "interval"


@dataclass(frozen=True)
class Preaggregation:
    """What to compute of a stream's records: those that satisfy ``where``, grouped by interval and ``keys``.

    ``resident`` ones stay in Spark: their partials are written to files by the job that computes them, and never
    pass through the driver (``synopses.resident_files``).
    """

    where: Value | None
    keys: tuple[Value, ...]
    components: tuple[Component, ...]
    resident: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.where, self.keys, self.components, self.resident))

    def __hash__(self) -> int:
        """Looked up at every probe, so it is worked out once."""
        return self._hash

    def __reduce__(self) -> tuple[type[Preaggregation], tuple[object, ...]]:
        """Hashes differ from process to process: a remembered one must not travel."""
        return Preaggregation, (self.where, self.keys, self.components, self.resident)

    @property
    def values(self) -> tuple[Value, ...]:
        """Every expression over records it needs, each once."""
        arguments = [component.argument for component in self.components]
        wanted = [self.where, *self.keys, *arguments]
        return tuple(dict.fromkeys(value for value in wanted if value is not None))


def key_name(position: int) -> str:
    return f"k{position}"


def part_name(component: int, part: int) -> str:
    return f"c{component}_{part}"


def preaggregate(records: pa.Table, columns: Mapping[Value, str], need: Preaggregation) -> pa.Table:
    """Partial aggregates of ``records``: columns ``interval, k0…, c0_0, c0_1, …``.

    ``columns`` names the column of ``records`` that holds each value; ``interval`` is a column of its own.
    """
    if need.where is not None:
        records = records.filter(records[columns[need.where]])
    grouped: dict[str, pa.Array | pa.ChunkedArray] = {INTERVAL: records[INTERVAL]}
    for position, key in enumerate(need.keys):
        grouped[key_name(position)] = records[columns[key]]
    group_by = list(grouped)
    prepared: list[tuple[str, ...]] = []
    reductions: list[tuple[Reduction, str]] = []
    for number, component in enumerate(need.components):
        argument = component.argument
        derived = component.prepare(None if argument is None else records[columns[argument]])
        names = {suffix: f"x{number}_{suffix}" for suffix in derived}
        grouped.update({names[suffix]: column for suffix, column in derived.items()})
        prepared.append(tuple(derived))
        for reduction in component.reductions(tuple(derived)):
            reductions.append((reduction, names[reduction.column] if reduction.column is not None else ""))
    reduced = _reduce(pa.table(grouped), group_by, reductions)
    return _lifted(reduced, group_by, need.components, prepared)


def _reduce(table: pa.Table, group_by: list[str], reductions: Sequence[tuple[Reduction, str]]) -> pa.Table:
    if not table.num_columns or not table.num_rows:
        table = table.slice(0, 0)
    by_integers = integer_groups(table, group_by, reductions)
    if by_integers is not None:
        return by_integers
    wanted = [([] if r.column is None else column, r.function, r.options) for r, column in reductions]
    return table.group_by(group_by, use_threads=False).aggregate(wanted)


def _lifted(
    reduced: pa.Table, group_by: list[str], components: Sequence[Component], prepared: Sequence[tuple[str, ...]]
) -> pa.Table:
    """Arrow returns keys and reductions in the order asked for; which comes first differs between its versions,
    so the keys are taken by name and the reductions are what remains, in order."""
    out = {name: reduced[name] for name in group_by}
    rest = [reduced.column(i) for i, name in enumerate(reduced.column_names) if name not in out]
    at = 0
    for number, component in enumerate(components):
        count = len(component.reductions(prepared[number]))
        parts = component.lift([column.combine_chunks() for column in rest[at : at + count]], prepared[number])
        at += count
        for part, column in enumerate(parts):
            out[part_name(number, part)] = column
    return pa.table(out)
