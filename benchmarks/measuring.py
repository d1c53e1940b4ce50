"""What all benchmarks share: side-by-side rounds, medians, the machine, and where the figures go."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

OUT = Path(__file__).parent / "out"
_PACKAGES = ("pyspark", "numpy", "pyarrow", "duckdb", "polars", "datasketches")


@dataclass(frozen=True)
class Ratio:
    """One row of the table of ratios: ``measured`` is to be at least ``asked``, or at most."""

    what: str
    against: str
    measured: float
    asked: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.measured <= self.asked if self.at_most else self.measured >= self.asked

    def row(self) -> tuple[str, ...]:
        sign = "≤" if self.at_most else "≥"
        return (
            self.what,
            self.against,
            f"{sign} {self.asked:g}×",
            f"{self.measured:.3g}×",
            "met" if self.met else "short",
        )


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "system": platform.platform(),
        **versions,
    }


@dataclass(frozen=True)
class Time:
    """``cpu`` has the seconds of all threads of this process: what is left to compare on a machine that others use."""

    wall: float
    cpu: float


def timed(work: Callable[[], Any]) -> Time:
    wall, cpu = perf_counter(), process_time()
    work()
    return Time(perf_counter() - wall, process_time() - cpu)


def rounds_of(contenders: Mapping[str, Callable[[], Any]], rounds: int = 3, seed: int = 1) -> dict[str, list[Time]]:
    """The times of each contender over rounds in which all run, in a new order each time."""
    chance = Random(seed)
    times: dict[str, list[Time]] = {name: [] for name in contenders}
    for _ in range(rounds):
        names = list(contenders)
        chance.shuffle(names)
        for name in names:
            times[name].append(timed(contenders[name]))
    return times


def side_by_side(contenders: Mapping[str, Callable[[], Any]], rounds: int = 3, seed: int = 1) -> dict[str, float]:
    """Median seconds of each contender (``rounds_of``)."""
    return {name: median(time.wall for time in times) for name, times in rounds_of(contenders, rounds, seed).items()}


def save(name: str, figures: Mapping[str, Any], ratios: Sequence[Ratio] = ()) -> Path:
    """Writes ``<name>.json``; ``python -m benchmarks`` gathers the ratios of all of them."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.json"
    content = {"machine": machine(), **figures, "ratios": [asdict(ratio) for ratio in ratios]}
    path.write_text(json.dumps(content, indent=2, default=str))
    return path


def print_ratios(ratios: Sequence[Ratio]) -> None:
    print_table(("what", "against", "asked", "measured", ""), [ratio.row() for ratio in ratios])


def print_table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    cells = [tuple(f"{cell:,.4g}" if isinstance(cell, float) else str(cell) for cell in row) for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
