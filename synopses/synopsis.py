"""The protocol of a synopsis: running, interval and basic interval are interchangeable where an aggregate allows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from synopses.algebra import Component
from synopses.carriers import Array
from synopses.merged import Merged, Partials, ProbeCost


class Synopsis(Protocol):
    """The last ``b`` intervals of several components over one grouping (semantics.md 3)."""

    components: tuple[Component, ...]
    b: int
    last_probe: ProbeCost
    """Reads and merges of the last probe, complete once its last window has been taken."""
    last_update: ProbeCost
    """Merges the last update did."""

    def update(self, partials: Partials) -> None:
        """Takes the newest interval in, and lets go of what no window of ``b`` intervals reaches any more."""
        ...

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        """Merged partials of each distinct window length (in intervals), shortest first.

        Windows end ``age`` intervals before the newest update; one that reaches further back than what is kept gives
        what there is. ``size`` is the number of codes. States may be views of one accumulator: use them before
        asking for the next window.
        """
        ...

    def extend(self, b: int) -> None:
        """Keeps ``b`` intervals from now on, for a longer window; never fewer than before."""
        ...

    @property
    def intervals(self) -> int:
        """How many intervals a probe can reach back."""
        ...

    @property
    def entries(self) -> int:
        """Stored (interval or block, code) pairs; the running synopsis adds the places of its prefixes."""
        ...

    @property
    def nbytes(self) -> int: ...

    def codes_in_use(self) -> Array:
        """Every code stored; a code may occur more than once."""
        ...

    def translate_codes(self, new_codes: Array) -> None: ...
