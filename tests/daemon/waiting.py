"""Waiting for something another process does: polled, with a limit far beyond what it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(reached: Callable[[], T], patience: float) -> T:
    deadline = time.monotonic() + patience
    while not (found := reached()):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)
    return found
