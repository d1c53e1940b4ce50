"""The synopses at hand while a plan is made, found by what a rule looks for: input, grouping, predicate, cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from queries.model import Value
from sharing.kept import KeptSynopsis
from sharing.predicates import Available, Clause, Predicate
from sharing.reading import Input
from synopses.algebra import Component

Keys = tuple[Value, ...]
Components = frozenset[Component]


class Shelf:
    """Synopses by name, with indexes that are made when first asked for and then kept up."""

    def __init__(self, synopses: Iterable[KeptSynopsis] = ()) -> None:
        self.by_name: dict[str, KeptSynopsis] = {}
        self._named: dict[Input, str] = {}
        self._exact: dict[tuple[Predicate, Keys, Component | None], str] = {}
        self._by_predicate: dict[Predicate, dict[str, None]] = {}
        self._cells: dict[tuple[Keys, frozenset[Clause], str], dict[str, None]] = {}
        self._by_keys: dict[Keys, dict[str, None]] = {}
        self._available: dict[Keys, dict[Components, Available]] = {}
        for kept in synopses:
            self.put(kept)

    def put(self, kept: KeptSynopsis) -> None:
        """A new synopsis, or what has become of one."""
        before = self.by_name.get(kept.name)
        self.by_name[kept.name] = kept
        if before is None:
            keys = kept.need.keys
            self._named[kept.input] = kept.name
            self._exact[kept.predicate, keys, kept.input.listed] = kept.name
            if kept.input.listed is not None:
                return
            self._by_predicate.setdefault(kept.predicate, {})[kept.name] = None
            if kept.cells is not None:
                place = (keys[:-1], kept.cells.context, kept.cells.attribute)
                self._cells.setdefault(place, {})[kept.name] = None
            else:
                self._by_keys.setdefault(keys, {})[kept.name] = None
        if (before is None or before.need.components != kept.need.components) and kept.cells is None:
            for components, available in self._available.get(kept.need.keys, {}).items():
                if components <= set(kept.need.components):
                    available.add(kept.name, kept.predicate)
                else:
                    available.remove(kept.name)

    def drop(self, name: str) -> None:
        kept = self.by_name.pop(name)
        keys = kept.need.keys
        del self._named[kept.input]
        del self._exact[kept.predicate, keys, kept.input.listed]
        if kept.input.listed is not None:
            return
        del self._by_predicate[kept.predicate][name]
        if kept.cells is not None:
            del self._cells[keys[:-1], kept.cells.context, kept.cells.attribute][name]
        else:
            del self._by_keys[keys][name]
            for available in self._available.get(keys, {}).values():
                available.remove(name)

    def __getitem__(self, source: Input) -> KeptSynopsis:
        return self.by_name[self._named[source]]

    def exact(self, predicate: Predicate, keys: Keys, listed: Component | None = None) -> KeptSynopsis | None:
        """The synopsis of just these records, grouped just so, however its condition was written."""
        name = self._exact.get((predicate, keys, listed))
        return None if name is None else self.by_name[name]

    def with_predicate(self, predicate: Predicate) -> Iterator[KeptSynopsis]:
        return (self.by_name[name] for name in self._by_predicate.get(predicate, ()))

    def with_cells(self, keys: Keys, context: frozenset[Clause], attribute: str) -> Iterator[KeptSynopsis]:
        return (self.by_name[name] for name in self._cells.get((keys, context, attribute), ()))

    def available(self, keys: Keys, components: Components) -> Available:
        """The predicates of the synopses of one grouping that hold all these components."""
        shelves = self._available.setdefault(keys, {})
        if components not in shelves:
            kept = (self.by_name[name] for name in self._by_keys.get(keys, ()))
            holding = (one for one in kept if components <= set(one.need.components))
            shelves[components] = Available({one.name: one.predicate for one in holding})
        return shelves[components]

    def free_name(self, name: str) -> str:
        """The name, numbered if another synopsis has it."""
        number, free = 2, name
        while free in self.by_name:
            free, number = f"{name} #{number}", number + 1
        return free
