"""The predicates of the synopses at hand, found by the context they share with a query."""

from __future__ import annotations

from collections.abc import Mapping

from sharing.predicates.atoms import Clause, Predicate


class Available:
    """Synopsis id → predicate, indexed by every reading of it; adding and removing take time independent of the size.

    Predicates that are never true are of no use to anyone and are left out.
    """

    def __init__(self, predicates: Mapping[str, Predicate] | None = None) -> None:
        self._predicates: dict[str, Predicate] = {}
        self._by_context: dict[frozenset[Clause], dict[str, Clause | None]] = {}
        for synopsis, predicate in (predicates or {}).items():
            self.add(synopsis, predicate)

    def add(self, synopsis: str, predicate: Predicate) -> None:
        self.remove(synopsis)
        self._predicates[synopsis] = predicate
        if not predicate.never:
            for reading in predicate.readings():
                self._by_context.setdefault(reading.context, {})[synopsis] = reading.varying

    def remove(self, synopsis: str) -> None:
        predicate = self._predicates.pop(synopsis, None)
        if predicate is None or predicate.never:
            return
        for reading in predicate.readings():
            group = self._by_context[reading.context]
            del group[synopsis]
            if not group:
                del self._by_context[reading.context]

    def within(self, context: frozenset[Clause]) -> Mapping[str, Clause | None]:
        """The synopses that vary in at most one clause within the context: id → that clause, None for none."""
        return self._by_context.get(context, {})

    def __getitem__(self, synopsis: str) -> Predicate:
        return self._predicates[synopsis]

    def __len__(self) -> int:
        return len(self._predicates)
