"""Out-of-order input: within the lateness it counts, beyond it is counted and kept apart; idle time moves on."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa
import pytest

from tests.daemon.daemon_process import SCHEMA, START, second
from tests.daemon.daemon_thread import ThreadDaemon
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

SQL = "SELECT src, COUNT(*) AS n, SUM(length) AS bytes FROM packets [WINDOW 8 s SLIDE 2 s] GROUP BY src"


def test_late_records_within_the_lateness_count_and_others_are_kept_apart(tmp_path, spark):
    """Every record arrives up to 10 s after its time; the lateness is 5 s. One file is one arrival second."""
    query = f"  - {{name: by_src, semantics: restore, sql: '{SQL}'}}\n"
    daemon = ThreadDaemon(tmp_path, query, lateness="5s", other="idle_timeout: 4s").use(spark)
    daemon.limit_files(2)
    chance = random.Random(4)
    arrivals: dict[int, list[dict[str, object]]] = {}
    records = [row for number in range(40) for row in second(number, 10).to_pylist()]
    for record in records:
        due = (record["ts"] - START) / timedelta(seconds=1)
        arrivals.setdefault(int(due + chance.choice([0, 0, 0, chance.uniform(0, 10)])), []).append(record)
    for _, rows in sorted(arrivals.items()):
        daemon.feed(pa.Table.from_pylist(rows, schema=SCHEMA))
    daemon.start()
    daemon.wait("the last window end", lambda: 42 in daemon.ends("by_src"))
    assert daemon.stop() == 0

    used, rejected = daemon.rows("SELECT records, rejected FROM hemiola_streams")[0]
    late = daemon.rows("SELECT record FROM hemiola_rejects WHERE reason = 'late'")
    assert used + rejected == len(records)
    assert len(late) == rejected > 0
    raw = daemon.raw()
    for (record,) in late:
        raw.execute("DELETE FROM packets WHERE ts = (?::JSON ->> 'ts')::TIMESTAMPTZ::TIMESTAMP", [record])
    assert raw.execute("SELECT count(*) FROM packets").fetchall() == [(used,)]
    assert differences(tmp_path / "results.db", raw, [Case("by_src", SQL)]) == []
    assert set(range(2, 43, 2)) <= set(daemon.ends("by_src"))


def test_malformed_lines_are_counted_and_kept(tmp_path, spark):
    query = "  - {name: n, sql: 'SELECT COUNT(*) AS n FROM packets [WINDOW 2 s SLIDE 1 s]'}\n"
    daemon = ThreadDaemon(tmp_path, query).use(spark)
    daemon.config.write_text(daemon.config.read_text().replace("format: parquet", "format: json"))
    lines = ['{"ts":"2026-03-01T00:00:00Z","src":"a","length":1}', '{"ts":"2026-03-01T00:00:00.5Z","length":"many"}',
             '{"src":"b","length":2}', "no json", '{"ts":"2026-03-01T00:00:03Z","src":"a","length":3}']  # fmt: skip
    (tmp_path / "data" / ".new").write_text("\n".join(lines) + "\n")
    (tmp_path / "data" / ".new").rename(tmp_path / "data" / "1.json")
    daemon.start()
    daemon.wait_until_updated(3)
    assert daemon.status()["streams"][0]["malformed"] == 3
    assert daemon.stop() == 0
    kept = daemon.rows("SELECT reason, record FROM hemiola_rejects ORDER BY reason, record")
    assert [reason for reason, _ in kept] == ["malformed", "malformed", "no event time"]
    assert daemon.rows("SELECT records, rejected FROM hemiola_streams") == [(2, 3)]
