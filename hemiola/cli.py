"""The command line. Exit codes: 0 done, 1 failed at run time, 2 the user's input is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import hemiola
from hemiola import api, cli_daemon, cli_scheduling, demo, display
from hemiola.explanation import explain_pair
from hemiola.instants import parse_instant
from hemiola.plan_svg import plan_svg
from hemiola.progress import json_progress, progress_bar
from queries.config import load_config
from queries.errors import HemiolaError, InputError, Problem

app = typer.Typer(
    name="hemiola",
    help="Keeps many sliding-window queries fresh from one pass over the data, and answers in a results table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="the YAML file that names streams and queries")]
Json = Annotated[bool, typer.Option("--json", help="for machines: JSON instead of text")]


@app.command("demo")
def demo_command(
    config: Annotated[Path | None, typer.Option(help="another config than the one that comes along")] = None,
) -> None:
    """Replay a packet stream with a burst in it and show what was asked, kept, shared and answered."""
    demo.run(config, Console())


@app.command()
def validate(config: ConfigPath) -> None:
    """Check everything that can be checked without data."""
    checked = api.validate(config)
    streams = f"{len(checked.streams)} stream{'s' * (len(checked.streams) != 1)}"
    queries = f"{len(checked.queries)} quer{'ies' if len(checked.queries) != 1 else 'y'}"
    typer.echo(f"{config}: {streams}, {queries}, all right")


@app.command()
def explain(
    config: ConfigPath,
    json: Json = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="draw the plan into this file")] = None,
    why: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="say why two queries share, or do not")
    ] = None,
) -> None:
    """Show the shared plan: synopses and who reads them by which rule, tasks, cost shared and unshared."""
    checked = load_config(config)
    if why is not None:
        display.show_why(Console(), explain_pair(checked, *why))
        return
    explanation = api.explain(checked)
    if svg is not None:
        display.write_drawing(svg, plan_svg(explanation))
    if json:
        typer.echo(explanation.to_json())
    elif svg is not None:
        typer.echo(f"drawn into {svg}")
    else:
        display.show_plan(Console(), explanation)


@app.command()
def replay(
    config: ConfigPath,
    until: Annotated[
        str | None, typer.Option(metavar="T", help="the last update, e.g. 2026-03-01T12:10:00Z; default: all the data")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="compute also what the results already hold")] = False,
    json: Json = False,
) -> None:
    """Run the queries over bounded sources in virtual time, as fast as the machine goes."""
    last = None
    if until is not None:
        last = parse_instant(until)
        if last is None:
            problem = Problem("--until", None, f"{until!r} is not a time", "write it like 2026-03-01T12:10:00Z")
            raise InputError((problem,))
    checked = load_config(config)
    with json_progress() if json else progress_bar("replaying") as progress:
        report = api.replay(checked, until=last, again=again, progress=progress)
    if json:
        typer.echo(report.to_json())
    else:
        display.show_report(Console(), checked, report)


@app.command()
def query(
    config: ConfigPath,
    sql: Annotated[str, typer.Argument(metavar="SQL", help='read-only SQL, e.g. "SELECT * FROM top_talkers"')],
    format: Annotated[str, typer.Option(metavar="table|csv|json", help="how to print the answer")] = "table",
) -> None:
    """Read-only SQL on the results, also while a replay or the daemon writes them."""
    if format not in ("table", "csv", "json"):
        problem = Problem("--format", None, f"{format!r} is not a format", "use table, csv or json")
        raise InputError((problem,))
    result = hemiola.query(config, sql)
    console = Console()
    width = console.width if sys.stdout.isatty() else None
    sys.stdout.write(display.rendered(result, format, width, console.is_terminal))


cli_daemon.add_commands(app)
cli_scheduling.add_commands(app)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    if show:
        from importlib.metadata import version as installed

        typer.echo(f"hemiola {installed('hemiola')}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """The console command: errors a user can act on, without a stack trace."""
    try:
        outcome: Any = app(args=arguments, standalone_mode=False)
    except HemiolaError as error:
        typer.echo(f"error: {error}" if error.exit_code == 1 else str(error), err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted; what was committed stays, and running it again does the rest", err=True)
        sys.exit(130)
    except typer._click.exceptions.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    sys.exit(outcome if isinstance(outcome, int) else 0)
