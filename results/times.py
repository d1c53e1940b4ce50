"""Times as text: ISO-8601 in UTC, always with six decimals, so that the order of texts is the order of times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from queries.model import Microseconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=4096)
def time_text(time: Microseconds) -> str:
    """``2026-11-18T06:31:42.123456Z`` for microseconds since the epoch."""
    moment = _EPOCH + timedelta(microseconds=time)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def optional_time_text(time: Microseconds | None) -> str | None:
    return None if time is None else time_text(time)


def times_of(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """The inverse of ``time_text``, for a whole column."""
    if not texts:
        return np.empty(0, dtype=np.int64)
    return np.array([text[:-1] for text in texts], dtype="datetime64[us]").astype(np.int64)


def time_of(text: str | None) -> Microseconds | None:
    return None if text is None else int(times_of([text])[0])
