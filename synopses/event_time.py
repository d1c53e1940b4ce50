"""How far a live stream's event time has come, and so which intervals no record can belong to any more."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from queries.model import Microseconds, Stream


@dataclass(frozen=True)
class Known:
    """``newest``: the newest event time seen. ``watermark``: all records before it are in (semantics.md 1); it never
    goes back. Both in microseconds, None before the first record."""

    newest: Microseconds | None = None
    watermark: Microseconds | None = None


class EventTime:
    """Moved by batches, on Spark's thread, and by idle time, on the engine's; the lock keeps the two apart, so that
    no interval is closed while a batch that was read under the old watermark is still on its way."""

    def __init__(self, stream: Stream, known: Known, at: Microseconds) -> None:
        """``at`` is the present on a clock that nobody sets, in microseconds; idle time is counted from it."""
        self._stream = stream
        self._known = known
        self._heard_at = at
        self._in_flight: int | None = None
        self._last: int | None = None
        self._lock = threading.Lock()

    @property
    def known(self) -> Known:
        return self._known

    @property
    def in_flight(self) -> int | None:
        """The batch that is being read now."""
        return self._in_flight

    def begin(self, batch: int) -> int | None:
        """A batch is about to be read: its records of intervals before the answer are late (None: none are)."""
        with self._lock:
            self._in_flight = batch
            return None if self._known.watermark is None else self._known.watermark // self._stream.interval

    def after(self, newest: Microseconds | None) -> Known:
        """What is known once a batch with this newest event time has been read."""
        before = self._known
        if newest is None:
            return before
        newest = newest if before.newest is None else max(before.newest, newest)
        watermark = newest - self._stream.lateness
        return Known(newest, watermark if before.watermark is None else max(before.watermark, watermark))

    def end(self, batch: int, known: Known | None, at: Microseconds) -> None:
        """The batch is durable, or has failed (``known`` is None)."""
        with self._lock:
            self._in_flight = None
            if known is not None:
                self._last = batch
                if known.newest is not None:
                    self._heard_at = at
                self._known = known

    def idle(self, ingested: int | None, at: Microseconds) -> Microseconds | None:
        """The watermark, moved by the time that passes if nothing has come for the stream's ``idle_timeout``. None when
        it must not be used: a batch is being read, or the caller has not ingested (``ingested``) the last one yet."""
        with self._lock:
            timeout, known = self._stream.idle_timeout, self._known
            if self._in_flight is not None or (self._last is not None and self._last != ingested):
                return None
            if known.newest is None or known.watermark is None:
                return None
            silent = at - self._heard_at
            if timeout is not None and silent >= timeout:
                passed = known.newest + silent - self._stream.lateness
                self._known = Known(known.newest, max(known.watermark, passed))
            return self._known.watermark
