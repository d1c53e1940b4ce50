"""How cost grows: with queries (40 → 4,000 in the same 8 groups), groups, window length and record rate.

    python -m benchmarks.growth

Cost per update at the yardstick's settings: *update* is coding the partials and updating every synopsis; *all* is that
with all refreshes that fall due and their commit to SQLite. The peers' curves are one query per due refresh: DuckDB
over the raw rows and over per-interval rollups, Polars over the raw rows. They answer a sample of what is due, in turn
with Hemiola, which is extrapolated; their answers are compared with Hemiola's. Engines with one standing query per
registered query cannot follow to thousands of them (``benchmarks.streaming`` has their price per query).
"""

from __future__ import annotations

import argparse
import gc
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

import numpy as np
import pyarrow as pa

from benchmarks.measuring import OUT, Ratio, order_of, print_ratios, print_table, save
from benchmarks.peers.tables import Asked, DuckDB, Peer, polars_raw
from benchmarks.replaying import advance, committed, conservative_engine, opened, prepared, refreshed
from benchmarks.yardstick import GROUPINGS, Question, packets, questions, registered, stream
from sharing.plan import plan_stream

COUNTED = 30
"""Updates counted, after the longest window has passed."""
PEER_UPDATES = 3
"""After so many of them, evenly spread, the peers have their turn."""
PEER_REFRESHES = 12
"""Refreshes that a peer answers in a turn."""


@dataclass(frozen=True)
class Point:
    """Milliseconds per update (median for ``update``, mean for ``all``); refreshes per update; the peers' milliseconds
    for as many refreshes."""

    x: int
    update: float
    all: float
    refreshes: float
    peers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """One place on a curve. ``warm_up``: updates until the longest window is full."""

    x: int
    rows: Callable[[], pa.Table]
    asked: Callable[[], list[Question]]
    warm_up: int = 100


