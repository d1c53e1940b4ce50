"""What all benchmarks share: side-by-side rounds, medians, the machine, and where the figures go."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeVar

OUT = Path(__file__).parent / "out"
Found = TypeVar("Found")
SEED_VARIABLE = "HEMIOLA_BENCH_SEED"
"""Set by ``python -m benchmarks`` for all programs of a run; a program run alone draws its own."""
_PACKAGES = ("hemiola", "pyspark", "numpy", "pyarrow", "duckdb", "polars", "datasketches", "bytewax", "matplotlib")


@dataclass(frozen=True)
class Ratio:
    """One row of the table: ``measured`` is to be at least ``asked``, or at most; None: nobody asked."""

    what: str
    against: str
    measured: float
    asked: float | None
    at_most: bool = False
    unit: str = "×"

    @property
    def met(self) -> bool | None:
        if self.asked is None:
            return None
        return self.measured <= self.asked if self.at_most else self.measured >= self.asked

    @property
    def verdict(self) -> str:
        return {True: "met", False: "short", None: ""}[self.met]

    def row(self) -> tuple[str, ...]:
        sign = "≤" if self.at_most else "≥"
        asked = "" if self.asked is None else f"{sign} {self.asked:g}{self.unit}"
        return (self.what, self.against, asked, f"{self.measured:.3g}{self.unit}", self.verdict)


def run_seed() -> int:
    """Decides the order of contenders; it is kept with the figures, so that a run can be repeated as it was."""
    return int(os.environ.setdefault(SEED_VARIABLE, str(time.time_ns() % 1_000_000)))


def order_of(names: Iterable[str], *round_of: object) -> list[str]:
    """The contenders in an order that differs between rounds, and between runs: a fixed one would favour someone."""
    listed = list(names)
    Random(f"{run_seed()} {' '.join(map(str, round_of))}").shuffle(listed)
    return listed


def machine() -> dict[str, Any]:
    """What the figures were measured on, and with."""
    versions = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _said("git", "describe", "--always", "--dirty"),
        "seed": run_seed(),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "system": platform.platform(),
        **versions,
    }


def _said(*command: str) -> str | None:
    try:
        found = subprocess.run(command, cwd=OUT.parent, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


@dataclass(frozen=True)
class Time:
    """Seconds. ``cpu`` has those of all threads of this process, and of the processes it started (Spark's JVM and
    Python workers): what is left to compare on a machine that others use."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Time:
    return timed_answer(work)[0]


def timed_answer(work: Callable[[], Found]) -> tuple[Time, Found]:
    cpu, wall = cpu_seconds(), perf_counter()
    found = work()
    return Time(perf_counter() - wall, cpu_seconds() - cpu), found


def cpu_seconds() -> float:
    """Processor time of this process and of all that descend from it (where the system tells of them)."""
    ended = os.times()
    return process_time() + ended.children_user + ended.children_system + sum(cpu_by_process().values())


def cpu_by_process() -> dict[int, float]:
    """Processor time of each descendant, those it has waited for included."""
    tick = os.sysconf("SC_CLK_TCK")
    found: dict[int, float] = {}
    waiting = _children(os.getpid())
    while waiting:
        pid = waiting.pop()
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[pid] = sum(int(field) for field in fields[11:15]) / tick
            waiting += _children(pid)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(child) for child in children.read_text().split()]
    return found


def rounds_of(contenders: Mapping[str, Callable[[], Any]], rounds: int = 3) -> dict[str, list[Time]]:
    """The times of each contender over rounds in which all run, in a new order each time."""
    times: dict[str, list[Time]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name in order_of(contenders, number):
            times[name].append(timed(contenders[name]))
    return times


def medians(times: Mapping[str, Sequence[Time]]) -> tuple[dict[str, float], dict[str, float]]:
    """Of wall and processor time, by contender."""
    wall = {name: median(time.wall for time in taken) for name, taken in times.items()}
    cpu = {name: median(time.cpu for time in taken) for name, taken in times.items()}
    return wall, cpu


def save(
    name: str,
    figures: Mapping[str, Any],
    ratios: Sequence[Ratio] = (),
    contenders: Mapping[str, float] | None = None,
) -> Path:
    """Writes ``<name>.json``; ``python -m benchmarks`` gathers the ratios of all of them. ``contenders`` has what each
    took for the same work (less is better): two runs are compared by their order."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.json"
    listed = [asdict(ratio) for ratio in ratios]
    content = {"machine": machine(), **figures, "contenders": dict(contenders or {}), "ratios": listed}
    path.write_text(json.dumps(content, indent=2, default=str))
    return path


def print_ratios(ratios: Sequence[Ratio]) -> None:
    print_table(("what", "against", "asked", "measured", ""), [ratio.row() for ratio in ratios])


def print_table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    cells = [tuple(f"{cell:,.4g}" if isinstance(cell, float) else str(cell) for cell in row) for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
