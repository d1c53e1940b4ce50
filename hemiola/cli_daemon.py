"""The commands around the daemon: run it, change what it keeps fresh, watch it."""

from __future__ import annotations

import json as json_text
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hemiola import api, display
from hemiola.control import request
from hemiola.logs import log_to_stderr
from hemiola.state_folder import socket_path

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="the YAML file that names streams and queries")]
Json = Annotated[bool, typer.Option("--json", help="for machines: JSON instead of text")]


def add_commands(app: typer.Typer) -> None:
    for command in (run, register, deregister, reload, status):
        app.command()(command)
    app.command("list")(list_queries)


def run(
    config: ConfigPath,
    json: Annotated[bool, typer.Option("--json", help="log in JSON lines")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="log more")] = False,
) -> None:
    """Run the daemon: live sources, the wall clock, durable, restartable; until SIGTERM or Ctrl-C."""
    from hemiola.running import run_config

    log_to_stderr(json, logging.INFO if verbose or json else logging.WARNING)
    checked = api.validate(config)
    if not json:
        typer.echo(f"running {len(checked.queries)} queries; stop it with Ctrl-C", err=True)
    run_config(checked)
    sys.stdout.flush()
    os._exit(0)  # threads of Spark's may hang on after everything is committed and closed


def register(
    config: ConfigPath, files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="files with queries:")]
) -> None:
    """Have a running daemon keep more queries fresh; all of them, or none when one is wrong."""
    found = _ask(config, "register", paths=[str(path.absolute()) for path in files])
    names = found["registered"]
    typer.echo(f"registered {', '.join(names)}" if names else "nothing to register")
    for warning in found["warnings"]:
        typer.echo(warning, err=True)


def deregister(
    config: ConfigPath, names: Annotated[list[str], typer.Argument(metavar="NAME...", help="names of queries")]
) -> None:
    """Have a running daemon drop queries; their tables stay."""
    _ask(config, "deregister", names=names)
    typer.echo(f"deregistered {', '.join(names)}; what they answered stays")


def reload(config: ConfigPath) -> None:
    """Have a running daemon read its config again, as SIGHUP does."""
    _ask(config, "reload")
    typer.echo("the config was read again")


def list_queries(config: ConfigPath, json: Json = False) -> None:
    """The queries a running daemon keeps fresh."""
    queries = _ask(config, "status")["queries"]
    if json:
        typer.echo(json_text.dumps(queries))
        return
    table = display.listing("query", "stream", "window", "slide", "semantics", "state")
    for query in queries:
        table.add_row(*(str(query[key]) for key in ("query", "stream", "window", "slide", "semantics", "state")))
    Console().print(table)


def status(config: ConfigPath, json: Json = False) -> None:
    """How a running daemon and each of its queries are doing."""
    found = _ask(config, "status")
    if json:
        typer.echo(json_text.dumps(found))
        return
    console = Console()
    console.print(f"pid {found['pid']}, running since {found['started_at']}", highlight=False)
    if found["error"]:
        console.print(f"[red]{found['error']}[/]")
    if found["clock_set"]:
        console.print(f"[yellow]{found['clock_set']}[/]")
    for stream in found["streams"]:
        console.print(
            f"stream [bold]{stream['stream']}[/]: {stream['records']:,} records, {stream['late']:,} too late, "
            f"{stream['malformed']:,} malformed; updated until {stream['updated_until']}",
            highlight=False,
        )
        if stream["error"]:
            console.print(f"  [red]{stream['error']}[/]")
    table = display.listing("query", "state", "last window end", ">lag", ">late by", ">refreshes", ">shared", "error")
    for query in found["queries"]:
        table.add_row(
            query["query"], query["state"], query["last_window_end"] or "", _seconds(query["lag"]),
            _seconds(query["late_by"]), str(query["refreshes"]), str(query["shared"]), query["last_error"] or "",
        )  # fmt: skip
    console.print(table)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:g} s"


def _ask(config: Path, command: str, **arguments: object) -> Any:
    return request(socket_path(api.validate(config).state), command, **arguments)
