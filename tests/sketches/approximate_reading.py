"""Records to answers of one aggregate the way the engine goes: lift piece by piece, transport, merge, lower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from queries.model import AggregateCall, Scalar
from queries.types import Type
from synopses.aggregates import AGGREGATES
from synopses.aggregates.lowering import States
from synopses.preaggregate import INTERVAL, Preaggregation, part_name, preaggregate

X = "x"


def call(function: str, type_: Type, *parameters: float, part: str = "", result: Type | None = None) -> AggregateCall:
    return AggregateCall(function, Scalar(X, type_, (X,)), parameters, result or type_, part)


def merged(wanted: AggregateCall, pieces: Sequence[pa.Array]) -> States:
    """The states of one group (the empty key) after merging the pieces, each a flush of records, in order."""
    (component,) = AGGREGATES[wanted.function].components(wanted)
    need = Preaggregation(None, (), (component,))
    assert wanted.argument is not None
    state = component.identity(1)
    for piece in pieces:
        records = pa.table({INTERVAL: np.zeros(len(piece), dtype=np.int64), X: piece})
        table = preaggregate(records, {wanted.argument: X}, need)
        parts = [table[part_name(0, part)].combine_chunks() for part in range(component.parts)]
        loaded = component.load(parts)
        state = component.absorb(state, np.zeros(table.num_rows, dtype=np.int64), loaded)
    return {component: state}


def bounded(
    function: str, type_: Type, parameters: Sequence[float], pieces: Sequence[pa.Array]
) -> tuple[Any, Any, Any]:
    """Answer, low and high of an approximate aggregate over the pieces."""
    result = Type.BIGINT if function == "APPROX_COUNT_DISTINCT" else type_
    calls = [call(function, type_, *parameters, part=part, result=result) for part in ("", "low", "high")]
    states = merged(calls[0], pieces)
    answer, low, high = (AGGREGATES[function].lower(one, states).to_pylist()[0] for one in calls)
    return answer, low, high


def items(type_: Type, parameters: Sequence[float], pieces: Sequence[pa.Array]) -> list[tuple[Any, int, int, int]]:
    """Rows (item, estimate, low, high) of APPROX_TOP_K, before the query's ORDER BY and LIMIT."""
    wanted = call("APPROX_TOP_K", type_, *parameters)
    rows = AGGREGATES["APPROX_TOP_K"].lower_items(wanted, merged(wanted, pieces), {})
    return list(zip(*(rows.column(part).to_pylist() for part in ("", "count", "low", "high")), strict=True))
