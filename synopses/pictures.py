"""Pictures of the synopses' intervals, drawn from live ones: ``python -m synopses.pictures docs/images``.

Each synopsis is fed with 24 intervals; the picture shows what it then keeps of them, and what it reads for a window.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from queries.model import Scalar
from queries.types import Type
from synopses.basic_interval import BasicIntervalSynopsis
from synopses.components import Count, Greatest, Rows, Total
from synopses.interval import IntervalSynopsis, dyadic_cover
from synopses.merged import Partials
from synopses.running import RunningSynopsis
from synopses.topk_lists import Listed, TopKLists

UPDATES, B = 24, 16
_X = Scalar("x", Type.BIGINT, ("x",))
_LEFT, _STEP, _WIDTH = 130, 36, 1130
_INK, _KEPT, _READ, _GONE, _WINDOW = "#333333", "#cfe3f5", "#2f7fc1", "#eeeeee", "#e08a2e"


class Drawing:
    """An SVG with one column per interval; time runs to the right."""

    def __init__(self, title: str) -> None:
        self._parts: list[str] = []
        self._y = 54
        self._text(20, 28, title, size=16, bold=True)

    def axis(self, oldest: int) -> None:
        """The intervals of the stream, those out of reach in grey."""
        self._label("intervals")
        for interval in range(UPDATES):
            self._box(interval, 1, _GONE if interval < oldest else "#ffffff", str(interval), height=20)
        self._y += 34

    def row(self, label: str, boxes: Sequence[tuple[int, int, bool, str]]) -> None:
        """Stored values as (first interval, length, read or not, text)."""
        self._label(label)
        for start, length, read, text in boxes:
            self._box(start, length, _READ if read else _KEPT, text, "#ffffff" if read else _INK)
        self._y += 32

    def window(self, start: int, end: int, text: str) -> None:
        x, x2, y = _x(start), _x(end), self._y + 6
        ends = f"M{x} {y - 6}V{y + 6}M{x} {y}H{x2}M{x2} {y - 6}V{y + 6}"
        self._parts.append(f'<path d="{ends}" stroke="{_WINDOW}" stroke-width="3" fill="none"/>')
        self._text(x2 + 8, y + 5, text, colour=_WINDOW, bold=True)
        self._y += 24

    def say(self, text: str) -> None:
        self._text(_LEFT, self._y + 12, text)
        self._y += 24

    def svg(self) -> str:
        height = self._y + 10
        size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        body = "\n  ".join([f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>', *self._parts])
        font = 'font-family="Helvetica, Arial, sans-serif"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n  {body}\n</svg>\n'

    def _label(self, text: str) -> None:
        self._text(_LEFT - 12, self._y + 15, text, anchor="end")

    def _box(self, start: int, length: int, fill: str, text: str, colour: str = _INK, height: int = 24) -> None:
        x, width = _x(start) + 1, length * _STEP - 2
        place = f'x="{x}" y="{self._y}" width="{width}" height="{height}" rx="3"'
        self._parts.append(f'<rect {place} fill="{fill}" stroke="#9ab0c4"/>')
        if text:
            self._text(x + width / 2, self._y + height / 2 + 4, text, anchor="middle", colour=colour, size=12)

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        colour: str = _INK,
        size: int = 13,
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="bold"' if bold else ""
        style = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"{weight}'
        self._parts.append(f"<text {style}>{escape(text)}</text>")


def _x(interval: int) -> int:
    return _LEFT + interval * _STEP


def _interval(number: int) -> Partials:
    """One group; its value in interval i is a small number that changes with i."""
    one = np.ones(1, dtype=np.int64)
    return Partials(np.zeros(1, dtype=np.int64), ((one,), (np.array([_value(number)]),)))


def _span(start: int, end: int) -> str:
    return str(start) if end == start + 1 else f"{start}..{end - 1}"


def _answer(n: int, value: int) -> str:
    return f"window {n}: {value}"


def _value(number: int) -> int:
    return number * 7 % 10 + 1


def basic_interval() -> str:
    synopsis = BasicIntervalSynopsis((Rows(), Total(_X)), B)
    for number in range(UPDATES):
        synopsis.update(_interval(number))
    oldest = UPDATES - synopsis.intervals
    windows = (5, 9, 13)
    drawing = Drawing(f"Basic interval synopsis, b = {B}: the short intervals, one scan for all windows")
    drawing.axis(oldest)
    reached = UPDATES - max(windows)
    drawing.row("SUM of each", [(i, 1, i >= reached, str(_value(i))) for i in range(oldest, UPDATES)])
    for n, merged in synopsis.probe(windows, 1):
        drawing.window(UPDATES - n, UPDATES, _answer(n, merged.states[1][0][0]))
    cost = synopsis.last_probe
    drawing.say(f"scanned from young to old: {cost.reads} reads, {cost.merges} merges for all {len(windows)} windows")
    return drawing.svg()


def interval() -> str:
    synopsis = IntervalSynopsis((Rows(), Greatest(_X)), B)
    for number in range(UPDATES):
        partials = _interval(number)
        seen = np.ones(1, dtype=bool)
        synopsis.update(Partials(partials.codes, (partials.states[0], (partials.states[1][0], seen))))
    oldest, n = UPDATES - synopsis.intervals, 13
    ((_, merged),) = synopsis.probe([n], 1)
    read = {(index << level, 1 << level) for level, index in dyadic_cover(UPDATES - n, UPDATES, synopsis.top)}
    drawing = Drawing(f"Interval synopsis, b = {B}: dyadic blocks, a window from at most 2·log2(b) of them")
    drawing.axis(oldest)
    lengths = sorted({length for _, length in synopsis.blocks()})
    for length in lengths:
        blocks = [start for start, own in synopsis.blocks() if own == length]
        texts = {start: str(max(map(_value, range(start, start + length)))) for start in blocks}
        label = f"MAX of {length}" if length > 1 else "MAX of each"
        drawing.row(label, [(start, length, (start, length) in read, texts[start]) for start in blocks])
    drawing.window(UPDATES - n, UPDATES, _answer(n, merged.states[1][0][0]))
    drawing.say(f"{synopsis.last_probe.reads} blocks read, {synopsis.last_probe.merges} merges")
    return drawing.svg()


def running() -> str:
    """Of one of three groups; a prefix is kept when three entries have come in."""
    synopsis = RunningSynopsis((Rows(), Total(_X)), B)
    for number in range(UPDATES):
        partials = _interval(number)
        synopsis.update(partials if number else Partials(partials.codes + 2, partials.states))
    oldest, n = UPDATES - synopsis.intervals, 12
    start = UPDATES - n
    ((_, merged),) = synopsis.probe([n], 3)
    kept = synopsis.prefixes()
    older = min(kept, key=lambda position: abs(position - start))
    drawing = Drawing(f"Running synopsis, b = {B}: a window is the difference of two prefixes")
    drawing.axis(oldest)
    edges = range(min(start, older), max(start, older))
    drawing.row("SUM of each", [(i, 1, i in edges, str(_value(i))) for i in range(oldest, UPDATES)])
    base = sum(map(_value, range(kept[0])))
    for position in kept:
        total = sum(map(_value, range(position))) - base
        label = f"before {position}" if position < UPDATES else "now"
        drawing.row(label, [(0, position, position in (older, UPDATES), str(total))])
    drawing.window(start, UPDATES, _answer(n, merged.states[1][0][0]))
    sign = "+" if older > start else "−"
    edge = f" {sign} the entries of {_span(edges.start, edges.stop)}" if edges else ""
    drawing.say(
        f"now − before {older}{edge}: two prefix reads, whatever the window; prefixes count from a common beginning"
    )
    return drawing.svg()


def top_k_lists() -> str:
    items, k, window = "ABCDEF", 2, 8
    synopsis = TopKLists((Listed(Count(_X), k),), B)
    rng = np.random.default_rng(6)
    drawing = Drawing(
        f"Top-k lists, b = {B}, k = {k}: each interval keeps its {k} heaviest items and their exact counts"
    )
    oldest = UPDATES - B
    drawing.axis(oldest)
    lists: list[list[tuple[str, int]]] = []
    for _ in range(UPDATES):
        counts = rng.permutation([1, 1, 2, 3]).tolist() if len(lists) % 3 else [9, 4, 1, 2]
        codes = [0, *(rng.permutation(np.arange(1, len(items)))[:3]).tolist()]
        weights = np.array([counts[0] + 5, *counts[1:]])
        synopsis.update(Partials(np.array(codes), ((weights,),)))
        heaviest = sorted(zip((-weights).tolist(), codes, strict=True))[:k]
        lists.append([(items[code], -weight) for weight, code in heaviest])
    first = UPDATES - window
    for place in range(k):
        label = f"{place + 1}. item" if place < k - 1 else f"{place + 1}. item, δi"
        texts = [f"{item}{count}" for item, count in (entries[place] for entries in lists)]
        drawing.row(label, [(i, 1, i >= first, texts[i]) for i in range(oldest, UPDATES)])
    ((_, merged),) = synopsis.probe([window], len(items))
    delta = sum(entries[-1][1] for entries in lists[first:])
    drawing.window(first, UPDATES, f"window {window}")
    found = ", ".join(
        f"{items[code]} at least {count}" for code, count in zip(merged.codes, merged.states[0][0], strict=True)
    )
    drawing.say(f"δ = Σ δi = {delta}. Reported, because their counters exceed δ: {found}")
    return drawing.svg()


PICTURES: dict[str, Callable[[], str]] = {
    "synopsis-basic-interval.svg": basic_interval,
    "synopsis-interval.svg": interval,
    "synopsis-running.svg": running,
    "synopsis-top-k-lists.svg": top_k_lists,
}


def main(folder: str) -> None:
    """Writes every picture into ``folder``."""
    for name, draw in PICTURES.items():
        (Path(folder) / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
