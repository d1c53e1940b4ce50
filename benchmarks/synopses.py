"""One probe for thirty windows against thirty probes against plain numpy: is sharing a synopsis worth having?

For each kind of synopsis, 100 intervals of one SUM (and of one MAX) over 1,000 and 100,000 groups that all occur in
every interval, and over 268,000 groups of which 3,000 do; thirty windows of 13 to 100 intervals. Also the memory each
takes, counted by numpy (``nbytes``, free room included), as two ratios:

- to *raw*: the arrays of the b intervals' entries: codes (int32), row counts and values;
- to *by definition*: the arrays of the values semantics.md 3 lets the kind hold, each as one array without repeated
  codes: b intervals (basic interval), the disjoint dyadic blocks within the last b intervals (interval), b + 1 prefixes
  of every group seen (running).

Run with ``python -m benchmarks.synopses``; prints tables and writes ``synopses.json`` to ``benchmarks/out``.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from queries.model import Scalar
from queries.types import Type
from synopses.algebra import Component
from synopses.carriers import Array
from synopses.choice import BASIC_INTERVAL, INTERVAL, KINDS, RUNNING, legal_kinds
from synopses.components import Greatest, Rows, Total
from synopses.merged import Partials
from synopses.synopsis import Synopsis

OUT = Path(__file__).parent / "out"
B = 100
UPDATES = B + 30
WINDOWS = tuple(range(13, 101, 3))
N = Scalar("n", Type.BIGINT, ("n",))
STREAMS = ((1_000, 1_000), (100_000, 100_000), (268_000, 3_000))
"""(groups, groups in each interval)"""


@dataclass(frozen=True)
class Measured:
    """Best times in milliseconds; memory as multiples of the b raw intervals and of the values by definition."""

    aggregate: str
    kind: str
    groups: int
    per_interval: int
    update: float
    joint_probe: float
    separate_probes: float
    plain_numpy: float
    memory_to_raw: float
    memory_by_definition: float
    reads: int

    @property
    def sharing(self) -> float:
        """How many times faster one joint probe is than one per window."""
        return self.separate_probes / self.joint_probe

    @property
    def against_numpy(self) -> float:
        return self.plain_numpy / self.joint_probe


def partials(rng: np.random.Generator, component: Component, groups: int, per_interval: int) -> Partials:
    codes = rng.permutation(groups)[:per_interval]
    rows = np.ones(per_interval, dtype=np.int64)
    values = rng.integers(40, 1500, per_interval)
    return Partials(codes, ((rows,), (values, rows > 0) if isinstance(component, Greatest) else (values,)))


def probe(synopsis: Synopsis, windows: Sequence[int], groups: int) -> int:
    for _, merged in synopsis.probe(windows, groups):
        assert len(merged.states) == 2
    return synopsis.last_probe.reads


def plain_numpy(recent: Sequence[Partials], component: Component, groups: int) -> list[Array]:
    """What one would write without synopses: for every window, merge its intervals into dense arrays."""
    answers = []
    for n in WINDOWS:
        rows = np.zeros(groups, dtype=np.int64)
        values = np.zeros(groups, dtype=np.int64)
        for interval in recent[-n:]:
            rows[interval.codes] += interval.states[0][0]
            new = interval.states[1][0]
            if isinstance(component, Greatest):
                values[interval.codes] = np.maximum(values[interval.codes], new)
            else:
                values[interval.codes] += new
        answers.append(values[rows > 0])
    return answers


def best(work: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken) * 1000


def measured(component: Component, kind: str, groups: int, per_interval: int) -> Measured:
    rng = np.random.default_rng(3)
    components = (Rows(), component)
    synopsis = KINDS[kind](components, B)
    recent: deque[Partials] = deque(maxlen=B)
    updating = 0.0
    for _ in range(UPDATES):
        interval = partials(rng, component, groups, per_interval)
        recent.append(interval)
        start = perf_counter()
        synopsis.update(interval)
        updating += perf_counter() - start
    check(synopsis, recent, component, groups)
    times = 3 if per_interval > 10_000 else 10
    entry = 4 + sum(part.itemsize for state in recent[0].states for part in state)
    raw = entry * sum(len(interval.codes) for interval in recent)
    return Measured(
        "MAX" if isinstance(component, Greatest) else "SUM",
        kind,
        groups,
        per_interval,
        updating / (UPDATES) * 1000,
        best(lambda: probe(synopsis, WINDOWS, groups), times),
        best(lambda: [probe(synopsis, [n], groups) for n in WINDOWS], times),
        best(lambda: plain_numpy(list(recent), component, groups), 1 if per_interval > 10_000 else 3),
        synopsis.nbytes / raw,
        synopsis.nbytes / (entry * defined_entries(kind, list(recent))),
        probe(synopsis, WINDOWS, groups),
    )


def defined_entries(kind: str, recent: Sequence[Partials]) -> int:
    """Entries of the values semantics.md 3 defines for the kind; ``recent`` are the last B of UPDATES."""
    if kind == RUNNING:
        return (len(recent) + 1) * _distinct(recent)
    lengths = [1 << level for level in range(len(recent).bit_length())] if kind == INTERVAL else [1]
    starts = [(start, length) for length in lengths for start in range(0, UPDATES, length)]
    within = [(start - UPDATES + B, length) for start, length in starts if UPDATES - B <= start <= UPDATES - length]
    return sum(_distinct(recent[start : start + length]) for start, length in within)


def _distinct(intervals: Sequence[Partials]) -> int:
    return len(np.unique(np.concatenate([interval.codes for interval in intervals])))


def check(synopsis: Synopsis, recent: deque[Partials], component: Component, groups: int) -> None:
    expected = plain_numpy(list(recent), component, groups)
    for (_, merged), values in zip(synopsis.probe(WINDOWS, groups), expected, strict=True):
        if not np.array_equal(merged.states[1][0], values):
            raise SystemExit("a synopsis and plain numpy disagree")


def report(console: Console, results: Sequence[Measured]) -> None:
    table = Table(title=f"{len(WINDOWS)} windows of {WINDOWS[0]}–{WINDOWS[-1]} intervals, times in ms")
    heads = "aggregate|kind|groups|per interval|update|joint probe|30 probes|numpy|×30 probes|×numpy|reads"
    for head in [*heads.split("|"), "memory / raw", "/ by definition"]:
        table.add_column(head, justify="left" if head in ("aggregate", "kind") else "right")
    for r in results:
        times = (f"{time:.2f}" for time in (r.update, r.joint_probe, r.separate_probes, r.plain_numpy))
        ratios = (
            f"{r.sharing:.1f}",
            f"{r.against_numpy:.1f}",
            str(r.reads),
            f"{r.memory_to_raw:.2f}×",
            f"{r.memory_by_definition:.2f}×",
        )
        table.add_row(r.aggregate, r.kind, f"{r.groups:,}", f"{r.per_interval:,}", *times, *ratios)
    console.print(table)


def main() -> int:
    results = [
        measured(component, kind, *stream)
        for component in (Total(N), Greatest(N))
        for kind in (RUNNING, INTERVAL, BASIC_INTERVAL)
        if kind in legal_kinds(component)
        for stream in STREAMS
    ]
    report(Console(width=165), results)
    OUT.mkdir(exist_ok=True)
    written = [asdict(r) | {"sharing": r.sharing, "against_numpy": r.against_numpy} for r in results]
    (OUT / "synopses.json").write_text(json.dumps(written, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
