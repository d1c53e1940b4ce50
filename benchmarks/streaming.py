"""A replay of the yardstick by Hemiola, against streaming engines with one sliding-window query per registered query.

    python -m benchmarks.streaming                # 300 records per interval: in minutes
    python -m benchmarks.streaming --rate 3000    # the yardstick's rate: half an hour and more

Everyone processes the same 200 intervals of records, from the first to the last: Hemiola all 240 queries in one replay
(Spark's pass over the Parquet file, engine, commits to SQLite), and for comparison only the queries that the peers were
asked; the peers a sample (one of each grouping, ``benchmarks.peers.streams``), four queries at a time, as many as fit
into their seconds. Sessions and JVMs are up before. Seconds for all 240 are extrapolated from those that ran.
Answers of the second half, the peers' on every window end of the slide grid, are compared with DuckDB's over the raw
rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import OUT, Ratio, Time, order_of, print_ratios, print_table, save, timed, timed_answer
from benchmarks.peers.installed import BYTEWAX, FLINK, missing_peers
from benchmarks.peers.streams import ByEnd, StreamingPeer, extrapolated, overlap, sampled
from benchmarks.peers.tables import DuckDB
from benchmarks.replaying import configured
from benchmarks.yardstick import Question, packets, questions
from hemiola import api
from queries.model import SparkSettings
from results import read
from spark_jobs.session import spark_session

INTERVALS = 200
AT_A_TIME = 4
OURS, OURS_SAMPLED = "Hemiola, all 240 queries", "Hemiola, the sample only"


class Hemiola:
    """A whole replay, from the file to the results table."""

    def __init__(self, name: str, spark: Any, rows: Path, asked: Sequence[Question]) -> None:
        self.name, self._spark, self._rows, self._asked = name, spark, rows, asked
        self.answers: dict[str, ByEnd] = {}

    def run(self, folder: Path, kept: Sequence[Question]) -> Time:
        """``kept``: questions whose answers are read back, which is not counted."""
        config = configured(folder, self._rows, self._asked)
        taken = timed(lambda: api.replay(config, spark=self._spark))
        for question in kept:
            columns = ", ".join([*question.keys, "bytes"] if question.top else ["q"])
            order = "window_end, rank" if question.top else "window_end"
            seconds = "CAST(strftime('%s', window_end) AS INTEGER)"
            found: ByEnd = {}
            for end, *row in read(
                config.results, f"SELECT {seconds}, {columns} FROM {question.name} ORDER BY {order}"
            ).rows:
                found.setdefault(int(str(end)), []).append(tuple(row))
            self.answers[question.name] = found
        return taken


class Oracle:
    """DuckDB over the raw rows, for every window end of the second half."""

    def __init__(self, rows: pa.Table, asked: Sequence[Question]) -> None:
        self._duckdb = duckdb = DuckDB(rows, ())
        self.exact: dict[str, ByEnd] = {}
        self.interpolated: dict[str, dict[int, float]] = {}
        for question in asked:
            ends = [end for end in range(INTERVALS // 2 + 1, INTERVALS + 1) if end % question.slide == 0]
            self.exact[question.name] = {end: duckdb.answer("raw", (question, end)) for end in ends}
            if not question.top:
                self.interpolated[question.name] = {end: duckdb.interpolated(question, end) for end in ends}

    def check_published(self, question: Question, answers: ByEnd) -> None:
        """Hemiola refreshes identical queries together, at the shortest of their slides: other window ends than the
        query's own, but not fewer."""
        counted = {end: rows for end, rows in answers.items() if INTERVALS // 2 < end <= INTERVALS}
        assert len(counted) >= len(self.exact[question.name]), (question, sorted(counted))
        for end, rows in counted.items():
            expected = self.exact[question.name].get(end) or self._duckdb.answer("raw", (question, end))
            assert _integers(rows) == _integers(expected), (question, end, rows, expected)

    def check(self, who: str, question: Question, answers: ByEnd) -> None:
        for end, rows in self.exact[question.name].items():
            got = answers.get(end)
            if who == FLINK and not question.top:
                expected = self.interpolated[question.name][end]
                right = got is not None and abs(got[0][0] - expected) <= 1e-9 * abs(expected)
            else:
                right = got is not None and _integers(got) == _integers(rows)
            if not right:
                raise AssertionError(f"{who}, {question} as of {end}: {got} against {rows}")


def _integers(rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, ...]]:
    return [tuple(int(value) for value in row) for row in rows]


class Contender:
    """A streaming peer, and the times of the handfuls of queries it got through."""

    def __init__(self, peer: StreamingPeer, seconds: float) -> None:
        self.peer, self._seconds = peer, seconds
        self.times: dict[tuple[Question, ...], list[Time]] = {}

    def round(self, asked: Sequence[Question], oracle: Oracle) -> None:
        """All it has time for in the first round, the same ones in those that follow."""
        first, spent = not self.times, 0.0
        for start in range(0, len(asked), AT_A_TIME):
            some = tuple(asked[start : start + AT_A_TIME])
            if spent > self._seconds if first else some not in self.times:
                break
            self.peer.prepare(some)
            taken, found = timed_answer(partial(self.peer.run, some))
            for question, answers in zip(some, found, strict=True):
                oracle.check(self.peer.name, question, answers)
            self.times.setdefault(some, []).append(taken)
            spent += taken.wall
            print(f"    {self.peer.name}: {', '.join(q.name for q in some)}: {taken.wall:.1f} s", flush=True)

    @property
    def ran(self) -> list[Question]:
        return [question for some in self.times for question in some]

    def seconds(self) -> float:
        return sum(median(time.wall for time in times) for times in self.times.values())


