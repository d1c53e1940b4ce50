"""Sources other than folders: Spark's rate, and lines from a socket; csv files."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.daemon.daemon_process import Daemon
from tests.daemon.daemon_thread import ThreadDaemon

pytestmark = pytest.mark.daemon

NEEDS_SPARK = Daemon
COUNT = "  - {name: n, sql: 'SELECT COUNT(*) AS n, SUM(length) AS bytes FROM packets [WINDOW 100 s SLIDE 1 s]'}\n"


def test_rate(tmp_path, spark):
    daemon = ThreadDaemon(tmp_path, COUNT.replace("length", "value")).use(spark)
    text = daemon.config.read_text().replace(
        "format: parquet, path: data", "format: rate, options: {rowsPerSecond: 50}"
    )
    text = text.replace("ts TIMESTAMP, src STRING, length BIGINT", "timestamp TIMESTAMP, value BIGINT")
    daemon.config.write_text(text.replace("time: ts", "time: timestamp"))
    daemon.start()
    daemon.wait("answers", lambda: len(daemon.ends("n")) > 2)
    assert daemon.stop() == 0
    counts = [n for (n,) in daemon.rows("SELECT n FROM n ORDER BY window_end")]
    assert counts == sorted(counts) and counts[-1] >= 50


def test_lines_from_a_socket(tmp_path, spark):
    server = socket.create_server(("127.0.0.1", 0))
    lines = [f'{{"ts":"2026-03-01T00:00:{second:02d}Z","src":"a","length":{second}}}' for second in range(10)]

    def serve() -> None:
        connection, _ = server.accept()
        connection.sendall(("\n".join([*lines[:5], "no record", *lines[5:]]) + "\n").encode())

    threading.Thread(target=serve, daemon=True).start()
    daemon = ThreadDaemon(tmp_path, COUNT).use(spark)
    options = f"format: socket, options: {{host: 127.0.0.1, port: {server.getsockname()[1]}}}"
    daemon.config.write_text(daemon.config.read_text().replace("format: parquet, path: data", options))
    daemon.start()
    daemon.wait_until_updated(9)
    daemon.wait("its newest answer", lambda: daemon.ends("n")[-1:] == [9])
    assert daemon.stop() == 0
    assert daemon.rows("SELECT n, bytes FROM n ORDER BY window_end DESC LIMIT 1") == [(9, 36)]
    assert daemon.rows("SELECT reason, record FROM hemiola_rejects") == [("malformed", "no record")]


def test_csv_files(tmp_path, spark):
    daemon = ThreadDaemon(tmp_path, COUNT).use(spark)
    daemon.config.write_text(daemon.config.read_text().replace("format: parquet", "format: csv"))
    rows = [f"2026-03-01T00:00:{second:02d}Z,a,{second}" for second in range(10)]
    (tmp_path / "data" / "1.csv").write_text("\n".join(["ts,src,length", *rows, "2026-03-01T00:00:09Z,b,many"]) + "\n")
    daemon.start()
    daemon.wait("its newest answer", lambda: daemon.ends("n")[-1:] == [9])
    assert daemon.stop() == 0
    assert daemon.rows("SELECT n, bytes FROM n ORDER BY window_end DESC LIMIT 1") == [(9, 36)]
    assert daemon.rows("SELECT reason FROM hemiola_rejects") == [("malformed",)]
