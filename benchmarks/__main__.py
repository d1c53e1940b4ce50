"""All benchmarks, one after the other, then one table: what is asked for (design: performance), and what was measured.

    python -m benchmarks                # everything, sized for 20 minutes on two idle cores
    python -m benchmarks --full         # the long forms: more rounds, more points, the yardstick's rate for streaming
    python -m benchmarks --only ingest growth
    python -m benchmarks --compare benchmarks/out/earlier/summary.json    # runs nothing: this run against that one

Each runs in a process of its own and can be run alone; one that fails is named and does not stop the others. JSON and
pictures go to ``benchmarks/out``; those of the run before are kept in ``benchmarks/out/earlier``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.comparing import print_comparison
from benchmarks.measuring import OUT, SEED_VARIABLE, Ratio, machine, print_table, run_seed
from benchmarks.peers.installed import missing_peers
from benchmarks.pictures import draw_yardstick

EARLIER = OUT / "earlier"
PATIENCE, PATIENCE_IN_FULL = 900, 7200
"""Seconds after which a benchmark counts as failed."""


@dataclass(frozen=True)
class Benchmark:
    """``written`` names the JSON it leaves; ``ratios`` reads that of a benchmark that does not list its own; ``full``
    are the options of the long form."""

    command: tuple[str, ...]
    written: str
    ratios: Callable[[Any], list[Ratio]] | None = None
    full: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return self.command[0]

    def line(self, full: bool) -> tuple[str, ...]:
        return (self.name, *self.full) if full and self.full is not None else self.command

    @property
    def there(self) -> bool:
        return find_spec(f"benchmarks.{self.name}") is not None


@dataclass(frozen=True)
class Ran:
    command: str
    seconds: float
    failure: str = ""


def _policies(found: Any) -> list[Ratio]:
    low = found["factors"]["low"]
    asked = (
        ("conservative", "none, throughput", "conservative / none throughput", 1.0, False),
        ("hybrid", "conservative, throughput", "hybrid / conservative throughput", 1.9, False),
        ("hybrid+late_pending", "hybrid, throughput", "hybrid+late_pending / hybrid throughput", 2.0, False),
        ("hybrid+late_pending", "hybrid, latency", "hybrid+late_pending / hybrid latency", 0.1, True),
    )
    return [Ratio(f"policies: {what}", other, low[key], value, at_most) for what, other, key, value, at_most in asked]


def _policies_real(found: Any) -> list[Ratio]:
    """Under overload, every execution taking the time it really took. No factor is asked of it."""
    by_name = {outcome["policy"]: outcome["overloaded_throughput"] for outcome in found}
    pairs = (("conservative", "none"), ("hybrid", "conservative"), ("hybrid+late_pending", "hybrid"))
    return [
        Ratio(f"policies for real: {one}", f"{other}, throughput", by_name[one] / by_name[other], None)
        for one, other in pairs
        if by_name[other]
    ]


def _topk_lists(found: Any) -> list[Ratio]:
    lists = found["fitted"]["lists"]
    recall = min(cell["recall"] for by_k in lists.values() for k, cell in by_k.items() if int(k) >= 3)
    trend = min(found["fitted"]["trends"].values())
    error = max(cell["error"] for k, cell in lists["20"].items() if int(k) >= 7)
    return [
        Ratio(
            "top-k lists: recall, all k ≥ 3 together, smallest b", "exact counts (fitted trace)", trend, 0.8, unit=""
        ),
        Ratio("top-k lists: recall, each k ≥ 3", "exact counts (fitted trace)", recall, 0.8, unit=""),
        Ratio("top-k lists: error, b = 20, k ≥ 7", "exact counts (fitted trace)", error, 0.02, at_most=True, unit=""),
    ]


def _synopses(found: Any) -> list[Ratio]:
    largest = max(result["memory_to_raw"] for result in found)
    return [Ratio("memory of a synopsis, the largest", "the raw numpy arrays", largest, 2.0, at_most=True)]


def _resident(found: Any) -> list[Ratio]:
    what = "Spark-resident: 1,000,000 groups × 100 intervals, 30 windows jointly"
    return [Ratio(what, "30 separate Spark queries over the same partials", found["ratio"], 10.0)]


BENCHMARKS = (
    Benchmark(("shared_refresh", "--rate", "3000"), "shared_refresh_3000", full=("--rate", "3000", "--rounds", "7")),
    Benchmark(
        ("shared_refresh", "--rate", "30000", "--updates", "3", "--no-spark"),
        "shared_refresh_30000",
        full=("--rate", "30000", "--updates", "6", "--rounds", "5", "--no-spark"),
    ),
    Benchmark(
        ("many_predicates", "--sample", "40"),
        "many_predicates_1000",
        full=("--sample", "1000", "--rounds", "3"),
    ),
    Benchmark(("many_predicates", "--constants", "1", "--events", "2000000"), "many_predicates_100"),
    Benchmark(("factor_windows",), "factor_windows", full=("--rounds", "7")),
    Benchmark(("ingest", "--rounds", "5"), "ingest", full=("--rounds", "15")),
    Benchmark(("growth",), "growth", full=("--full", "--rounds", "5")),
    Benchmark(("resident",), "resident", _resident),
    Benchmark(("memory",), "memory"),
    Benchmark(("synopses",), "synopses", _synopses),
    Benchmark(("topk_lists",), "topk_lists", _topk_lists),
    Benchmark(("topk_skew", "--few"), "topk_skew", full=()),
    Benchmark(("policies",), "policies", _policies),
    Benchmark(("policies", "--real"), "policies_real", _policies_real),
    Benchmark(("hybrid",), "hybrid", lambda found: []),
    Benchmark(("streaming",), "streaming", full=("--rate", "3000", "--seconds", "600", "--rounds", "3")),
)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def run(benchmark: Benchmark, full: bool) -> Ran:
    """It has failed if it leaves no figures; figures that fall short are the table's matter."""
    line = benchmark.line(full)
    written = OUT / f"{benchmark.written}.json"
    written.unlink(missing_ok=True)
    began = perf_counter()
    child = subprocess.Popen([sys.executable, "-m", f"benchmarks.{line[0]}", *line[1:]], start_new_session=True)
    try:
        code = child.wait(PATIENCE_IN_FULL if full else PATIENCE)
        failure = "" if code == 0 or written.exists() else f"ended with code {code}"
    except subprocess.TimeoutExpired:
        failure = "took too long"
        _end(child)
    except KeyboardInterrupt:
        _end(child)
        raise
    return Ran(" ".join(line), perf_counter() - began, failure)


