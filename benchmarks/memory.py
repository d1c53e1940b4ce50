"""Memory of the driver's synopses against the raw numpy arrays they must hold.

    python -m benchmarks.memory

The yardstick's 240 queries over 100 intervals and more. Raw: for every live (interval, group) entry one int32 code and
the values of each distinct component (COUNT(length) equals COUNT(*), as no length is NULL, and is held once). Hemiola:
everything the allocator gave to the stream's synopses, with slack, kept prefixes and key dictionaries (tracemalloc).
"""

from __future__ import annotations

import argparse
import gc
import tracemalloc

from benchmarks.measuring import Ratio, print_ratios, print_table, save
from benchmarks.replaying import advance, conservative_engine, prepared
from benchmarks.yardstick import packets, questions, registered, stream
from sharing.plan import plan_stream


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--intervals", type=int, default=150)
    arguments.add_argument("--rate", type=int, default=3000, help="records per interval")
    options = arguments.parse_args()
    plan = plan_stream(stream(), registered(questions()))
    pieces = prepared(packets(options.intervals, options.rate), plan.needs, options.intervals)
    gc.collect()
    tracemalloc.start()
    engine = conservative_engine(plan)
    while engine.now < options.intervals:
        advance(engine, pieces)
    gc.collect()
    allocated, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    rows, raw_total = [], 0
    for kept in plan.kept:
        live = sum(piece.num_rows for piece in pieces[kept.need][-kept.b :])
        raw = live * (4 + 8 * 2)
        raw_total += raw
        held = engine.synopses.synopsis(kept.need).nbytes
        rows.append((kept.name, live, raw, held, held / raw))
    arrays = engine.synopses.nbytes
    print_table(("synopsis", "entries", "raw bytes", "held bytes", "ratio"), rows)
    ratios = [
        Ratio("memory of the synopses' arrays", "the raw numpy arrays", arrays / raw_total, 2.0, at_most=True),
        Ratio("the same with key dictionaries", "the raw numpy arrays", allocated / raw_total, 2.0, at_most=True),
    ]
    print_ratios(ratios)
    figures = {"raw": raw_total, "arrays": arrays, "allocated": allocated, "peak": peak, "synopses": rows}
    print(save("memory", figures, ratios))


if __name__ == "__main__":
    main()
