"""What a state rule answers: how a request could be read from the synopses at hand, or why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharing.cost import Cost
from sharing.reading import Reading
from sharing.request import Request
from sharing.shelf import Shelf


@dataclass(frozen=True)
class Offer:
    """``cost`` per update. ``extends``: components the synopsis lacks are added to it."""

    reading: Reading
    cost: float
    extends: bool = False


@dataclass(frozen=True)
class Refusal:
    """Why a rule does not apply, for ``hemiola explain --why``."""

    rule: str
    why: str


StateRule = Callable[[Request, Shelf, Cost], Offer | Refusal]
