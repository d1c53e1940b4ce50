"""Progress of long work: a bar on a terminal, JSON lines for machines, nothing otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[str, int, int], None]


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """A bar per stream on standard error; none when that is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda stream, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("updates"))
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        waiting = progress.add_task("starting Spark", total=None)
        tasks = {}

        def report(stream: str, done: int, total: int) -> None:
            progress.update(waiting, visible=False)
            if stream not in tasks:
                tasks[stream] = progress.add_task(f"{what} {stream}", total=total)
            progress.update(tasks[stream], completed=done, total=total)

        yield report


@contextmanager
def json_progress() -> Iterator[Report]:
    """A JSON line on standard error for each tenth of a stream."""
    tenths: dict[str, int] = {}

    def report(stream: str, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if tenths.get(stream) != tenth:
            tenths[stream] = tenth
            line = {"event": "progress", "stream": stream, "updates": done, "of": total}
            print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201

    yield report
