"""How cost grows: with queries (40 → 4,000 in the same 8 groups), groups, window length and record rate.

    python -m benchmarks.growth

Cost per update at the yardstick's settings: *update* is coding the partials and updating every synopsis; *all* is that
with all refreshes that fall due and their commit to SQLite. The peer's curve is one DuckDB query per due refresh over
per-interval rollups, a sample extrapolated.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.measuring import OUT, Ratio, print_ratios, print_table, save
from benchmarks.replaying import advance, committed, conservative_engine, opened, prepared, refreshed, with_intervals
from benchmarks.yardstick import Question, packets, questions, registered, stream
from sharing.plan import plan_stream

COUNTED = 30
"""Updates counted, after the longest window has passed."""


@dataclass(frozen=True)
class Point:
    """Median milliseconds per update; refreshes per update."""

    x: int
    update: float
    all: float
    refreshes: float
    duckdb: float | None = None


def measured(x: int, rows: pa.Table, asked: list[Question], warm_up: int, peer: bool = False) -> Point:
    queries = registered(asked)
    plan = plan_stream(stream(), queries)
    pieces = prepared(rows, plan.needs, warm_up + COUNTED)
    engine = conservative_engine(plan)
    while engine.now < warm_up:
        advance(engine, pieces)
    refreshed(engine)
    updates, whole, count = [], [], 0
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), queries) as store:
        while engine.now < warm_up + COUNTED:
            began = perf_counter()
            advance(engine, pieces)
            updates.append(perf_counter() - began)
            answers = refreshed(engine)
            committed(store, engine, answers)
            whole.append(perf_counter() - began)
            count += len(answers)
    each = _duckdb_seconds(rows, asked, warm_up) if peer else None
    per_update = count / COUNTED
    theirs = None if each is None else each * per_update * 1000
    return Point(x, median(updates) * 1000, sum(whole) / COUNTED * 1000, per_update, theirs)


def _duckdb_seconds(rows: pa.Table, asked: list[Question], end: int) -> float:
    """Seconds per refresh over rollups."""
    connection = duckdb.connect()
    connection.register("arrow", with_intervals(rows))
    for keys in {question.keys for question in asked}:
        names = ", ".join(keys)
        rollup = f"SELECT interval AS t, {names}, SUM(length) AS length FROM arrow GROUP BY ALL"
        connection.execute(f"CREATE TABLE r_{'_'.join(keys)} AS {rollup}")
    sample = Random(2).sample(asked, min(24, len(asked)))
    began = perf_counter()
    for question in sample:
        names, table = ", ".join(question.keys), "r_" + "_".join(question.keys)
        inner = (
            f"SELECT {names}, SUM(length) AS bytes FROM {table}"
            f" WHERE t >= {end - question.window} AND t < {end} GROUP BY {names}"
        )
        top = f"{inner} ORDER BY bytes DESC, {names} LIMIT 10"
        connection.execute(top if question.top else f"SELECT quantile_disc(bytes, 0.9) FROM ({inner})").fetchall()
    return (perf_counter() - began) / len(sample)


def by_queries(sizes: Sequence[int], rounds: int) -> list[Point]:
    """All sizes in every round; the point of each is the round with the median whole cost."""
    rows = packets(100 + COUNTED, 3000)
    found: dict[int, list[Point]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            found[size].append(measured(size, rows, questions(size // 8), 100, peer=True))
    return [
        Point(
            size,
            median(point.update for point in points),
            median(point.all for point in points),
            points[0].refreshes,
            median(point.duckdb or 0.0 for point in points),
        )
        for size, points in found.items()
    ]


def by_groups() -> list[Point]:
    """Queries by (src, dst) only, with ever more sources and destinations."""
    points = []
    for groups in (1_000, 10_000, 100_000, 1_000_000):
        side = round(groups**0.5)
        rows = packets(100 + COUNTED, 3000)
        for name in ("src", "dst"):
            chance = np.random.default_rng(3)
            place = rows.column_names.index(name)
            values = chance.integers(0, side, rows.num_rows, dtype=np.int32)
            rows = rows.set_column(place, name, pa.array(np.roll(values, place)))
        asked = [question for question in questions() if question.keys == ("src", "dst")]
        points.append(measured(groups, rows, asked, 100, peer=True))
    return points


def by_window() -> list[Point]:
    """The yardstick's 240 queries with every window, and its slide with it, longer or shorter."""
    points = []
    for longest in (25, 50, 100, 200, 400):
        asked = [Question(q.name, q.keys, max(q.window * longest // 100, 2), q.slide, q.top) for q in questions()]
        points.append(measured(longest, packets(longest + COUNTED, 1000), asked, longest, peer=True))
    return points


def by_rate() -> list[Point]:
    return [
        measured(rate, packets(100 + COUNTED, rate), questions(), 100, peer=True)
        for rate in (300, 1_000, 3_000, 10_000, 30_000)
    ]


def draw(curves: dict[str, list[Point]]) -> None:
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(11, 8))
    for panel, (name, points) in zip(panels.flat, curves.items(), strict=True):
        x = [point.x for point in points]
        panel.loglog(x, [point.update for point in points], marker="o", label="Hemiola, update")
        panel.loglog(x, [point.all for point in points], marker="o", label="Hemiola, update, refreshes, commit")
        panel.loglog(x, [point.duckdb for point in points], marker="s", linestyle="--", label="DuckDB, rollups")
        panel.set(title=f"cost against {name}", xlabel=name, ylabel="ms per update")
    panels[0][0].legend(fontsize=8)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "growth.png", dpi=120)
    pyplot.close(figure)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=3, help="of the curve over queries, whose ratio is asked for")
    arguments.add_argument("--queries-only", action="store_true")
    options = arguments.parse_args()
    curves = {"queries": by_queries((40, 120, 400, 1200, 4000), options.rounds)}
    if not options.queries_only:
        curves |= {"groups": by_groups(), "longest window": by_window(), "records per interval": by_rate()}
        draw(curves)
    for name, points in curves.items():
        header = (name, "update ms", "with refreshes ms", "refreshes", "DuckDB rollups ms")
        print_table(header, [tuple(asdict(point).values()) for point in points])
    first, last = curves["queries"][0], curves["queries"][-1]
    more = last.refreshes / first.refreshes
    ratios = [
        Ratio("cost of an update at 4,000 queries", "at 40", last.update / first.update, 4.0, at_most=True),
        Ratio(f"the same with its refreshes (×{more:.0f}), commits", "at 40", last.all / first.all, 4.0, at_most=True),
    ]
    print_ratios(ratios)
    figures = {name: [asdict(point) for point in points] for name, points in curves.items()}
    print(save("growth", figures, ratios))


if __name__ == "__main__":
    main()
