"""The canonical definition of a query: what its answers mean, apart from when and how they are computed."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from enum import Enum
from typing import Any

from queries.model import Query, StreamWindow


def definition(query: Query) -> str:
    """Deterministic JSON of the query's Select tree without the slide.

    Two registrations with the same definition may share an answer table: name, SQL spelling, slide, semantics,
    priority, lifetime, isolation, synopsis and placement do not change what a row says.
    """
    return json.dumps(_describe(query.select), separators=(",", ":"), ensure_ascii=False)


def _describe(value: Any) -> Any:
    if isinstance(value, StreamWindow):
        return {"stream": value.stream, "window": value.window}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_describe(item) for item in value]
    if isinstance(value, date):
        return {type(value).__name__: value.isoformat()}
    if dataclasses.is_dataclass(value):
        # A field at its default is left out: a field added to the model later must not rename old tables.
        fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {
            "is": type(value).__name__,
            **{field.name: _describe(item) for field, item in fields if item != field.default},
        }
    return value
