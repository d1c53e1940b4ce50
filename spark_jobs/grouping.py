"""Grouping by Spark instead of its Python workers: no record is handed over, the same answers.

Records are grouped once, by interval and every key and filter of all pre-aggregations together. What comes out is
grouped again in the driver, once for each of them: the same needs, over the columns of the grouped rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame

from queries.model import Ref, Value
from queries.types import Type
from synopses.algebra import Component
from synopses.components import Count, Greatest, Least, Rows, Total
from synopses.preaggregate import Preaggregation

_SAMPLE = 1 << 16
"""Records looked at to see whether grouping shrinks them; fewer are not worth it."""
_SHRINKS = 4
"""Records per group from which on grouping in the JVM is worth a shuffle."""
_FIXED_WIDTH = frozenset({Type.BOOLEAN, Type.FLOAT, Type.DOUBLE, Type.DATE, Type.TIMESTAMP})
"""Besides integers: what Spark's hash aggregation keeps extremes of in place. For others it would sort."""


@dataclass(frozen=True)
class Grouping:
    """Spark's part: the columns of projected records to group by, and the aggregates to compute. The driver's part:
    ``needs`` over the grouped rows, in the order of the given ones; ``columns`` names their values."""

    by: tuple[str, ...]
    aggregates: tuple[Ref, ...]
    needs: tuple[Preaggregation, ...]
    columns: dict[Value, str]


def grouping_of(needs: Sequence[Preaggregation], columns: dict[Value, str]) -> Grouping | None:
    """None if some of it can be computed from single records only, or not exactly in any order, or has more groups
    than the driver should hold."""
    if any(need.resident for need in needs):
        return None
    keys = list(dict.fromkeys(key for need in needs for key in (need.where, *need.keys) if key is not None))
    if not needs or any(key.type in (Type.FLOAT, Type.DOUBLE) for key in keys):  # Spark makes one of 0.0 and -0.0
        return None
    again = {part: _again(part, columns) for need in needs for part in need.components}
    regrouped: list[Preaggregation] = []
    for need in needs:
        components = tuple(component for part in need.components if (component := again[part]) is not None)
        if len(components) < len(need.components):
            return None
        regrouped.append(replace(need, components=components))
    arguments = [part.argument for part in again.values() if part is not None]
    aggregates = tuple(dict.fromkeys(argument for argument in arguments if isinstance(argument, Ref)))
    names: dict[Value, str] = {aggregate: f"a{number}" for number, aggregate in enumerate(aggregates)}
    by = {key: columns[key] for key in keys}
    return Grouping(tuple(by.values()), aggregates, tuple(regrouped), {**by, **names})


def _again(component: Component, columns: dict[Value, str]) -> Component | None:
    """The component that makes of Spark's aggregates what this one makes of records."""
    match component:
        case Rows():
            return Total(Ref("count(1)", Type.BIGINT))
        case Count(argument):
            return Total(Ref(f"count({columns[argument]})", Type.BIGINT))
        case Total(argument) if argument.type.integer:
            return Total(Ref(f"sum({columns[argument]})", Type.BIGINT))
        case Least(argument) if argument.type.integer or argument.type in _FIXED_WIDTH:
            return Least(Ref(f"min({columns[argument]})", argument.type))
        case Greatest(argument) if argument.type.integer or argument.type in _FIXED_WIDTH:
            return Greatest(Ref(f"max({columns[argument]})", argument.type))
    return None


def shrinks(records: DataFrame, by: Sequence[Column]) -> bool:
    """Whether the first records are many more than their groups. One task, which stops at the last record wanted."""
    sample = records.select(*(key.alias(f"k{place}") for place, key in enumerate(by))).coalesce(1).limit(_SAMPLE)
    keys = sample.toArrow()
    if keys.num_rows < _SAMPLE:
        return False
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows * _SHRINKS <= _SAMPLE)