def _end(child: subprocess.Popen[bytes]) -> None:
    """The process and those it started: they are a group of their own."""
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run_all(chosen: Sequence[Benchmark], full: bool) -> list[Ran]:
    began = perf_counter()
    ran = []
    for number, benchmark in enumerate(chosen, 1):
        command = " ".join(benchmark.line(full))
        print(f"\n==> [{number}/{len(chosen)}] {command}, {clock(perf_counter() - began)} since the start", flush=True)
        ran.append(run(benchmark, full) if benchmark.there else Ran(command, 0.0, "there is no such program"))
        if ran[-1].failure:
            print(f"FAILED: {command}: {ran[-1].failure}; going on with the others", flush=True)
        else:
            print(f"    {command}: {clock(ran[-1].seconds)}", flush=True)
    return ran


def keep_earlier() -> None:
    """The figures of the run before, out of the way of this one's."""
    if (OUT / "summary.json").exists():
        EARLIER.mkdir(exist_ok=True)
        for path in [*OUT.glob("*.json"), *OUT.glob("*.md")]:
            path.replace(EARLIER / path.name)


def found_in(folder: Path, benchmark: Benchmark) -> Any:
    path = folder / f"{benchmark.written}.json"
    return json.loads(path.read_text()) if path.exists() else None


