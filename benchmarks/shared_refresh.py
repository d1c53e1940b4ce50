"""240 periodic queries refreshed by Hemiola, against the same refreshes as one query each.

    python -m benchmarks.shared_refresh --rate 3000

200 intervals are replayed and the second half is counted: every refresh on the exact slide grid, by everyone, and all
answers compared before a time counts. Hemiola's time has everything after pre-aggregation (which is Spark's, see
``benchmarks.ingest``): coding the partials, updates, probes, post-processing, results committed to SQLite. The peers
(``benchmarks.peers.tables``) query tables in memory and keep nothing; making the tables and rollups is not counted.
They answer all that is due at some seeded updates, Spark SQL a part of that; rates are per refresh.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import pyarrow as pa

from benchmarks.measuring import Ratio, Time, order_of, print_ratios, print_table, save, timed
from benchmarks.peers.tables import Asked, DuckDB, Peer, polars_raw, spark_sql
from benchmarks.replaying import conservative_engine, opened, prepared, replay
from benchmarks.yardstick import GROUPINGS, SECOND, Question, packets, questions, registered, stream
from results import ResultsStore
from scheduler.engine import Answer, Engine
from sharing.plan import StreamPlan, plan_stream

INTERVALS = 200
OURS = "Hemiola"
STEPS = 10
"""Parts that the second half is cut into. Everyone does a part in turn: what else the machine does then hits all."""
Due = list[list[Asked]]
"""What a peer answers in each step: all that is due at one update, or nothing."""
Step = Callable[[int], object]


class Hemiola:
    """The engine and the results store, fed with the partial aggregates of one interval after the other."""

    def __init__(self, rows: pa.Table, asked: list[Question]) -> None:
        self.queries = registered(asked)
        self.plan = _on_their_own_grid(plan_stream(stream(), self.queries))
        self.partials = prepared(rows, self.plan.needs, INTERVALS)
        self.answers: dict[tuple[str, int], pa.Table] = {}
        self.engine: Engine | None = None

    def first_half(self) -> None:
        """Fills the synopses; not counted."""
        self.engine = conservative_engine(self.plan)
        self._run(INTERVALS // 2, None)

    def second_half(self, store: ResultsStore) -> None:
        for step in range(STEPS):
            self.step(store, step)

    def step(self, store: ResultsStore, step: int) -> None:
        """The next part of the second half."""
        self._run(INTERVALS // 2 + (step + 1) * INTERVALS // 2 // STEPS, store)

    def _run(self, until: int, store: ResultsStore | None) -> None:
        assert self.engine is not None
        keep = self._keep if store is not None else None
        replay(self.engine, self.partials, until, store, keep)

    def _keep(self, answer: Answer) -> None:
        self.answers[answer.query, answer.window_end // SECOND] = answer.table


def _on_their_own_grid(plan: StreamPlan) -> StreamPlan:
    """Identical queries of other slides refreshed when due, instead of whenever the most frequent is: every peer
    refreshes on the exact slide grid."""
    return replace(plan, queries=tuple(replace(query, output_slide=None) for query in plan.queries))


def sampled(grid: Sequence[Asked], updates: int) -> Due:
    """All that is due at a seeded update of each step, for as many steps as given."""
    chance = Random(3)
    length = INTERVALS // 2 // STEPS
    steps = sorted(chance.sample(range(STEPS), min(updates, STEPS)))
    ends = {step: INTERVALS // 2 + step * length + chance.randint(1, length) for step in steps}
    return [[asked for asked in grid if asked[1] == ends.get(step)] for step in range(STEPS)]


def thinned(due: Due, count: int) -> Due:
    """A seeded part of it, about ``count`` in all."""
    everything = [asked for step in due for asked in step]
    kept = set(Random(4).sample(everything, min(count, len(everything))))
    return [[asked for asked in step if asked in kept] for step in due]


def check(peer: Peer, due: Due, hemiola: Hemiola) -> None:
    for step in due:
        for asked, rows in zip(step, peer.answers(step), strict=True):
            got = [tuple(int(value) for value in row) for row in rows]
            expected = [tuple(row.values()) for row in hemiola.answers[asked[0].name, asked[1]].to_pylist()]
            if got != expected:
                raise AssertionError(f"{peer.name}, {asked}: {got} against {expected}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rate", type=int, default=3000, help="records per interval")
    arguments.add_argument("--updates", type=int, default=STEPS, help="updates whose refreshes the peers answer")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--spark-sample", type=int, default=30, help="refreshes Spark SQL answers in a round")
    arguments.add_argument("--no-spark", action="store_true")
    options = arguments.parse_args()
    rows, asked = packets(INTERVALS, options.rate), questions()
    grid = [
        (question, end)
        for question in asked
        for end in range(INTERVALS // 2 + 1, INTERVALS + 1)
        if end % question.slide == 0
    ]
    hemiola = Hemiola(rows, asked)
    hemiola.first_half()
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), hemiola.queries) as store:
        hemiola.second_half(store)
    missing = [asked for asked in grid if (asked[0].name, asked[1]) not in hemiola.answers]
    assert not missing, missing[:3]
    due = sampled(grid, options.updates)
    walls: dict[str, list[float]] = {}
    cpus: dict[str, list[float]] = {}
    with ExitStack() as stack:
        tried_on = next(step for step in due if step)
        duckdb = DuckDB(rows, GROUPINGS)
        peers = dict.fromkeys((duckdb.raw(tried_on), duckdb.rollups(tried_on), polars_raw(rows, tried_on)), due)
        if not options.no_spark:
            peers[stack.enter_context(spark_sql(rows))] = thinned(due, options.spark_sample)
        for peer, mine in peers.items():
            check(peer, mine, hemiola)
        for number in range(options.rounds):
            hemiola.first_half()
            with tempfile.TemporaryDirectory() as folder, opened(Path(folder), hemiola.queries) as store:
                contenders: dict[str, Step] = {OURS: partial(hemiola.step, store)}
                for peer, mine in peers.items():
                    contenders[peer.name] = partial(_answer, peer, mine)
                times: dict[str, list[Time]] = {name: [] for name in contenders}
                for step in range(STEPS):
                    for name in order_of(contenders, number, step):
                        times[name].append(timed(partial(contenders[name], step)))
            counts = {OURS: len(grid)} | {peer.name: sum(map(len, mine)) for peer, mine in peers.items()}
            for name, taken in times.items():
                walls.setdefault(name, []).append(counts[name] / sum(time.wall for time in taken))
                cpus.setdefault(name, []).append(counts[name] / max(sum(time.cpu for time in taken), 1e-9))
    rates = {name: median(values) for name, values in walls.items()}
    per_cpu = {name: median(values) for name, values in cpus.items()}
    forms = {peer.name: peer.form for peer in peers}
    ratios = _ratios(rates, options.rate)
    print(f"{len(grid)} refreshes, {options.rate} records per interval; answers of the peers equal Hemiola's")
    print_table(
        ("", "refreshes/s", "Hemiola is faster by", "refreshes per CPU second", "form"),
        [(name, rate, rates[OURS] / rate, per_cpu[name], forms.get(name, "")) for name, rate in rates.items()],
    )
    print_ratios(ratios)
    figures = {
        "refreshes": len(grid),
        "sampled": counts,
        "rate": options.rate,
        "rates": rates,
        "per_cpu_second": per_cpu,
        "forms": forms,
        "rounds": walls,
    }
    print(save(f"shared_refresh_{options.rate}", figures, ratios, {name: 1 / rate for name, rate in rates.items()}))


def _answer(peer: Peer, due: Due, step: int) -> None:
    if due[step]:
        peer.answers(due[step])


def _ratios(rates: dict[str, float], rate: int) -> list[Ratio]:
    what = f"shared refresh, {rate:,} records per interval"
    tables = [name for name in rates if name.startswith(("DuckDB", "Polars"))]
    compared = [name for name in tables if rate < 30_000 or "raw" in name]
    fastest = max(compared, key=lambda name: rates[name])
    asked = 25.0 if rate >= 30_000 else 5.0
    ratios = [Ratio(what, f"the fastest of DuckDB and Polars: {fastest}", rates[OURS] / rates[fastest], asked)]
    if "Spark SQL, cached" in rates:
        ratios.insert(
            0, Ratio(what, "Spark SQL per refresh, cached data", rates[OURS] / rates["Spark SQL, cached"], 200.0)
        )
    return ratios


if __name__ == "__main__":
    main()
