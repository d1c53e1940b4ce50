"""Partials of one interval going into a synopsis, and merged partials of one window coming out."""

from __future__ import annotations

from dataclasses import dataclass

from synopses.algebra import State
from synopses.carriers import Array


@dataclass(frozen=True)
class Partials:
    """One state per component for each code; a code may occur more than once."""

    codes: Array
    states: tuple[State, ...]


@dataclass(frozen=True)
class Merged:
    """The groups present in a window, ascending codes, and their merged states."""

    codes: Array
    states: tuple[State, ...]


@dataclass(frozen=True)
class ProbeCost:
    """What the last probe did: intervals (or blocks) read, and merges of two of them (semantics.md 3 and 5)."""

    reads: int = 0
    merges: int = 0