def draw(seconds: dict[str, float], rate: int) -> None:
    from matplotlib import pyplot

    ordered = dict(sorted(seconds.items(), key=lambda item: -item[1]))
    figure, panel = pyplot.subplots(figsize=(8, 2.6))
    bars = panel.barh(
        list(ordered), list(ordered.values()), color=["#c0392b" if n == OURS else "#8395a7" for n in ordered]
    )
    panel.bar_label(bars, [f"{value:,.3g} s ({value / seconds[OURS]:.3g}×)" for value in ordered.values()], padding=3)
    panel.set_xscale("log")
    panel.set_xlim(right=max(ordered.values()) * 6)
    panel.set_title(f"240 sliding-window queries over {INTERVALS * rate:,} records; peers extrapolated", fontsize=10)
    panel.set_xlabel("seconds (logarithmic)")
    panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(OUT / "streaming.svg")
    pyplot.close(figure)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rate", type=int, default=300, help="records per interval")
    arguments.add_argument("--seconds", type=float, default=15, help="of a peer in a round; it starts no query after")
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--peers", nargs="+", default=["spark", BYTEWAX, FLINK], help="spark, bytewax, PyFlink")
    options = arguments.parse_args()
    rows, asked = packets(INTERVALS, options.rate), sampled()
    oracle = Oracle(rows, asked)
    missing = {peer: why for peer, why in missing_peers().items() if peer in options.peers}
    for peer, why in missing.items():
        print(f"not compared: {peer}, {why}")
    ours: dict[str, list[Time]] = {OURS: [], OURS_SAMPLED: []}
    versions: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        (folder / "rows").mkdir()
        pq.write_table(rows, folder / "rows" / "packets.parquet")
        spark = stack.enter_context(spark_session(SparkSettings(), "benchmark"))
        hemiola = {
            OURS: Hemiola(OURS, spark, folder / "rows", questions()),
            OURS_SAMPLED: Hemiola(OURS_SAMPLED, spark, folder / "rows", asked),
        }
        peers: list[StreamingPeer] = []
        if "spark" in options.peers:
            from benchmarks.peers.spark_streaming import SparkStreaming

            (folder / "stream").mkdir()
            peers.append(SparkStreaming(spark, rows, folder / "stream"))
        if BYTEWAX in options.peers and BYTEWAX not in missing:
            from benchmarks.peers.bytewax_dataflow import Bytewax

            peers.append(Bytewax(rows))
        if FLINK in options.peers and FLINK not in missing:
            from benchmarks.peers.flink import Flink

            flink = stack.enter_context(Flink(rows, folder))
            versions["apache-flink"] = flink.version
            peers.append(flink)
        contenders = {peer.name: Contender(peer, options.seconds) for peer in peers}

        def replay(name: str) -> Time:
            with TemporaryDirectory() as results:
                taken = hemiola[name].run(Path(results), asked)
            for question in asked:
                oracle.check_published(question, hemiola[name].answers[question.name])
            return taken

        replay(OURS_SAMPLED)
        for contender in contenders.values():
            contender.peer.prepare(asked[:1])
            contender.peer.run(asked[:1])
        for number in range(options.rounds):
            for name in order_of([*ours, *contenders], number):
                if name in ours:
                    ours[name].append(replay(name))
                    print(f"    {name}: {ours[name][-1].wall:.1f} s", flush=True)
                else:
                    contenders[name].round(asked, oracle)
    sample = {name: contender.seconds() for name, contender in contenders.items()}
    ran = {name: contender.ran for name, contender in contenders.items()}
    seconds = {name: median(time.wall for time in taken) for name, taken in ours.items()}
    whole = {OURS: seconds[OURS]} | {name: extrapolated(sample[name], ran[name]) for name in sample}
    what = f"replay of 240 queries, {options.rate:,} records per interval"
    ratios = [
        Ratio(what, f"{name}, one query each, extrapolated from {len(ran[name])}", whole[name] / whole[OURS], None)
        for name in sample
    ]
    print(f"{rows.num_rows:,} records; answers of the second half equal DuckDB's, {options.rounds} rounds")
    lines: list[tuple[Any, ...]] = [
        (OURS, 240, "", seconds[OURS], seconds[OURS]),
        (OURS_SAMPLED, len(asked), "", seconds[OURS_SAMPLED], ""),
    ]
    lines += [(n, len(ran[n]), f"{sum(map(overlap, ran[n])):.0f}", sample[n], whole[n]) for n in sample]
    print_table(("", "queries run", "windows per record, summed", "seconds", "seconds for all 240"), lines)
    print_ratios(ratios)
    draw(whole, options.rate)
    figures = {
        "rate": options.rate,
        "versions": versions,
        "missing": missing,
        "seconds": seconds | sample,
        "queries_run": {name: [question.name for question in queries] for name, queries in ran.items()},
        "seconds_for_all": whole,
    }
    print(save("streaming", figures, ratios, whole))


if __name__ == "__main__":
    main()
