"""A read result as text for people (table) and programs (csv, json)."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from results.reader import Cell, ReadResult

Format = Literal["table", "csv", "json"]

_UNBOUNDED = 1_000_000
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$|^$')


def render(result: ReadResult, format: Format = "table", *, width: int | None = None, color: bool = False) -> str:
    """The result as text that ends in a newline. ``width`` (columns of the terminal) and ``color`` are for tables;
    without a width no cell is ever shortened or wrapped."""
    if format == "table":
        return as_table(result, width, color)
    formats: dict[str, Callable[[ReadResult], str]] = {"csv": as_csv, "json": as_json}
    return formats[format](result)


def as_table(result: ReadResult, width: int | None = None, color: bool = False) -> str:
    """NULL is shown as ``NULL``; control characters are shown, not sent to the terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(result.columns):
        numeric = any(isinstance(row[i], int | float) for row in result.rows)
        table.add_column(Text(_printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in result.rows:
        table.add_row(*(Text("NULL", style="dim") if cell is None else Text(_shown(cell)) for cell in row))
    text = io.StringIO()
    console = Console(file=text, width=width or _UNBOUNDED, force_terminal=color, no_color=not color, highlight=False)
    console.print(table)
    count = len(result.rows)
    return f"{text.getvalue().strip(chr(10))}\n{count} row{'' if count == 1 else 's'}\n"


def as_csv(result: ReadResult) -> str:
    """Comma-separated with a header; NULL is an empty field, an empty string is ``""``."""
    lines = [",".join(_csv_text(name) for name in result.columns)]
    lines += [",".join("" if cell is None else _csv_text(_plain(cell)) for cell in row) for row in result.rows]
    return "\n".join(lines) + "\n"


def as_json(result: ReadResult) -> str:
    """An array of objects, one a line; NULL is null, infinities the strings "Infinity" and "-Infinity", bytes hex.

    A column name that comes twice gets a number: ``bytes``, ``bytes_2``.
    """
    names = _distinct(result.columns)
    rows = (
        json.dumps(
            {name: _json_value(cell) for name, cell in zip(names, row, strict=True)},
            ensure_ascii=False,
            allow_nan=False,
        )
        for row in result.rows
    )
    body = ",\n".join(rows)
    return f"[\n{body}\n]\n" if body else "[]\n"


def _plain(cell: Cell) -> str:
    return cell.hex() if isinstance(cell, bytes) else str(cell)


def _shown(cell: Cell) -> str:
    return _printable(_plain(cell))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _csv_text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _json_value(cell: Cell) -> int | float | str | None:
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and not math.isfinite(cell):
        return None if math.isnan(cell) else ("Infinity" if cell > 0 else "-Infinity")
    return cell


def _distinct(names: tuple[str, ...]) -> list[str]:
    distinct: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in distinct or (number > 1 and unique in names):
            number += 1
            unique = f"{name}_{number}"
        distinct.append(unique)
    return distinct
