"""Schedules drawn as in the dissertation's figure 8.6: a row per sub-group, a mark at every refresh."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from scheduler.simulator import Run

EARLY, ON_TIME, LATE = "o", "x", "!"
COLORS: Mapping[str, str] = {EARLY: "#7fb3d5", ON_TIME: "#1f618d", LATE: "#cb4335"}
WORDS: Mapping[str, str] = {EARLY: "early", ON_TIME: "on time", LATE: "late"}


LONGEST_LABEL = 48


@dataclass(frozen=True)
class Row:
    """A sub-group's refreshes: update number to mark."""

    name: str
    marks: Mapping[int, str]

    @property
    def label(self) -> str:
        """The name, its middle cut out if it is long: the slide at its end tells sub-groups apart."""
        if len(self.name) <= LONGEST_LABEL:
            return self.name
        tail = self.name[self.name.rindex("/") :]
        return f"{self.name[: LONGEST_LABEL - len(tail) - 1]}…{tail}"


def rows(run: Run) -> tuple[Row, ...]:
    """Refreshes per sub-group, marked early, on time or late against the sub-group's own slide.

    Before its first refresh a sub-group is on time at its slide, counted from update 0.
    """
    drawn: list[Row] = []
    for subgroup in run.subgroups:
        updates = [
            execution.update
            for execution in run.executions
            if any(subgroup in task.subgroups for task in execution.tasks)
        ]
        marks: dict[int, str] = {}
        for before, update in zip([0, *updates], updates, strict=False):
            gap = update - before
            marks[update] = EARLY if gap < subgroup.slide else ON_TIME if gap == subgroup.slide else LATE
        drawn.append(Row(subgroup.name, marks))
    return tuple(drawn)


def text_timeline(run: Run, first: int = 1, last: int | None = None) -> str:
    """The schedule of the updates ``first`` to ``last`` as lines of text, a column per update."""
    end = run.updates if last is None else last
    drawn = rows(run)
    width = max(len("update"), *(len(row.label) for row in drawn))
    cell = len(str(end)) + 1
    numbers = "".join(str(update).rjust(cell) for update in range(first, end + 1))
    lines = [f"{'update'.ljust(width)}{numbers}"]
    for row in drawn:
        cells = "".join(row.marks.get(update, ".").rjust(cell) for update in range(first, end + 1))
        lines.append(f"{row.label.ljust(width)}{cells}")
    return "\n".join(lines) + "\n"


def svg_timeline(run: Run, first: int = 1, last: int | None = None, title: str | None = None) -> str:
    """The same as an SVG picture; refreshes of one execution are tied by a line."""
    end = run.updates if last is None else last
    drawn = rows(run)
    step, line, left, top = 22, 26, 16 + 7 * max(len(row.label) for row in drawn), 56
    across = {update: left + step * (update - first) + step // 2 for update in range(first, end + 1)}
    down = {row.name: top + line * index + line // 2 for index, row in enumerate(drawn)}
    width, height = left + step * (end - first + 1) + 12, top + line * len(drawn) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-size="14">{escape(title if title is not None else run.policy)}</text>',
    ]
    parts += [
        f'<text x="{x}" y="{top - 8}" text-anchor="middle" fill="#666">{update}</text>' for update, x in across.items()
    ]
    for row in drawn:
        y = down[row.name]
        parts.append(f'<text x="8" y="{y + 4}">{escape(row.label)}</text>')
        parts.append(f'<line x1="{left}" y1="{y}" x2="{width - 12}" y2="{y}" stroke="#ddd"/>')
    for execution in run.executions:
        if execution.update in across:
            names = [subgroup.name for task in execution.tasks for subgroup in task.subgroups]
            parts.extend(_tie(across[execution.update], [down[name] for name in names]))
    for row in drawn:
        parts += [
            f'<circle cx="{across[update]}" cy="{down[row.name]}" r="6" fill="{COLORS[mark]}"/>'
            for update, mark in row.marks.items()
            if update in across
        ]
    x = left
    for mark, word in WORDS.items():
        parts.append(f'<circle cx="{x}" cy="{height - 14}" r="5" fill="{COLORS[mark]}"/>')
        parts.append(f'<text x="{x + 9}" y="{height - 10}">{word}</text>')
        x += 74
    return "\n".join([*parts, "</svg>"]) + "\n"


def svg_timelines(runs: Sequence[tuple[str, Run]], first: int = 1, last: int | None = None) -> str:
    """Several schedules, each under its title, one below the other."""
    drawn = [svg_timeline(run, first, last, title) for title, run in runs]
    sizes = [re.search(r'width="(\d+)" height="(\d+)"', picture) for picture in drawn]
    widths, heights = zip(*((int(size[1]), int(size[2])) for size in sizes if size), strict=True)
    tops = [sum(heights[:number]) for number in range(len(drawn))]
    placed = [picture.replace("<svg ", f'<svg y="{top}" ', 1) for top, picture in zip(tops, drawn, strict=True)]
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(widths)}" height="{sum(heights)}">\n'
    return f"{frame}{''.join(placed)}</svg>\n"


def _tie(x: int, heights: Sequence[int]) -> list[str]:
    if len(heights) < 2:
        return []
    return [f'<line x1="{x}" y1="{min(heights)}" x2="{x}" y2="{max(heights)}" stroke="#1f618d" stroke-width="2"/>']
