"""All benchmarks, one after the other, then one table: what is asked for (design: performance), and what was measured.

    python -m benchmarks              # everything, under 20 minutes on two idle cores
    python -m benchmarks --only ingest growth

Each runs in a process of its own and can be run alone. JSON and pictures go to ``benchmarks/out``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from benchmarks.measuring import OUT, Ratio, machine, print_ratios, print_table
from benchmarks.pictures import draw_yardstick


@dataclass(frozen=True)
class Benchmark:
    """``written`` names the JSON it leaves; ``ratios`` reads that of a benchmark that does not list its own."""

    command: tuple[str, ...]
    written: str
    ratios: Callable[[Any], list[Ratio]] | None = None

    @property
    def name(self) -> str:
        return self.command[0]


def _policies(found: Any) -> list[Ratio]:
    low = found["factors"]["low"]
    return [
        Ratio("policies: conservative", "none, throughput", low["conservative / none throughput"], 1.0),
        Ratio("policies: hybrid", "conservative, throughput", low["hybrid / conservative throughput"], 1.9),
        Ratio(
            "policies: hybrid+late_pending", "hybrid, throughput", low["hybrid+late_pending / hybrid throughput"], 2.0
        ),
        Ratio(
            "policies: hybrid+late_pending", "hybrid, latency", low["hybrid+late_pending / hybrid latency"], 0.1, True
        ),
    ]


def _topk_lists(found: Any) -> list[Ratio]:
    lists = found["fitted"]["lists"]
    recall = min(cell["recall"] for by_k in lists.values() for k, cell in by_k.items() if int(k) >= 3)
    error = max(cell["error"] for k, cell in lists["20"].items() if int(k) >= 7)
    return [
        Ratio("top-k lists: recall, k ≥ 3", "exact counts", recall, 0.8),
        Ratio("top-k lists: relative error, b = 20, k ≥ 7", "exact counts", error, 0.02, at_most=True),
    ]


def _synopses(found: Any) -> list[Ratio]:
    return [
        Ratio(
            "memory of a synopsis, the largest",
            "the raw numpy arrays",
            max(r["memory_to_raw"] for r in found),
            2.0,
            True,
        )
    ]


BENCHMARKS = (
    Benchmark(("shared_refresh", "--rate", "3000"), "shared_refresh_3000"),
    Benchmark(("shared_refresh", "--rate", "30000", "--sample", "60", "--no-spark"), "shared_refresh_30000"),
    Benchmark(("many_predicates",), "many_predicates_1000"),
    Benchmark(("many_predicates", "--constants", "1", "--events", "2000000"), "many_predicates_100"),
    Benchmark(("factor_windows",), "factor_windows"),
    Benchmark(("ingest",), "ingest"),
    Benchmark(("growth",), "growth"),
    Benchmark(("memory",), "memory"),
    Benchmark(("synopses",), "synopses", _synopses),
    Benchmark(("topk_lists",), "topk_lists", _topk_lists),
    Benchmark(("hybrid",), "hybrid", lambda found: []),
    Benchmark(("policies",), "policies", _policies),
)


def run(benchmark: Benchmark) -> tuple[float, bool]:
    """Seconds it took, and whether it ended well."""
    print(f"\n==> {' '.join(benchmark.command)}", flush=True)
    (OUT / f"{benchmark.written}.json").unlink(missing_ok=True)
    began = perf_counter()
    ended = subprocess.run([sys.executable, "-m", f"benchmarks.{benchmark.name}", *benchmark.command[1:]], check=False)
    return perf_counter() - began, ended.returncode == 0


def ratios_of(benchmark: Benchmark) -> list[Ratio]:
    path = OUT / f"{benchmark.written}.json"
    if not path.exists():
        return []
    found = json.loads(path.read_text())
    if benchmark.ratios is not None:
        return benchmark.ratios(found)
    return [Ratio(**ratio) for ratio in found["ratios"]]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(dict.fromkeys(benchmark.name for benchmark in BENCHMARKS))
    arguments.add_argument("--only", nargs="+", choices=names, default=names)
    arguments.add_argument("--gather", action="store_true", help="run nothing, gather what earlier runs left")
    options = arguments.parse_args()
    OUT.mkdir(exist_ok=True)
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name in options.only]
    ran = {} if options.gather else {benchmark: run(benchmark) for benchmark in chosen}
    ratios = [ratio for benchmark in chosen for ratio in ratios_of(benchmark)]
    if (OUT / "shared_refresh_3000.json").exists():
        draw_yardstick(OUT, OUT / "performance-yardstick.svg")
    print()
    print_ratios(ratios)
    if ran:
        print()
        header = ("benchmark", "seconds", "")
        print_table(header, [(" ".join(b.command), s, "" if well else "FAILED") for b, (s, well) in ran.items()])
    summary = {"machine": machine(), "ratios": [vars(ratio) | {"met": ratio.met} for ratio in ratios]}
    (OUT / "summary.json").write_text(json.dumps(summary, indent=2))
    return 0 if all(well for _, well in ran.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
