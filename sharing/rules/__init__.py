"""The state rules, one file each, in order of preference. A rule more is a file more and a line here."""

from __future__ import annotations

from dataclasses import dataclass

from sharing.rules.cells import CELLS, cell_synopses, cells
from sharing.rules.covers import SS4, covers
from sharing.rules.offer import Offer, Refusal, StateRule
from sharing.rules.roll_up import ROLL_UP, roll_up
from sharing.rules.same_input import SS1, same_input

OWN = "own synopsis"
"""What stands in the place of a rule where none applies."""


@dataclass(frozen=True)
class Named:
    """``always``: taken without asking what it costs (semantics.md 4)."""

    name: str
    offer: StateRule
    always: bool = False


RULES: tuple[Named, ...] = (
    Named(SS1, same_input, always=True),
    # SS3, the same over window joins, belongs here: a request over two streams, a shelf of join synopses.
    Named(CELLS, cells),
    Named(SS4, covers),
    Named(ROLL_UP, roll_up),
)

__all__ = ["CELLS", "OWN", "ROLL_UP", "RULES", "SS1", "SS4", "Named", "Offer", "Refusal", "cell_synopses"]
