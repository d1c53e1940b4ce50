"""What the commands print for people: the plan, the report of a replay, answers."""

from __future__ import annotations

from typing import cast

from rich import box
from rich.console import Console
from rich.table import Table

from hemiola.explanation import Explanation
from hemiola.reports import ReplayReport
from queries.model import Config
from results import ReadResult, render
from results.render import Format

_BARS = "▁▂▃▄▅▆▇█"


def listing(*columns: str, title: str | None = None) -> Table:
    """A table in the one style all commands use; columns that begin with > are numbers, set to the right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    return table


def show_plan(console: Console, explanation: Explanation) -> None:
    for stream in explanation.streams:
        console.print(
            f"stream [bold]{stream.stream}[/]: {stream.queries} queries, an update every {stream.interval}, "
            f"policy {explanation.policy}"
        )
        synopses = listing("synopsis", "kind", ">intervals", "keeps", ">queries", "read by")
        for line in stream.synopses:
            readers = ", ".join(line.queries)
            synopses.add_row(
                line.name, line.kind, str(line.intervals), ", ".join(line.keeps), str(len(line.queries)), readers
            )
        console.print(synopses)
        tasks = listing("task", ">every", ">queries", "refreshes together")
        for task in stream.tasks:
            tasks.add_row(task.name, task.period, str(len(task.queries)), ", ".join(task.queries))
        console.print(tasks)
        if stream.cost_shared:
            console.print(
                f"intervals read per update: {stream.cost_shared:,.1f} shared, {stream.cost_unshared:,.1f} if every "
                f"query had its own synopsis ({stream.cost_unshared / stream.cost_shared:.1f} times as much)\n"
            )


def show_report(console: Console, config: Config, report: ReplayReport) -> None:
    for stream in report.streams:
        if not stream.updates:
            state = "no records" if not stream.known_records else "everything due is already in the results"
            console.print(f"stream {stream.stream}: {state}; nothing to do")
        else:
            console.print(
                f"stream [bold]{stream.stream}[/]: {stream.records:,} records, {stream.updates:,} updates, "
                f"{stream.refreshes:,} refreshes, {stream.rows:,} rows of answers"
            )
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
        console.print(f'  read them: hemiola query {config.path} "SELECT * FROM {table}"', highlight=False)


def rendered(result: ReadResult, format: str, width: int | None, color: bool) -> str:
    return render(result, cast(Format, format), width=width, color=color)


def sparkline(values: list[float]) -> str:
    """The course of a number as a row of bars, from zero to the largest."""
    top = max(values, default=0) or 1
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values)
