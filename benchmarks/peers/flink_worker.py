"""The side of ``benchmarks.peers.flink`` that runs on PyFlink's Python: questions come in, answers go out, as JSON."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

_SETTINGS = {
    "parallelism.default": str(os.cpu_count() or 1),
    "table.local-time-zone": "UTC",
    "pipeline.object-reuse": "true",
}
_PACKETS = """
CREATE TABLE packets (
    ms BIGINT, src INT, dst INT, protocol INT, port INT, length BIGINT,
    ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts
) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{path}')
"""


def environment(path: str) -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in _SETTINGS.items():
        made.get_config().set(name, value)
    made.execute_sql(_PACKETS.format(path=path))
    return made


def sql(question: dict[str, Any]) -> str:
    keys = ", ".join(question["keys"])
    slide, size = (f"INTERVAL '{question[name]}' SECOND(3)" for name in ("slide", "window"))
    hop = f"HOP(TABLE packets, DESCRIPTOR(ts), {slide}, {size})"
    window = "window_start, window_end"
    sums = f"SELECT {window}, {keys}, SUM(length) AS total FROM TABLE({hop}) GROUP BY {window}, {keys}"
    end = "EXTRACT(EPOCH FROM window_end)"
    if not question["top"]:
        return f"SELECT {end}, PERCENTILE(total, 0.9) FROM ({sums}) GROUP BY {window}"
    rank = f"ROW_NUMBER() OVER (PARTITION BY {window} ORDER BY total DESC, {keys})"
    return f"SELECT {end}, {keys}, total, place FROM (SELECT *, {rank} AS place FROM ({sums})) WHERE place <= 10"


def answers(tables: TableEnvironment, asked: list[dict[str, Any]]) -> list[list[list[Any]]]:
    """One job each, all started before the first is waited for."""
    started = [tables.execute_sql(sql(question)) for question in asked]
    found = []
    for question, job in zip(asked, started, strict=True):
        with job.collect() as rows:
            listed = [list(row) for row in rows]
        if question["top"]:
            listed = [row[:-1] for row in sorted(listed, key=lambda row: (row[0], row[-1]))]
        found.append(listed)
    return found


def main() -> None:
    tables = environment(sys.argv[1])
    print(json.dumps({"version": version("apache-flink")}), flush=True)
    for line in sys.stdin:
        said: dict[str, Any]
        try:
            said = {"rows": answers(tables, json.loads(line))}
        except Exception as error:
            said = {"error": str(error)[:2000]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
