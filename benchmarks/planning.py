"""How long planning takes: the yardstick workload (dissertation 8.5) at 240 and 4,000 queries, and one query more.

Also printed: groups, synopses and pre-aggregated values, and 1,000 queries ``port < c`` as cells.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from queries.language import parse_query
from queries.model import Column, Query, Source, Stream
from queries.types import Type
from sharing.plan import StreamPlan, add, plan_stream, remove

OUT = Path(__file__).parent / "out"
KEYS = ("src", "dst", "src, dst", "protocol", "port", "protocol, port", "src, protocol", "dst, port")
TYPES = {
    "ts": Type.TIMESTAMP,
    "src": Type.STRING,
    "dst": Type.STRING,
    "protocol": Type.STRING,
    "port": Type.INT,
    "length": Type.BIGINT,
}
STREAM = Stream("packets", Source("parquet"), tuple(Column(*pair) for pair in TYPES.items()), "ts", 1_000_000)


def yardstick(count: int, seed: int = 1) -> tuple[Query, ...]:
    """``count`` queries in 8 groups, alternating top 10 and quantile; windows 20–100, slides 1..w/2."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        keys = KEYS[number % len(KEYS)]
        window = chance.randint(20, 100)
        clause = f"packets [WINDOW {window} s SLIDE {chance.randint(1, window // 2)} s]"
        inner = f"SELECT {keys}, SUM(length) AS bytes FROM {clause} GROUP BY {keys}"
        top = number // len(KEYS) % 2 == 0
        sql = f"{inner} ORDER BY bytes DESC LIMIT 10" if top else f"SELECT QUANTILE(bytes, 0.9) AS q FROM ({inner})"
        made.append(_query(f"q{number}", sql))
    return tuple(made)


def ranges(count: int) -> tuple[Query, ...]:
    template = "SELECT SUM(length) AS bytes FROM packets [WINDOW 60 s SLIDE 10 s] WHERE port < {}"
    return tuple(_query(f"below_{c}", template.format(c)) for c in range(1, count + 1))


def points(count: int) -> tuple[Query, ...]:
    """Each with a predicate of its own that no other can use: as many synopses as queries."""
    template = "SELECT src, SUM(length) AS b FROM packets [WINDOW 60 s SLIDE 10 s] WHERE length % {} = 1 GROUP BY src"
    return tuple(_query(f"modulo_{c}", template.format(c + 2)) for c in range(count))


def _query(name: str, sql: str) -> Query:
    return Query(name, sql, parse_query(name, sql, {"packets": TYPES}))


def timed(queries: Sequence[Query]) -> tuple[StreamPlan, dict[str, float]]:
    """The plan of all but the last query, and seconds: from scratch, to add the last, to remove it again."""
    began = perf_counter()
    plan = plan_stream(STREAM, queries[:-1])
    scratch = perf_counter() - began
    began = perf_counter()
    more = add(plan, queries[-1])
    adding = perf_counter() - began
    began = perf_counter()
    remove(more, queries[-1].name)
    return plan, {"scratch_s": scratch, "add_s": adding, "remove_s": perf_counter() - began}


def main() -> None:
    print(f"{'workload':24} {'groups':>7} {'synopses':>9} {'values':>7} {'plan':>9} {'add one':>9} {'remove':>9}")
    rows = []
    workloads = (
        ("240 yardstick", yardstick(241)),
        ("4,000 yardstick", yardstick(4_001)),
        ("1,000 port < c", ranges(1_001)),
        ("4,000 unlike", points(4_001)),
    )
    for name, queries in workloads:
        plan, seconds = timed(queries)
        groups = len({query.group for query in plan.queries})
        values = sum(len(need.components) for need in plan.needs)
        rows.append({"workload": name, "groups": groups, "synopses": len(plan.kept), "values": values, **seconds})
        times = " ".join(f"{1000 * value:6.0f} ms" for value in seconds.values())
        print(f"{name:24} {groups:7} {len(plan.kept):9} {values:7} {times}")
    OUT.mkdir(exist_ok=True)
    (OUT / "planning.json").write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
