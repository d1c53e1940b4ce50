"""One health record per query: it feeds ``status``, ``list`` and the metrics alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hemiola.stream_runtime import StreamRuntime, facts_of
from queries.durations import format_duration
from queries.model import Microseconds, Query
from scheduler.engine import Answer

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class QueryHealth:
    """Counted since the daemon started; times in microseconds, ``late_by`` in seconds, of the last refresh.

    ``shared``: refreshes that were computed together with those of other queries. ``late``: refreshes that were late.
    """

    refreshes: int = 0
    shared: int = 0
    restored: int = 0
    late: int = 0
    late_by: float = 0.0
    last_window_end: Microseconds | None = None
    complete: bool | None = None
    audited: int = 0
    audit_differences: int = 0
    last_error: str | None = None

    def refreshed(self, answer: Answer) -> None:
        self.refreshes += 1
        self.shared += bool(answer.shared_with)
        self.restored += answer.restored
        self.late += answer.late_by > 0 and not answer.restored
        self.late_by = answer.late_by
        if self.last_window_end is None or answer.window_end >= self.last_window_end:
            self.last_window_end, self.complete = answer.window_end, answer.complete


def snapshot(
    runtimes: Iterable[StreamRuntime], health: Mapping[str, QueryHealth], about: Mapping[str, Any]
) -> dict[str, Any]:
    """All that ``status`` shows, as plain values; times as text."""
    streams, queries = [], []
    for runtime in runtimes:
        facts = dict(facts_of(runtime))
        updated = facts["updated_until"]
        for query in runtime.queries:
            queries.append(_query(runtime, query, health.get(query.name, QueryHealth()), updated))
        for key in ("newest", "watermark", "updated_until"):
            facts[key] = time_text(facts[key])
        streams.append({"stream": runtime.stream.name, "interval": format_duration(runtime.stream.interval), **facts})
    return {**about, "streams": streams, "queries": queries}


def _query(runtime: StreamRuntime, query: Query, health: QueryHealth, updated: Microseconds | None) -> dict[str, Any]:
    lag = None if updated is None or health.last_window_end is None else (updated - health.last_window_end) / 1e6
    facts = asdict(health)
    facts["last_window_end"] = time_text(health.last_window_end)
    failure = None if runtime.live is None else runtime.live.engine.failures.get(query.name)
    facts["last_error"] = failure or health.last_error
    return {
        "query": query.name,
        "stream": query.stream,
        "state": _state(runtime, query, updated),
        "window": format_duration(query.window),
        "slide": format_duration(query.slide),
        "semantics": query.semantics,
        "lag": lag,
        **facts,
    }


def _state(runtime: StreamRuntime, query: Query, updated: Microseconds | None) -> str:
    if query.until is not None and updated is not None and updated > query.until:
        return "ended"
    if runtime.live is None:
        return "waiting" if runtime.gathering is None else "recovering"
    return "backfilling" if query.name in runtime.pending else "active"


def time_text(moment: Microseconds | None) -> str | None:
    if moment is None:
        return None
    return (_EPOCH + timedelta(microseconds=moment)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
