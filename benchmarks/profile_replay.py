"""Where the time of a whole replay of the yardstick goes: Spark's pass, the engine, the commits.

    python -m benchmarks.profile_replay             # table and flame graph into benchmarks/out
    python -m benchmarks.profile_replay --publish   # the flame graph also into docs/images

240 queries, 200 intervals of 3,000 records in a Parquet file, answers into SQLite, as ``hemiola replay`` does it, in a
Spark session that is up and has replayed a little before. Wall time is that of the main thread, which waits while Spark
works (``benchmarks.sampling``); processor time is also told for Spark's JVM and its Python workers. The table names
modules of ours, each with all that it calls outside of our packages, until 90% of the time is covered.
"""

from __future__ import annotations

import argparse
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any

import pyarrow.parquet as pq

from benchmarks.flame_graph import Stack, flame_graph
from benchmarks.measuring import OUT, cpu_by_process, machine, print_table, save
from benchmarks.replaying import configured
from benchmarks.sampling import Sampler
from benchmarks.yardstick import packets, questions
from hemiola import api
from queries.model import SparkSettings
from spark_jobs.session import spark_session

PICTURE = "performance-replay.svg"
PUBLISHED = Path(__file__).parents[1] / "docs" / "images" / PICTURE
OURS = ("hemiola.", "queries.", "synopses.", "sharing.", "scheduler.", "spark_jobs.", "results.")
COVERED = 0.9
PARTS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("Spark: reading and pre-aggregating the records", lambda name: name.startswith("spark_jobs.")),
    ("commit: answers into the results", lambda name: name.startswith("results.") or name.endswith("._commit")),
    ("planning", lambda name: name.startswith(("sharing.plan", "queries."))),
    ("engine: partials into the synopses", lambda name: name.endswith((".Engine.ingest", ".Engine.update"))),
    ("engine: refreshes", lambda name: name.endswith(".Engine.run_next")),
    ("engine: setting it up", lambda name: name.startswith("scheduler.")),
)
"""A stack belongs to the first part that one of its modules is of, from the outermost inwards."""
_COLOURS = {
    "spark_jobs.": "#f0b27a", "pyspark.": "#f5cba7", "py4j.": "#f5cba7", "results.": "#a9cce3", "sqlite3": "#a9cce3",
    "scheduler.": "#f1948a", "synopses.": "#e6b0aa", "sharing.": "#d2b4de", "queries.": "#d7bde2",
    "hemiola.": "#aed6a5",
}  # fmt: skip


def colour(name: str) -> str:
    return next((value for start, value in _COLOURS.items() if name.startswith(start)), "#d5d8dc")


def part_of(stack: Stack) -> str:
    for name in stack:
        for part, is_of in PARTS:
            if is_of(name):
                return part
    return "the rest of the replay"


def innermost_of_ours(stack: Stack) -> str:
    """The module of ours that the time was spent in, or in what it called."""
    name = next((name for name in reversed(stack) if name.startswith(OURS)), "outside of our modules")
    return ".".join(name.split(".")[:2])


def summed(seconds: Mapping[Stack, float], by: Callable[[Stack], str]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for stack, spent in seconds.items():
        found[by(stack)] += spent
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def until_covered(seconds: Mapping[str, float]) -> Iterable[str]:
    """The largest ones that together make up ``COVERED`` of the whole."""
    reached, whole = 0.0, sum(seconds.values())
    for name, spent in seconds.items():
        yield name
        reached += spent
        if reached >= COVERED * whole:
            return


class Processors:
    """Processor time of this process's threads and of the processes that Spark started, between two looks."""

    def __init__(self) -> None:
        self._main, self._own, self._others = thread_time(), process_time(), cpu_by_process()

    def since(self) -> dict[str, float]:
        main, own = thread_time() - self._main, process_time() - self._own
        spent = {"driver, main thread": main, "driver, other threads": max(own - main, 0.0)}
        for pid, seconds in cpu_by_process().items():
            name = "Spark's JVM" if _command(pid) == "java" else "Spark's Python workers"
            spent[name] = spent.get(name, 0.0) + seconds - self._others.get(pid, 0.0)
        return spent


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def profiled(rate: int, intervals: int) -> tuple[Sampler, dict[str, float], dict[str, Any]]:
    with TemporaryDirectory() as name, spark_session(SparkSettings(), "profile") as spark:
        folder = Path(name)
        for part, length in (("warm", 20), ("rows", intervals)):
            (folder / part).mkdir()
            pq.write_table(packets(length, rate), folder / part / "packets.parquet")
        (folder / "first").mkdir()
        api.replay(configured(folder / "first", folder / "warm", questions(2)), spark=spark)
        config = configured(folder, folder / "rows", questions())
        sampler, processors, began = Sampler("preaggregation"), Processors(), perf_counter()
        with sampler:
            report = api.replay(config, spark=spark)
        wall = perf_counter() - began
        spent = processors.since()
        (stream,) = report.streams
        return sampler, spent, {"wall": wall, "cpu": sum(spent.values()), **vars(stream)}


def markdown(parts: Sequence[tuple[str, ...]], modules: Sequence[tuple[str, str, str]], spent: dict[str, float]) -> str:
    lines = ["| part | share of the time | seconds | CPU seconds of the main thread |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in parts]
    lines += ["", "| module, with what it calls outside | share of the time | seconds |", "|---|---|---|"]
    lines += [f"| `{name}` | {share} | {seconds} |" for name, share, seconds in modules]
    return "\n".join([*lines, "", "CPU seconds: " + ", ".join(f"{n} {s:.2f}" for n, s in spent.items()), ""])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rate", type=int, default=3000, help="records per interval")
    arguments.add_argument("--intervals", type=int, default=200)
    arguments.add_argument("--publish", action="store_true", help="the flame graph also into docs/images")
    options = arguments.parse_args()
    sampler, spent, report = profiled(options.rate, options.intervals)
    whole = sum(sampler.wall.values())
    cpu = summed(sampler.cpu, part_of)
    parts = [
        (part, f"{seconds / whole:.0%}", f"{seconds:.2f}", f"{cpu[part]:.2f}")
        for part, seconds in summed(sampler.wall, part_of).items()
    ]
    by_module = summed(sampler.wall, innermost_of_ours)
    named = list(until_covered(by_module))
    modules = [(name, f"{by_module[name] / whole:.1%}", f"{by_module[name]:.2f}") for name in named]
    print(f"{report['records']:,} records, {report['refreshes']:,} refreshes, {report['wall']:.1f} s")
    print_table(("part", "share", "seconds", "CPU seconds"), list(parts))
    print_table(("module, with what it calls outside", "share", "seconds"), list(modules))
    print(f"{len(named)} modules make up {sum(by_module[name] for name in named) / whole:.0%} of the time")
    print_table(("processor time of", "seconds"), list(spent.items()))
    OUT.mkdir(exist_ok=True)
    (OUT / "profile_replay.md").write_text(markdown(parts, modules, spent))
    title = (
        f"Replay of {report['records']:,} records, {report['refreshes']:,} refreshes of 240 queries: "
        f"{report['wall']:.1f} s of wall time, {machine()['measured_at'][:10]}"
    )
    (OUT / PICTURE).write_text(flame_graph(sampler.wall, title, "replay", colour))
    if options.publish:
        shutil.copyfile(OUT / PICTURE, PUBLISHED)
    figures = {"report": report, "cpu": spent, "parts": parts, "modules": modules, "covered": COVERED}
    print(save("profile_replay", figures))


if __name__ == "__main__":
    main()
