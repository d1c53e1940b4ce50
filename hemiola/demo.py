"""``hemiola demo``: a packet stream with a burst in it, questions at several time scales, and their answers."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from rich.console import Console

from hemiola import api
from hemiola.display import listing, show_plan, sparkline
from hemiola.progress import progress_bar
from hemiola.reports import ReplayReport
from queries.durations import format_duration
from queries.errors import RunError
from queries.model import Config
from results import read

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "demo.yaml"


def run(path: Path | None, console: Console) -> None:
    """Replays the demo's config from the beginning and tells the story of the stream."""
    config_path = path or _shown(CONFIG)
    if not config_path.exists():
        raise RunError(f"there is no {config_path}", hint="run the demo from a checkout, or give --config")
    config = api.validate(config_path)
    console.rule("[bold]What is asked")
    _questions(console, config)
    console.rule("[bold]What is kept, and shared")
    show_plan(console, api.explain(config))
    console.rule("[bold]Replaying")
    began = perf_counter()
    with progress_bar("replaying") as progress:
        report = api.replay(config, again=True, progress=progress)
    elapsed = perf_counter() - began
    console.rule("[bold]What came out")
    if path is None:
        _answers(console, config)
    console.rule("[bold]How much work it was")
    _work(console, report, elapsed)
    console.print("\nThe answers are in a SQL table per query. Try next:")
    console.print(
        f'  .venv/bin/hemiola query {config_path} "SELECT window_end, rank, src, bytes FROM top_talkers_1m '
        'ORDER BY window_end DESC, rank LIMIT 10"',
        highlight=False,
        soft_wrap=True,
    )


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _questions(console: Console, config: Config) -> None:
    table = listing("query", ">window", ">every", "asks")
    for query in config.queries:
        asked = " ".join(query.sql.split()).replace(f"FROM {query.stream} ", "").removeprefix("SELECT ")
        clause = asked[asked.find("[") : asked.find("]") + 2]
        asked = asked.replace(clause, "")
        table.add_row(query.name, format_duration(query.window), format_duration(query.slide), asked)
    console.print(table)


def _answers(console: Console, config: Config) -> None:
    traffic = read(config.results, "SELECT window_end, packets FROM traffic_30s ORDER BY window_end").rows
    packets = [float(str(row[1])) for row in traffic]
    console.print(f"packets per 30 s  [cyan]{sparkline(packets)}[/]  {min(packets):,.0f} to {max(packets):,.0f}")
    clock = "substr(window_end, 12, 8)"
    floods = read(
        config.results,
        f"SELECT {clock}, dst, packets, round(bytes_per_s / 1000) FROM flood_suspects ORDER BY window_end LIMIT 6",
    )
    table = listing("as of", "destination", ">packets", ">kB/s", title="flood_suspects saw the burst begin")
    for row in floods.rows:
        table.add_row(str(row[0]), str(row[1]), _number(row[2]), _number(row[3]))
    console.print(table)
    for name in ("top_talkers_1m", "top_talkers_10m"):
        newest = f"(SELECT max(window_end) FROM {name})"
        sql = f"SELECT {clock}, rank, src, bytes FROM {name} WHERE window_end = {newest} ORDER BY rank LIMIT 3"
        rows = read(config.results, sql).rows
        table = listing(">rank", "source", ">bytes", title=f"{name}, as of {rows[0][0]!s}")
        for _, rank, source, sent in rows:
            table.add_row(str(rank), str(source), _number(sent))
        console.print(table)


def _number(cell: object) -> str:
    return f"{float(str(cell)):,.0f}"


def _work(console: Console, report: ReplayReport, elapsed: float) -> None:
    for stream in report.streams:
        console.print(
            f"{stream.refreshes:,} refreshes of {stream.rows:,} rows in {elapsed:.1f} s, of which Spark jobs took "
            f"{stream.spark_seconds:.1f} s, probing {stream.engine_seconds:.2f} s and commits "
            f"{stream.commit_seconds:.2f} s"
        )
        if stream.records:
            console.print(
                f"Each of the {stream.records:,} records was read once. As queries of their own the same refreshes "
                f"would have read about {stream.rescanned:,}: {stream.rescanned / stream.records:,.0f} times as many."
            )
        console.print(
            f"Kept in memory: {stream.synopsis_entries:,} partial aggregates, {stream.synopsis_bytes / 1e6:.1f} MB."
        )
