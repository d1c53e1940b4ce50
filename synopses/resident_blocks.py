"""Blocks of merged intervals, so that a long window reads few files: the interval synopsis of what lives in files.

Blocks have lengths 4, 16, 64, … and begin at multiples of their length. A window is covered by at most six blocks of
each length, and by the single intervals at its edges (dissertation 2.3.4, with four in the place of two: half as many
merges, and as many bytes once more as a third of the intervals).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from synopses.resident_files import ResidentFile

RADIX = 4

Spans = Mapping[int, Mapping[int, Sequence[ResidentFile]]]
"""Files by the interval they begin at and the interval they end before."""


def by_span(files: Sequence[ResidentFile]) -> Spans:
    spans: dict[int, dict[int, list[ResidentFile]]] = {}
    for file in files:
        spans.setdefault(file.first, {}).setdefault(file.last, []).append(file)
    return spans


def covering(spans: Spans, start: int, end: int) -> Iterator[ResidentFile]:
    """Files that together hold each interval of ``[start, end)`` once: the longest block wherever one fits."""
    beginnings = sorted(first for first in spans if start <= first < end)
    reached = start
    for first in beginnings:
        if first < reached:
            continue
        last = max((last for last in spans[first] if last <= end), default=None)
        if last is not None:
            yield from spans[first][last]
            reached = last


def block_to_make(spans: Spans, oldest: int, closed: int) -> tuple[int, int] | None:
    """The first block, shortest first, that is closed, not there and made of at least two spans; None if none is."""
    length = RADIX
    while length <= closed - oldest:
        for first in range(-(-oldest // length) * length, closed - length + 1, length):
            inside = [begin for begin in range(first, first + length) if begin in spans]
            if first + length not in spans.get(first, {}) and len(inside) > 1:
                return first, first + length
        length *= RADIX
    return None
