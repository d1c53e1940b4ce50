"""Predicates of queries: normal form, exact domains, covers and cells (rule SS4 and cells; dissertation 8.3.3)."""

from sharing.predicates.atoms import Clause, Predicate, Reading
from sharing.predicates.available import Available
from sharing.predicates.cells import OUTSIDE, Cells, cut
from sharing.predicates.cover import Cover, Kind, find_cover
from sharing.predicates.domains import Domain
from sharing.predicates.normalize import normalize
from sharing.predicates.reasons import NoCover, Why, relation

__all__ = [
    "OUTSIDE",
    "Available",
    "Cells",
    "Clause",
    "Cover",
    "Domain",
    "Kind",
    "NoCover",
    "Predicate",
    "Reading",
    "Why",
    "cut",
    "find_cover",
    "normalize",
    "relation",
]
