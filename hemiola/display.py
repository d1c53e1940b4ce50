"""What the commands print for people: the plan, the report of a replay, answers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from rich import box
from rich.console import Console
from rich.table import Table

from hemiola.plan_text import show_plan, show_why
from hemiola.reports import ReplayReport
from queries.errors import RunError
from queries.model import Config
from results import ReadResult, render
from results.render import Format

__all__ = ["listing", "rendered", "show_plan", "show_report", "show_why", "sparkline"]

_BARS = "▁▂▃▄▅▆▇█"


def write_drawing(path: Path, drawing: str) -> None:
    """A picture into a file of the user's choice."""
    try:
        path.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}", hint="give another file") from error


def counted(count: int, one: str, many: str | None = None) -> str:
    """``1 record``, ``2 records``, ``3 refreshes``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listing(*columns: str, title: str | None = None) -> Table:
    """A table in the one style all commands use; columns that begin with > are numbers, set to the right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    return table


def show_report(console: Console, config: Config, report: ReplayReport) -> None:
    for stream in report.streams:
        if not stream.updates:
            state = "no records" if not stream.known_records else "everything due is already in the results"
            console.print(f"stream {stream.stream}: {state}; nothing to do")
        else:
            done = ", ".join(
                (
                    counted(stream.records, "record"),
                    counted(stream.updates, "update"),
                    counted(stream.refreshes, "refresh", "refreshes"),
                    counted(stream.rows, "row") + " of answers",
                )
            )
            console.print(f"stream [bold]{stream.stream}[/]: {done}")
            console.print(
                f"  Spark {stream.spark_seconds:.1f} s, probing {stream.engine_seconds:.1f} s, "
                f"committing {stream.commit_seconds:.1f} s"
            )
        if stream.rejected:
            console.print(
                f"  [yellow]{stream.rejected:,} records could not be used; they are in the table hemiola_rejects[/]"
            )
    if report.refreshes:
        table = config.queries[0].name
        command = f'  read them: hemiola query {config.path} "SELECT * FROM {table}"'
        console.print(command, highlight=False, soft_wrap=True)


def rendered(result: ReadResult, format: str, width: int | None, color: bool) -> str:
    return render(result, cast(Format, format), width=width, color=color)


def sparkline(values: list[float]) -> str:
    """The course of a number as a row of bars, from zero to the largest."""
    top = max(values, default=0) or 1
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values)
