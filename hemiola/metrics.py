"""``/metrics`` in Prometheus' text format, ``/healthz`` and ``/readyz``, on the loopback interface only."""

from __future__ import annotations

import json
import resource
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from queries.errors import RunError

Snapshot = Callable[[], dict[str, Any]]

_STREAM = (
    ("records", "counter", "hemiola_records_total", "Records used."),
    ("late", "counter", "hemiola_late_records_total", "Records that came after their interval was closed."),
    ("malformed", "counter", "hemiola_malformed_records_total", "Records that could not be read."),
    ("waiting_updates", "gauge", "hemiola_waiting_updates", "Updates that could be done and are not done yet."),
    ("batch_seconds", "gauge", "hemiola_batch_seconds", "Duration of the last micro-batch."),
    ("synopsis_bytes", "gauge", "hemiola_synopsis_bytes", "Memory of the synopses in the driver."),
    ("resident_bytes", "gauge", "hemiola_resident_bytes", "Files of the synopses that live in Spark."),
    ("batch_files", "gauge", "hemiola_batch_files", "Files of partial aggregates kept."),
)
_QUERY = (
    ("refreshes", "counter", "hemiola_refreshes_total", "Refreshes since the daemon started."),
    ("shared", "counter", "hemiola_shared_refreshes_total", "Refreshes computed together with others."),
    ("restored", "counter", "hemiola_restored_refreshes_total", "Window ends published after their time."),
    ("late", "counter", "hemiola_late_refreshes_total", "Refreshes that were late."),
    ("late_by", "gauge", "hemiola_late_by_seconds", "How late the last refresh was."),
    ("lag", "gauge", "hemiola_lag_seconds", "From the last window end to the newest update."),
    ("audited", "counter", "hemiola_audited_total", "Refreshes computed again from raw records."),
    ("audit_differences", "counter", "hemiola_audit_differences_total", "Audited refreshes that differed."),
)
_DAEMON = (
    ("state_bytes", "gauge", "hemiola_state_bytes", "Disk used by the state folder."),
    ("disk_free_bytes", "gauge", "hemiola_disk_free_bytes", "Disk free where the state folder is."),
)


def metrics_text(snapshot: dict[str, Any]) -> str:
    return "".join(_lines(snapshot))


def _lines(snapshot: dict[str, Any]) -> Iterator[str]:
    for facts, label, items in (
        (_STREAM, "stream", snapshot.get("streams", [])),
        (_QUERY, "query", snapshot.get("queries", [])),
    ):
        for key, kind, name, about in facts:
            yield f"# HELP {name} {about}\n# TYPE {name} {kind}\n"
            for item in items:
                if item.get(key) is not None:
                    yield f"{name}{{{label}={json.dumps(item[label])}}} {item[key]}\n"
    for key, kind, name, about in _DAEMON:
        if snapshot.get(key) is not None:
            yield f"# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {snapshot[key]}\n"
    name = "hemiola_memory_peak_bytes"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    yield f"# HELP {name} Most memory the driver has used.\n# TYPE {name} gauge\n{name} {peak}\n"


class MetricsServer:
    """``/healthz`` says that the process answers, ``/readyz`` that it reads its sources and can write its results."""

    def __init__(self, port: int, snapshot: Snapshot) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, body = _answer(self.path, snapshot())
                self.send_response(code)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise RunError(
                f"metrics cannot be served on port {port}: {error.strerror}", hint="choose another"
            ) from error
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answer(path: str, snapshot: dict[str, Any]) -> tuple[int, str]:
    if path == "/metrics":
        return 200, metrics_text(snapshot)
    if path == "/healthz":
        return 200, "alive\n"
    if path == "/readyz":
        errors = [snapshot.get("error"), *(stream["error"] for stream in snapshot.get("streams", []))]
        reasons = [error for error in errors if error]
        if not snapshot.get("reading"):
            reasons.append("Spark is starting")
        return (503, "\n".join(reasons) + "\n") if reasons else (200, "ready\n")
    return 404, "there are /metrics, /healthz and /readyz\n"
