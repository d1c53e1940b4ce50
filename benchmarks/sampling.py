"""Where a program's time goes: the stack of the main thread, looked at every few milliseconds.

A signal looks; each look is weighed with the time since the last one, so that a long call into C, which delays the
look, counts in full. While the main thread waits for another thread's work, that thread's stack stands for it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import defaultdict
from time import perf_counter, thread_time
from types import FrameType, TracebackType

from benchmarks.flame_graph import Stack


class Sampler:
    """For a ``with`` block on the main thread. ``wall`` and ``cpu``: seconds by stack; the processor time is the main
    thread's. ``worker``: how the names of threads begin that the main thread may be waiting for."""

    def __init__(self, worker: str, every: float = 0.002) -> None:
        self.wall: dict[Stack, float] = defaultdict(float)
        self.cpu: dict[Stack, float] = defaultdict(float)
        self._worker, self._every = worker, every
        self._base = 0

    def __enter__(self) -> Sampler:
        self._base = _depth(sys._getframe(1))
        self._last = perf_counter(), thread_time()
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, self._every, self._every)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _look(self, number: int, frame: FrameType | None) -> None:
        now = perf_counter(), thread_time()
        stack = _stack(frame)[self._base :]
        if stack and stack[-1].startswith("threading."):
            stack += self._others()
        self.wall[stack] += now[0] - self._last[0]
        self.cpu[stack] += now[1] - self._last[1]
        self._last = now

    def _others(self) -> Stack:
        frames = sys._current_frames()
        for thread in threading.enumerate():
            if thread.name.startswith(self._worker) and thread.ident in frames:
                inner = _stack(frames[thread.ident])
                return tuple(name for name in inner if not name.startswith(("threading.", "concurrent.")))
        return ()


def _depth(frame: FrameType | None) -> int:
    return len(_stack(frame))


def _stack(frame: FrameType | None) -> Stack:
    names = []
    while frame is not None:
        code = frame.f_code
        names.append(f"{frame.f_globals.get('__name__', '?')}.{code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(names))
