"""The shared plan as a picture: the stream, its synopses, and every query beside the synopsis of its group.

A solid line is what a query's groups are read from, a dashed one its counters, lists, or further terms of a cover;
the colour is the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from hemiola.explanation import Explanation, QueryLine, StreamExplanation, SynopsisLine

WIDTH = 1040
_STREAM_X, _STREAM_WIDTH = 16, 104
_BOX_X, _BOX_WIDTH = 176, 330
_QUERY_X, _QUERY_WIDTH = 640, 384
_ROW, _GAP, _PAD, _HEADER = 24, 14, 10, 18
_COLORS = {
    "own synopsis": "#4a5568",
    "SS1": "#2b6cb0",
    "cells": "#b7791f",
    "roll-up": "#6b46c1",
    "SS4": "#2f855a",
    "CS8": "#c05621",
}
_TINTS = ("#eef4fb", "#f1f8f2", "#fbf5ea", "#f5f1fb", "#fbf0f0", "#eef8f8")


@dataclass(frozen=True)
class _Placed:
    """A synopsis with its place: the band of its group, the row (centre) of each of its queries."""

    line: SynopsisLine
    top: float
    height: float
    rows: tuple[tuple[QueryLine, float], ...]
    headers: tuple[tuple[str, float], ...]

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def plan_svg(explanation: Explanation) -> str:
    """A standalone SVG document."""
    parts: list[str] = []
    top = 16.0
    for stream in explanation.streams:
        drawn, top = _stream(stream, explanation.policy, top)
        parts += drawn
    legend, top = _legend(explanation, top + 4)
    parts += legend
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" width="{WIDTH}" '
        f'height="{top:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12">'
    )
    return "\n".join([head, f'<rect width="{WIDTH}" height="{top:.0f}" fill="#ffffff"/>', *parts, "</svg>", ""])


def _stream(stream: StreamExplanation, policy: str, top: float) -> tuple[list[str], float]:
    title = (
        f"{stream.queries} queries in {stream.groups} groups on {len(stream.synopses)} synopses instead of "
        f"{stream.unshared.synopses}; updated every {stream.interval}, policy {policy}"
    )
    parts = [_text(_STREAM_X, top + 14, stream.stream, size=16, bold=True)]
    parts.append(_text(_BOX_X, top + 14, title, color="#4a5568"))
    placed, bottom = _places(stream, top + 30)
    middle = (top + 30 + bottom) / 2
    for number, place in enumerate(placed):
        parts.append(_rect(_BOX_X - 12, place.top, WIDTH - _BOX_X, place.height, _TINTS[number % len(_TINTS)]))
        parts.append(_curve(_STREAM_X + _STREAM_WIDTH, middle, _BOX_X, place.middle, "#a0aec0"))
    parts += _edges(placed)
    parts.append(_rect(_STREAM_X, middle - 26, _STREAM_WIDTH, 52, "#2d3748"))
    centre = _STREAM_X + _STREAM_WIDTH / 2
    parts.append(_text(centre, middle - 4, _short(stream.stream, 14), color="#ffffff", bold=True, anchor="middle"))
    parts.append(_text(centre, middle + 13, "one pass", color="#cbd5e0", size=11, anchor="middle"))
    for place in placed:
        parts += _box(stream, place)
    return parts, bottom + 12


def _places(stream: StreamExplanation, top: float) -> tuple[list[_Placed], float]:
    placed = []
    for line in stream.synopses:
        y = top + _PAD
        rows: list[tuple[QueryLine, float]] = []
        headers: list[tuple[str, float]] = []
        for task in line.tasks:
            headers.append((f"every {task.period}", y + 12))
            y += _HEADER
            for query in task.queries:
                rows.append((query, y + _ROW / 2))
                y += _ROW
        height = max(y - top + _PAD - 4, 62.0)
        placed.append(_Placed(line, top, height, tuple(rows), tuple(headers)))
        top += height + _GAP
    return placed, top - _GAP


def _edges(placed: list[_Placed]) -> list[str]:
    """Every reading as a line from the synopsis to the query; those within a group are drawn last, on top."""
    by_name = {place.line.name: place for place in placed}
    across: list[str] = []
    within: list[str] = []
    for place in placed:
        for query, y in place.rows:
            for number, read in enumerate(query.reads):
                for term, name in enumerate(read.synopses):
                    source = by_name[name.removeprefix("-")]
                    dashed = number > 0 or term > 0
                    edge = _curve(
                        _BOX_X + _BOX_WIDTH, source.middle, _QUERY_X, y, _color(read.rule), dashed=dashed, width=1.6
                    )
                    (within if source is place else across).append(edge)
    return across + within


def _box(stream: StreamExplanation, place: _Placed) -> list[str]:
    line = place.line
    top = place.middle - 25
    kinds = " + ".join(dict.fromkeys(kept.kind for kept in line.keeps))
    name = line.name.removeprefix(f"{stream.stream} ")
    parts = [_rect(_BOX_X, top, _BOX_WIDTH, 50, "#ffffff", stroke="#2d3748")]
    parts.append(_text(_BOX_X + 10, top + 16, _short(name, 40), bold=True, title=name))
    keeps = ", ".join(kept.what for kept in line.keeps)
    parts.append(_text(_BOX_X + 10, top + 31, _short(keeps, 46), size=11, title=keeps))
    parts.append(_text(_BOX_X + 10, top + 44, f"{line.intervals} intervals, {kinds}", size=10, color="#718096"))
    for period, y in place.headers:
        parts.append(_text(_QUERY_X, y, period, size=10, color="#718096"))
    for query, y in place.rows:
        parts += _row(query, y)
    return parts


def _row(query: QueryLine, y: float) -> list[str]:
    base = query.reads[0]
    parts = [_rect(_QUERY_X, y - 10, _QUERY_WIDTH, 20, "#ffffff", stroke="#cbd5e0")]
    parts.append(_text(_QUERY_X + 8, y + 4, _short(query.name, 28), bold=True))
    parts.append(_text(_QUERY_X + 234, y + 4, f"last {query.window}", color="#4a5568", anchor="end"))
    rules = list(dict.fromkeys(read.rule for read in query.reads)) + (["CS8"] if query.shares_output_of else [])
    rule = base.rule if len(rules) == 1 else " · ".join(_family(rule) for rule in rules)
    parts.append(_text(_QUERY_X + _QUERY_WIDTH - 8, y + 4, _short(rule, 26), color=_color(rules[-1]), anchor="end"))
    return parts


def _legend(explanation: Explanation, top: float) -> tuple[list[str], float]:
    seen = {_family(read.rule) for stream in explanation.streams for query in _queries(stream) for read in query.reads}
    if any(query.shares_output_of for stream in explanation.streams for query in _queries(stream)):
        seen.add("CS8")
    meaning = {
        "own synopsis": "brought the synopsis",
        "SS1": "SS1 same records and groups",
        "cells": "cells of an attribute",
        "roll-up": "roll-up of finer groups",
        "SS4": "SS4 covers of predicates",
        "CS8": "CS8 another query's output",
    }
    parts, x = [], float(_BOX_X)
    for rule in _COLORS:
        if rule in seen:
            parts.append(f'<path d="M{x:.0f} {top + 8:.0f} h22" stroke="{_COLORS[rule]}" stroke-width="2.5"/>')
            parts.append(_text(x + 28, top + 12, meaning[rule], size=11, color="#4a5568"))
            x += 44 + 6.2 * len(meaning[rule])
    parts.append(_text(x, top + 12, "- - counters, further terms", size=11, color="#4a5568"))
    return parts, top + 28


def _queries(stream: StreamExplanation) -> list[QueryLine]:
    return [query for line in stream.synopses for task in line.tasks for query in task.queries]


def _family(rule: str) -> str:
    return "SS4" if rule.startswith("SS4") else rule


def _color(rule: str) -> str:
    return _COLORS.get(_family(rule), "#4a5568")


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _rect(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none") -> str:
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6" fill="{fill}" '
        f'stroke="{stroke}"/>'
    )


def _curve(x: float, y: float, to_x: float, to_y: float, color: str, *, dashed: bool = False, width: float = 1) -> str:
    bend = (to_x - x) / 2
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    path = f"M{x:.0f} {y:.0f} C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{width}"{dash}/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    color: str = "#1a202c",
    bold: bool = False,
    anchor: str = "start",
    title: str | None = None,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    tip = f"<title>{escape(title)}</title>" if title is not None and title != text else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}{tip}</text>"
    )