def ratios_of(benchmark: Benchmark, found: Any) -> list[Ratio]:
    if found is None:
        return []
    return benchmark.ratios(found) if benchmark.ratios is not None else [Ratio(**ratio) for ratio in found["ratios"]]


def summary_of(chosen: Sequence[Benchmark], ran: Sequence[Ran], began_at: float | None) -> dict[str, Any]:
    found = {benchmark.written: found_in(OUT, benchmark) for benchmark in chosen}
    ratios = []
    for benchmark in chosen:
        for number, ratio in enumerate(ratios_of(benchmark, found[benchmark.written])):
            ratios.append(asdict(ratio) | {"key": f"{benchmark.written} {number}", "met": ratio.met})
    return {
        "machine": machine(),
        "seconds": None if began_at is None else perf_counter() - began_at,
        "ran": [asdict(one) for one in ran],
        "missing_peers": missing_peers(),
        "contenders": {
            name: figures["contenders"]
            for name, figures in found.items()
            if isinstance(figures, dict) and figures.get("contenders")
        },
        "ratios": ratios,
    }


def table_of(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    fields = ("what", "against", "measured", "asked", "at_most", "unit")
    return [Ratio(**{field: ratio[field] for field in fields}).row() for ratio in summary["ratios"]]


def markdown(summary: dict[str, Any]) -> str:
    """The table as docs/performance.md has it."""
    lines = ["| benchmark | against | asked | measured | |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in table_of(summary)]
    facts = summary["machine"]
    lines += ["", ", ".join(f"{name} {value}" for name, value in facts.items())]
    return "\n".join(lines) + "\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(dict.fromkeys(benchmark.name for benchmark in BENCHMARKS))
    arguments.add_argument("--only", nargs="+", choices=names, default=names)
    arguments.add_argument("--full", action="store_true", help="the long forms")
    arguments.add_argument("--gather", action="store_true", help="run nothing, gather what earlier runs left")
    arguments.add_argument("--compare", type=Path, metavar="SUMMARY", help="run nothing, compare with another run's")
    arguments.add_argument("--seed", type=int, help="of the contenders' order; by default a new one for every run")
    options = arguments.parse_args()
    if options.compare is not None:
        return 0 if print_comparison(options.compare, OUT / "summary.json") else 1
    if options.seed is not None:
        os.environ[SEED_VARIABLE] = str(options.seed)
    OUT.mkdir(exist_ok=True)
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name in options.only]
    began = perf_counter()
    ran: list[Ran] = []
    if not options.gather:
        if options.only == names:
            keep_earlier()
        print(f"seed of the contenders' order: {run_seed()}")
        for peer, why in missing_peers().items():
            print(f"not compared: {peer}, {why}")
        ran = run_all(chosen, options.full)
    summary = summary_of(chosen, ran, None if options.gather else began)
    (OUT / "summary.json").write_text(json.dumps(summary, indent=2))
    (OUT / "summary.md").write_text(markdown(summary))
    if (OUT / "shared_refresh_3000.json").exists():
        draw_yardstick(OUT, OUT / "performance-yardstick.svg")
    print()
    print_table(("what", "against", "asked", "measured", ""), table_of(summary))
    if ran:
        print()
        print_table(("benchmark", "took", ""), [(one.command, clock(one.seconds), one.failure) for one in ran])
        failed = [one.command for one in ran if one.failure]
        print(f"\n{clock(perf_counter() - began)} in all; failed: {'; '.join(failed) or 'none'}")
    if ran and options.only == names and (EARLIER / "summary.json").exists():
        print("\nagainst the run before:")
        print_comparison(EARLIER / "summary.json", OUT / "summary.json")
    return 1 if any(one.failure for one in ran) else 0


if __name__ == "__main__":
    sys.exit(main())
