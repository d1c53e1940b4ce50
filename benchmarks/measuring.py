"""What all benchmarks share: side-by-side rounds, medians, the machine, and where the figures go."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

OUT = Path(__file__).parent / "out"
_PACKAGES = ("pyspark", "numpy", "pyarrow", "duckdb", "polars", "datasketches")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform(), **versions}


def side_by_side(contenders: Mapping[str, Callable[[], Any]], rounds: int = 3, seed: int = 1) -> dict[str, float]:
    """Median seconds of each contender over rounds in which all run, in a new order each time."""
    chance = Random(seed)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        names = list(contenders)
        chance.shuffle(names)
        for name in names:
            began = perf_counter()
            contenders[name]()
            seconds[name].append(perf_counter() - began)
    return {name: median(times) for name, times in seconds.items()}


def save(name: str, figures: Mapping[str, Any]) -> Path:
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=2, default=str))
    return path


def print_table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    cells = [tuple(f"{cell:,.4g}" if isinstance(cell, float) else str(cell) for cell in row) for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