def measured(setting: Setting, number: int) -> Point:
    """``number``: of the round."""
    gc.collect()
    rows, asked = setting.rows(), setting.asked()
    queries = registered(asked)
    plan = plan_stream(stream(), queries)
    plan = replace(plan, queries=tuple(replace(query, output_slide=None) for query in plan.queries))
    last = setting.warm_up + COUNTED
    pieces = prepared(rows, plan.needs, last)
    engine = conservative_engine(plan)
    while engine.now < setting.warm_up:
        advance(engine, pieces)
    refreshed(engine)
    used = {question.keys for question in asked}
    duckdb = DuckDB(rows, [keys for keys in GROUPINGS if keys in used])
    tried_on = [(question, setting.warm_up) for question in Random(1).sample(asked, min(PEER_REFRESHES, len(asked)))]
    peers = (duckdb.raw(tried_on), duckdb.rollups(tried_on), polars_raw(rows, tried_on))
    each: dict[str, list[float]] = {peer.name: [] for peer in peers}
    updates, whole, count = [], [], 0
    by_name = {question.name: question for question in asked}
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), queries) as store:
        while engine.now < last:
            began = perf_counter()
            advance(engine, pieces)
            updates.append(perf_counter() - began)
            answers = refreshed(engine)
            committed(store, engine, answers)
            whole.append(perf_counter() - began)
            count += len(answers)
            if (engine.now - setting.warm_up) % (COUNTED // PEER_UPDATES) == 0 and answers:
                some = Random(engine.now).sample(answers, min(PEER_REFRESHES, len(answers)))
                due = [(by_name[answer.query], engine.now) for answer in some]
                expected = [[tuple(row.values()) for row in answer.table.to_pylist()] for answer in some]
                for name in order_of(each, setting.x, number, engine.now):
                    each[name].append(_each(next(peer for peer in peers if peer.name == name), due, expected))
    per_update = count / COUNTED
    theirs = {name: median(taken) * per_update * 1000 for name, taken in each.items() if taken}
    return Point(setting.x, median(updates) * 1000, sum(whole) / COUNTED * 1000, per_update, theirs)


def _each(peer: Peer, due: Sequence[Asked], expected: list[list[tuple[object, ...]]]) -> float:
    """Seconds per refresh."""
    began = perf_counter()
    answers = peer.answers(due)
    taken = (perf_counter() - began) / len(due)
    for asked, rows, right in zip(due, answers, expected, strict=True):
        if [tuple(int(value) for value in row) for row in rows] != right:
            raise AssertionError(f"{peer.name}, {asked}: {rows} against {right}")
    return taken


def curve(settings: Sequence[Setting], rounds: int) -> list[Point]:
    """All settings in every round, in a new order each time; the medians of each."""
    found: dict[int, list[Point]] = {setting.x: [] for setting in settings}
    by_x = {str(setting.x): setting for setting in settings}
    for number in range(rounds):
        for x in order_of(by_x, number):
            point = measured(by_x[x], number)
            found[point.x].append(point)
            print(f"    {point.x:,}: {point.all:,.1f} ms per update", flush=True)
    return [
        Point(
            x,
            median(point.update for point in points),
            median(point.all for point in points),
            points[0].refreshes,
            {name: median(point.peers[name] for point in points) for name in points[0].peers},
        )
        for x, points in found.items()
    ]


def by_queries(sizes: Sequence[int]) -> list[Setting]:
    return [
        Setting(size, lambda: packets(100 + COUNTED, 3000), lambda size=size: questions(size // 8))  # type: ignore[misc]
        for size in sizes
    ]


def by_groups(sizes: Sequence[int]) -> list[Setting]:
    """Queries by (src, dst) only, with ever more sources and destinations, all equally likely."""

    def rows(groups: int) -> pa.Table:
        chance, side = np.random.default_rng(3), round(groups**0.5)
        made = packets(100 + COUNTED, 3000)
        for name in ("src", "dst"):
            values = pa.array(chance.integers(0, side, made.num_rows, dtype=np.int32))
            made = made.set_column(made.column_names.index(name), name, values)
        return made

    asked = [question for question in questions() if question.keys == ("src", "dst")]
    return [Setting(groups, lambda groups=groups: rows(groups), lambda: asked) for groups in sizes]  # type: ignore[misc]


def by_window(lengths: Sequence[int]) -> list[Setting]:
    """The yardstick's 240 queries with every window stretched or shrunk so that the longest has the given length. The
    slides are those of the shortest setting everywhere: the same refreshes, over windows of other lengths."""

    def asked(longest: int) -> list[Question]:
        shrunk = lengths[0] / 100
        return [
            replace(q, window=max(q.window * longest // 100, 2), slide=max(1, int(q.slide * shrunk)))
            for q in questions()
        ]

    return [
        Setting(longest, lambda n=longest: packets(n + COUNTED, 1000), lambda n=longest: asked(n), longest)  # type: ignore[misc]
        for longest in lengths
    ]


def by_rate(rates: Sequence[int]) -> list[Setting]:
    return [Setting(rate, lambda rate=rate: packets(100 + COUNTED, rate), questions) for rate in rates]  # type: ignore[misc]


def draw(curves: dict[str, list[Point]]) -> None:
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "hemiola"
    figure, panels = pyplot.subplots(2, 2, figsize=(11, 8))
    for panel, (name, points) in zip(panels.flat, curves.items(), strict=False):
        x = [point.x for point in points]
        panel.loglog(
            x, [p.all for p in points], marker="o", color="#c0392b", label="Hemiola: update, refreshes, commit"
        )
        panel.loglog(x, [p.update for p in points], marker="o", color="#e6a49c", label="Hemiola: update alone")
        for peer, marker in zip(points[0].peers, "s^v", strict=True):
            panel.loglog(
                x, [p.peers[peer] for p in points], marker=marker, linestyle="--", label=f"{peer}, extrapolated"
            )
        panel.set_xticks(x, [f"{value:,}" for value in x])
        panel.minorticks_off()
        panel.set(title=f"cost against {name}", xlabel=name, ylabel="ms per update")
    panels[0][0].legend(fontsize=8)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "growth.svg", metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=3, help="of the ends of the curve over queries")
    arguments.add_argument("--full", action="store_true", help="more points, and as many rounds for all of them")
    arguments.add_argument("--queries-only", action="store_true")
    options = arguments.parse_args()
    full = options.full
    others = options.rounds if full else 1
    print("cost against queries", flush=True)
    ends = curve(by_queries((40, 4000)), options.rounds)
    between = curve(by_queries((120, 400, 1200) if full else (400,)), others)
    curves = {"queries": [ends[0], *between, ends[1]]}
    if not options.queries_only:
        rest = {
            "groups": by_groups((1_000, 10_000, 100_000, 1_000_000) if full else (1_000, 30_000, 1_000_000)),
            "longest window": by_window((25, 50, 100, 200, 400) if full else (25, 100, 400)),
            "records per interval": by_rate((300, 1_000, 3_000, 10_000, 30_000) if full else (300, 3_000, 30_000)),
        }
        for name, settings in rest.items():
            print(f"cost against {name}", flush=True)
            curves[name] = curve(settings, others)
        draw(curves)
    for name, points in curves.items():
        header = (name, "update ms", "with refreshes ms", "refreshes", *(f"{peer} ms" for peer in points[0].peers))
        rows = [(point.x, point.update, point.all, point.refreshes, *point.peers.values()) for point in points]
        print_table(header, rows)
    first, last = ends
    more = last.refreshes / first.refreshes
    ratios = [
        Ratio("growth: cost of an update at 4,000 queries", "at 40", last.update / first.update, 4.0, at_most=True),
        Ratio(
            f"growth: the same with its refreshes ({more:.0f} times as many) and commits",
            "at 40",
            last.all / first.all,
            4.0,
            at_most=True,
        ),
    ]
    print_ratios(ratios)
    figures = {name: [asdict(point) for point in points] for name, points in curves.items()}
    contenders = {"Hemiola, all": last.all, **last.peers}
    print(save("growth", figures, ratios, contenders))


if __name__ == "__main__":
    main()
