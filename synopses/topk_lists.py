"""Top-k lists (dissertation chapter 6): per interval the exact weights of its k heaviest items, nothing else.

Global counters add up what the lists of a window say; they are kept up to date by adding the newest list and taking
away the one that leaves (Algorithm 6). δi is the weight of an interval's k-th item (0 if it has fewer than k), and
δ = Σ δi: an item on no list weighs at most δ. Reported are the items whose counter exceeds δ; a counter never exceeds
the item's true weight, so nothing is reported wrongly. Space is one list per interval, however many items there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from queries.model import Value
from synopses.algebra import Capabilities, Component, Reduction, State
from synopses.carriers import Array
from synopses.components import Count, Total
from synopses.merged import Merged, Partials, ProbeCost
from synopses.preaggregate import Preaggregation

_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Listed:
    """The weight of an item, of which a synopsis keeps the ``k`` heaviest per interval.

    Until an interval is closed weights are merged like those of ``inner``: exactly.
    """

    inner: Count | Total
    k: int

    @property
    def argument(self) -> Value:
        return self.inner.argument

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    @property
    def parts(self) -> int:
        return self.inner.parts

    def prepare(self, argument: pa.Array | None) -> dict[str, pa.Array]:
        return self.inner.prepare(argument)

    def reductions(self, prepared: Sequence[str]) -> tuple[Reduction, ...]:
        return self.inner.reductions(prepared)

    def lift(self, reduced: Sequence[pa.Array], prepared: Sequence[str]) -> tuple[pa.Array, ...]:
        return self.inner.lift(reduced, prepared)

    def load(self, parts: Sequence[pa.Array]) -> State:
        return self.inner.load(parts)

    def unload(self, state: State) -> tuple[pa.Array, ...]:
        return self.inner.unload(state)

    def identity(self, size: int) -> State:
        return self.inner.identity(size)

    def absorb(self, into: State, codes: Array, state: State) -> State:
        return self.inner.absorb(into, codes, state)

    def guard(self, state: State, intervals: int) -> State:
        return self.inner.guard(state, intervals)


@dataclass(frozen=True)
class ListedItems:
    """What a TOP_K_LISTS query keeps: lists of the ``k`` values of ``item`` with the most records, or ``weight``."""

    item: Value
    k: int
    weight: Value | None = None

    def need(self, where: Value | None) -> Preaggregation:
        """Weights of all items of an interval. A NULL item has no records that count, and is never listed."""
        inner = Count(self.item) if self.weight is None else Total(self.weight)
        return Preaggregation(where, (self.item,), (Listed(inner, self.k),))


@dataclass(frozen=True)
class _List:
    """The heaviest items of one interval and δi."""

    codes: Array
    weights: Array
    delta: int | float

    @staticmethod
    def of(codes: Array, weights: Array, k: int) -> _List:
        """Items of equal weight at the k-th place: the one known longer (the smaller code)."""
        some = weights > 0
        codes, weights = codes[some], weights[some]
        if len(codes) > k and weights.dtype != object:
            kth = np.partition(weights, len(weights) - k)[len(weights) - k]
            heavy = weights >= kth
            codes, weights = codes[heavy], weights[heavy]
        by_code = np.argsort(codes, kind="stable")
        order = by_code[np.argsort(-weights[by_code], kind="stable")][:k]
        weights = weights[order]
        return _List(codes[order], weights, weights.tolist()[k - 1] if len(order) == k else 0)


class _GlobalCounters:
    """Sums over the lists of the last ``window`` intervals, by item code.

    ``covered`` adds up δi over the lists that name the item: there its weight is exact, so its true weight in the
    window exceeds its counter by at most δ − covered.
    """

    def __init__(self, lists: Sequence[_List], dtype: np.dtype[np.int64] | np.dtype[np.float64]) -> None:
        codes = np.concatenate([np.empty(0, dtype=np.int64), *(list_.codes for list_ in lists)])
        weights = np.concatenate([np.empty(0, dtype=dtype), *(list_.weights for list_ in lists)])
        deltas = np.array([list_.delta for list_ in lists], dtype=weights.dtype)
        self.counters: Array = np.zeros(int(codes.max(initial=-1)) + 1, dtype=weights.dtype)
        self.covered: Array = np.zeros_like(self.counters)
        np.add.at(self.counters, codes, weights)
        np.add.at(self.covered, codes, np.repeat(deltas, [len(list_.codes) for list_ in lists]))
        self.delta: int | float = sum(list_.delta for list_ in lists)
        self.idle = 0

    def add(self, list_: _List) -> None:
        self._make_room(list_)
        self.counters[list_.codes] += list_.weights
        self.covered[list_.codes] += list_.delta
        self.delta += list_.delta

    def take_away(self, list_: _List) -> None:
        self._make_room(list_)
        self.counters[list_.codes] -= list_.weights
        self.covered[list_.codes] -= list_.delta
        self.delta -= list_.delta

    def reported(self, window: int) -> Merged:
        """Items whose counter exceeds δ, if doubles by more than sums of ``window`` terms can be rounded by.

        States: counters, covered, δ.
        """
        rounding = 1 + 4 * window * _EPSILON if self.counters.dtype == np.float64 else 1
        codes = np.flatnonzero(self.counters > self.delta * rounding)
        counters, covered = self.counters[codes], self.covered[codes]
        return Merged(codes, ((counters,), (covered,), (np.full(len(codes), self.delta, dtype=counters.dtype),)))

    def _make_room(self, list_: _List) -> None:
        if list_.weights.dtype == object and self.counters.dtype != object:
            self.counters, self.covered = self.counters.astype(object), self.covered.astype(object)
        missing = int(list_.codes.max(initial=-1)) + 1 - len(self.counters)
        if missing > 0:
            room = np.zeros(max(missing, len(self.counters)), dtype=self.counters.dtype)
            self.counters, self.covered = np.r_[self.counters, room], np.r_[self.covered, room]


class TopKLists:
    """The lists of the last ``b`` intervals, and global counters of every window length that is asked for.

    Counters of a window of n intervals come into being when it is first probed, from n lists, and then cost two lists
    per update. They are dropped after n updates without a probe: making them anew is by then no dearer than having
    kept them. Double weights are added up anew by every probe: taking away rounds, and an item that has left the window
    with a remainder of 1e-7 would be a false positive.
    """

    def __init__(self, components: Sequence[Component], b: int) -> None:
        (component,) = components
        assert isinstance(component, Listed)
        self.components, self.b, self._listed = tuple(components), b, component
        self._dtype = component.inner.dtype
        self._lists: deque[_List] = deque()
        self._global: dict[int, _GlobalCounters] = {}
        self.last_probe = self.last_update = ProbeCost()

    def update(self, partials: Partials) -> None:
        """Lists the newest interval's heaviest items and drops what is older than ``b`` intervals."""
        (weights,) = self._listed.guard(partials.states[0], self.b)
        self._lists.append(_List.of(partials.codes, weights, self._listed.k))
        merges = 0
        for window, counters in list(self._global.items()):
            counters.idle += 1
            if counters.idle > window:
                del self._global[window]
                continue
            counters.add(self._lists[-1])
            merges += 1
            if len(self._lists) > window:
                counters.take_away(self._lists[-1 - window])
                merges += 1
        self.last_update = ProbeCost(0, merges)
        while len(self._lists) > self.b:
            self._lists.popleft()

    def extend(self, b: int) -> None:
        """Keeps ``b`` intervals from now on, for a longer window."""
        self.b = max(self.b, b)

    def probe(self, windows: Sequence[int], size: int, age: int = 0) -> Iterator[tuple[int, Merged]]:
        """The reported items of each window length, shortest first, of windows that end ``age`` intervals ago.

        States of a window: counters, covered (see ``_GlobalCounters``) and δ, one of each per reported item.
        """
        self.last_probe = ProbeCost()
        for window in sorted(set(windows)):
            counters = self._global.get(window) if age == 0 else None
            if counters is None:
                counters = self._summed(window, age)
            else:
                self.last_probe = ProbeCost(self.last_probe.reads + 1, self.last_probe.merges)
            if age == 0 and self._dtype != np.float64:
                counters.idle = 0
                self._global[window] = counters
            yield window, counters.reported(window)

    def _summed(self, window: int, age: int) -> _GlobalCounters:
        newest = len(self._lists) - age
        lists = [self._lists[position] for position in range(max(newest - window, 0), max(newest, 0))]
        reads, merges = self.last_probe.reads + len(lists), self.last_probe.merges + max(len(lists) - 1, 0)
        self.last_probe = ProbeCost(reads, merges)
        return _GlobalCounters(lists, self._dtype)

    @property
    def intervals(self) -> int:
        return len(self._lists)

    @property
    def entries(self) -> int:
        """Listed (item, weight) pairs: at most k per interval."""
        return sum(len(list_.codes) for list_ in self._lists)

    @property
    def nbytes(self) -> int:
        lists = sum(list_.codes.nbytes + list_.weights.nbytes for list_ in self._lists)
        return lists + sum(kept.counters.nbytes + kept.covered.nbytes for kept in self._global.values())

    def codes_in_use(self) -> Array:
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(list_.codes for list_ in self._lists)]))

    def translate_codes(self, new_codes: Array) -> None:
        """Codes change when dead keys are forgotten; the global counters are made anew at the next probe."""
        self._lists = deque(_List(new_codes[list_.codes], list_.weights, list_.delta) for list_ in self._lists)
        self._global.clear()
