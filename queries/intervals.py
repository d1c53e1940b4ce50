"""The interval length s of a stream (semantics.md 1): given, or the gcd of all windows and slides on it."""

from __future__ import annotations

from math import gcd

from queries.config_files import QueryEntry
from queries.dialect import clause_offset
from queries.durations import Microseconds, format_duration
from queries.errors import Problem
from queries.model import Query

_DEFAULT: Microseconds = 1_000_000


def common_interval(queries: list[Query]) -> Microseconds:
    """The greatest common divisor of the windows and slides; 1 s when there are none."""
    return gcd(*(length for query in queries for length in (query.window, query.slide))) or _DEFAULT


def check_interval(given: Microseconds | None, queries: list[tuple[Query, QueryEntry]]) -> Microseconds:
    """The stream's interval; a window or slide that is no multiple of a ``given`` one becomes a problem of its file."""
    if given is None:
        return common_interval([query for query, _ in queries])
    for query, entry in queries:
        for key, length in (("window", query.window), ("slide", query.slide)):
            if length % given:
                message = (
                    f"{key.upper()} {format_duration(length)} is not a multiple of "
                    f"the interval of stream {query.stream}, {format_duration(given)}"
                )
                place = _place(query, entry, key)
                entry.document.problems.append(Problem(place, query.name, message, _nearest(length, given)))
    return given


def _place(query: Query, entry: QueryEntry, key: str) -> str:
    """Where the length is written: in the clause, or under its key."""
    offset = clause_offset(query.sql)
    if offset is not None:
        return entry.document.locate_inside((*entry.path, "sql"), offset)
    return entry.document.locate((*entry.path, key if entry.document.knows((*entry.path, key)) else "window"))


def _nearest(length: Microseconds, interval: Microseconds) -> str:
    below = length // interval * interval
    legal = [format_duration(value) for value in (below, below + interval) if value]
    return f"the nearest legal values are {' and '.join(legal)}" if len(legal) > 1 else f"the nearest is {legal[0]}"
