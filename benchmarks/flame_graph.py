"""A flame graph as a plain SVG: text that can be selected and searched, shares in the tooltips, no script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

Stack = tuple[str, ...]
_WIDTH, _ROW, _MARGIN, _CHARACTER = 1200, 17, 10, 6.3
_LEAST = 0.003
"""Share of the whole below which a frame is not drawn."""


@dataclass
class Frame:
    """A function called from the one below it, and what was spent in it and above."""

    name: str
    weight: float = 0.0
    callees: dict[str, Frame] = field(default_factory=dict)


def tree(stacks: Mapping[Stack, float], root: str) -> Frame:
    found = Frame(root)
    for stack, weight in stacks.items():
        found.weight += weight
        place = found
        for name in stack:
            place = place.callees.setdefault(name, Frame(name))
            place.weight += weight
    return found


def flame_graph(stacks: Mapping[Stack, float], title: str, root: str, colour: Callable[[str], str]) -> str:
    """``stacks``: from the outermost function inwards, with the seconds spent in each."""
    whole = tree(stacks, root)
    placed = list(_placed(whole, 0, 0.0, whole.weight * _LEAST))
    deepest = max(depth for _, depth, _ in placed)
    height = (deepest + 1) * _ROW + 2 * _MARGIN + 24
    scale = (_WIDTH - 2 * _MARGIN) / whole.weight
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="monospace">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 10}" font-size="13">{escape(title)}</text>',
    ]
    for frame, depth, start in placed:
        x, width = _MARGIN + start * scale, frame.weight * scale
        y = height - _MARGIN - (depth + 1) * _ROW
        share = f"{frame.name}: {frame.weight:.2f} s, {frame.weight / whole.weight:.1%}"
        lines.append(
            f'<g><title>{escape(share)}</title><rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.3):.1f}" '
            f'height="{_ROW - 1}" fill="{colour(frame.name)}"/>'
        )
        room = int((width - 4) / _CHARACTER)
        if room >= 4:
            name = frame.name if len(frame.name) <= room else "…" + frame.name[1 - room :]
            lines.append(f'<text x="{x + 2:.1f}" y="{y + 12}" font-size="10.5">{escape(name)}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>\n"])


def _placed(frame: Frame, depth: int, start: float, least: float) -> Iterator[tuple[Frame, int, float]]:
    yield frame, depth, start
    for callee in sorted(frame.callees.values(), key=lambda callee: -callee.weight):
        if callee.weight >= least:
            yield from _placed(callee, depth + 1, start, least)
        start += callee.weight
