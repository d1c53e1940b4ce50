"""The commands around scheduling: simulate the registered set, ask a one-time query."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hemiola import api, display
from hemiola.display import write_drawing
from hemiola.simulating import Simulation, StreamSimulation, simulate_config
from queries.durations import format_duration
from queries.errors import InputError, Problem
from queries.model import Config
from scheduler.capacity import MOST, Room
from scheduler.timeline import svg_timelines, text_timeline

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="the YAML file that names streams and queries")]
Json = Annotated[bool, typer.Option("--json", help="for machines: JSON instead of text")]

HEAVIEST = 8
"""Queries listed with the load they add."""
DRAWN = 60
"""Updates drawn at most."""


def add_commands(app: typer.Typer) -> None:
    for command in (simulate, ask):
        app.command()(command)


def simulate(
    config: ConfigPath,
    policy: Annotated[
        str | None, typer.Option(metavar="all|NAME", help="e.g. conservative or hybrid+late; default: the configured")
    ] = None,
    load: Annotated[float, typer.Option(metavar="X", help="X times the known cost of every refresh")] = 1.0,
    updates: Annotated[int | None, typer.Option(metavar="N", help="how many updates to go through")] = None,
    grow: Annotated[bool, typer.Option("--grow", help="how many more queries like these will fit?")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="draw the schedules into an SVG file")] = None,
    json: Json = False,
) -> None:
    """Run the schedule in virtual time: who would be refreshed when, at what load, who would be late. No Spark."""
    if load <= 0 or (updates is not None and updates < 1):
        option, value = ("--load", load) if load <= 0 else ("--updates", updates)
        raise InputError((Problem(option, None, f"{value} is too small", "it must be positive"),))
    checked = api.validate(config)
    found = simulate_config(checked, policy, load, updates, grow)
    if svg is not None:
        _draw(svg, found)
    if json:
        typer.echo(found.to_json())
    else:
        _show(Console(), checked, found, drawn=svg is None)
        if svg is not None:
            typer.echo(f"the schedules are drawn in {svg}")


def ask(
    config: ConfigPath,
    sql: Annotated[str, typer.Argument(metavar="SQL", help='e.g. "SELECT COUNT(*) AS n FROM packets [WINDOW 5 min]"')],
    format: Annotated[str, typer.Option(metavar="table|csv|json", help="how to print the answer")] = "table",
) -> None:
    """Answer a one-time query from what the registered ones keep: the daemon's, else the bounded source's, newest."""
    from hemiola.asking import ask_config

    if format not in ("table", "csv", "json"):
        problem = Problem("--format", None, f"{format!r} is not a format", "use table, csv or json")
        raise InputError((problem,))
    found = ask_config(api.validate(config), sql)
    console = Console()
    width = console.width if sys.stdout.isatty() else None
    sys.stdout.write(display.rendered(found.result, format, width, console.is_terminal))
    seen = "" if found.complete else "; the stream has not been seen for a whole window"
    typer.echo(f"over {found.window_start} to {found.window_end}{seen}", err=True)


def _draw(path: Path, found: Simulation) -> None:
    titled = [
        (f"{stream.stream}: {run.policy}, an update every {format_duration(stream.interval_us)}", run)
        for stream in found.streams
        for run in stream.runs
    ]
    last = min(DRAWN, max(run.updates for _, run in titled))
    write_drawing(path, svg_timelines(titled, 1, last))


def _show(console: Console, config: Config, found: Simulation, drawn: bool) -> None:
    for stream in found.streams:
        console.print(
            f"stream [bold]{stream.stream}[/]: {len(stream.queries)} queries, {stream.updates:,} updates, one every "
            f"{format_duration(stream.interval_us)}",
            highlight=False,
        )
        console.print(f"  {_basis(stream, found.load)}", highlight=False)
        _show_policies(console, stream)
        _show_queries(console, stream, config)
        if drawn and len(stream.lines) == 1:
            _show_timeline(console, stream)
    for policy, room in found.rooms.items():
        console.print(_room(policy, room), highlight=False, soft_wrap=True)


def _basis(stream: StreamSimulation, load: float) -> str:
    times = "" if load == 1 else f", times {load:g}"
    if stream.executions:
        return f"costs measured on {stream.executions:,} executions in the results{times}"
    return f"costs guessed by the model{times}: nothing is measured yet, hemiola replay or run would"


def _show_policies(console: Console, stream: StreamSimulation) -> None:
    table = display.listing(
        "policy", ">tasks", ">refreshes/s", ">extra updates", ">busy", ">late", "latest", title="by policy"
    )
    table.columns[0].no_wrap, table.columns[0].min_width = True, max(len(line.policy) for line in stream.lines)
    for line in stream.lines:
        latest, extra = next(iter(line.late.items()), ("", 0.0))
        table.add_row(
            line.policy,
            str(line.tasks),
            f"{line.throughput:,.3g}",
            f"{line.latency:.2f}",
            f"{line.busy:.2%}",
            str(len(line.late)),
            f"{latest} (+{extra:.1f})" if latest else "",
        )
    console.print(table)
    for line in stream.lines:
        if line.asked > 1:
            console.print(
                f"  {line.policy} would need {line.asked:.1f} processors like this one for nobody to be late",
                highlight=False,
            )


def _show_queries(console: Console, stream: StreamSimulation, config: Config) -> None:
    heaviest = sorted(stream.queries.items(), key=lambda item: -item[1])
    table = display.listing(
        "query", ">window", ">slide", ">adds", title=f"the load each query adds under {stream.under}"
    )
    for name, added in heaviest[:HEAVIEST]:
        query = config.query(name)
        table.add_row(name, format_duration(query.window), format_duration(query.slide), f"{added:.4%}")
    console.print(table)
    if len(heaviest) > HEAVIEST:
        rest = sum(added for _, added in heaviest[HEAVIEST:])
        console.print(f"  and {len(heaviest) - HEAVIEST} more, {rest:.4%} together\n", highlight=False)


def _show_timeline(console: Console, stream: StreamSimulation) -> None:
    for run in stream.runs:
        width = max(len(subgroup.name) for subgroup in run.subgroups)
        fitting = max(5, (console.width - min(width, 48) - 1) // 3)
        last = min(DRAWN, run.updates, fitting)
        console.print(f"schedule under {run.policy}: o early, x on time, ! late", highlight=False)
        console.print(text_timeline(run, 1, last), highlight=False, soft_wrap=True, markup=False)


def _room(policy: str, room: Room) -> str:
    if room.more == 0:
        return f"{policy}: nothing more fits; {room.late[0]} is late already, with {room.queries:,} queries"
    if not room.late:
        return f"{policy}: {MOST:,} more queries like the {room.queries:,} registered would still be on time"
    return (
        f"{policy}: room for about {room.more:,} more queries like the {room.queries:,} registered; "
        f"they would ask for {room.share:.0%} of the processor, and beyond that {room.late[0]} is late first"
    )
