"""Small queries and updates for the tests of results/: bytes per src, count per window, top sources, …."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from queries.model import AggregateCall, Expression, Order, Output, Query, Ref, Scalar, Select, StreamWindow
from queries.types import Type
from results import Refresh, StreamProgress, Update

SECOND = 1_000_000
MINUTE = 60 * SECOND
START = 1_794_983_200 * SECOND  # 2026-11-18T06:26:40Z


def store_url(folder: Path) -> str:
    return f"sqlite:///{folder}/deep/results.db"


def query(
    name: str = "bytes_by_src",
    *,
    keys: dict[str, Type] | None = None,
    answers: dict[str, tuple[str, Type]] | None = None,
    window: int = 10 * MINUTE,
    slide: int = MINUTE,
    ordered: bool = False,
    hidden_keys: tuple[str, ...] = (),
    answers_first: bool = False,
    **settings: Any,
) -> Query:
    """``answers`` maps a name to (function, type); an argument of the function is a column of that type."""
    keys = {"src": Type.STRING} if keys is None else keys
    answers = {"bytes": ("SUM", Type.BIGINT)} if answers is None else answers
    key_outputs = tuple(
        Output(key, Ref(f"k{i}", type), True) for i, (key, type) in enumerate(keys.items()) if key not in hidden_keys
    )
    answer_outputs = tuple(Output(n, Ref(f"a{i}", type), False) for i, (n, (_, type)) in enumerate(answers.items()))
    first: Expression = Ref("a0", next(iter(answers.values()))[1])
    select = Select(
        source=StreamWindow("packets", window, slide),
        where=None,
        keys=tuple(Scalar(key, type, (key,)) for key, type in keys.items()),
        aggregates=tuple(
            AggregateCall(function, None if function == "COUNT" else Scalar("x", type, ("x",)), (), type)
            for function, type in answers.values()
        ),
        outputs=answer_outputs + key_outputs if answers_first else key_outputs + answer_outputs,
        order=(Order(first, True, False),) if ordered else (),
        limit=10 if ordered else None,
    )
    return Query(name, f"SELECT … AS {name}", select, **settings)


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def refresh(name: str, end: int, answer: pa.Table, **fields: Any) -> Refresh:
    values: dict[str, Any] = {
        "query": name,
        "window_start": end - 10 * MINUTE,
        "window_end": end,
        "complete": True,
        "table": answer,
        "task": "packets/1",
        "started_at": end + 5,
        "refreshed_at": end + 1234,
        "duration_ms": 1.5,
    }
    return Refresh(**{**values, **fields})


def update(end: int, *refreshes: Refresh, **fields: Any) -> Update:
    return Update(StreamProgress("packets", SECOND, end, **fields), refreshes)
