"""Dictionary-coded group keys: every key tuple of a stream is a small integer, so synopses are numpy arrays.

Key tuples form a tree. The root is the empty tuple (code 0, the group of queries without GROUP BY); a node adds one
key expression, and its codes stand for pairs (code at the parent, value). Groupings with a common prefix share it,
and the counters of an argument x under keys K are simply the node K+x, whose parent codes are the groups of K.

Cost of encoding is per distinct key of a batch, not per record and not per key ever seen. Codes no synopsis refers
to any more are forgotten by ``KeyTree.compact``, so a stream of ever-new keys does not grow memory without bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.model import Value
from queries.types import Type
from synopses.carriers import ARROW_TYPES, WIDE, Array
from synopses.pair_codes import CODE_BITS, Interner, PairCodes

_SMALL = 1 << 16
"""Integers below it are looked up in a table (4 bytes each)."""


class KeyValues:
    """The distinct values of one key expression, NULL among them; -0.0 and NaN are as in Spark's GROUP BY."""

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self._interner = Interner()
        self._array: pa.Array = pa.array([], type=ARROW_TYPES[type_])
        self._pending: list[pa.Array] = []
        self._small: Array = np.zeros(0, dtype=np.int32)
        """The codes of small integers by the integers themselves, −1 where not known: found without hashing."""

    def __len__(self) -> int:
        return len(self._interner)

    def encode(self, column: pa.Array) -> Array:
        small = _small_integers(column)
        if small is not None and small.max() < len(self._small):
            known = self._small[small]
            if known.min() >= 0:
                return known.astype(np.int64)
        if pa.types.is_decimal(column.type) and not pa.types.is_decimal(self._array.type):
            self._array = self.array().cast(WIDE)
        column = column.cast(self._array.type)
        if self.type.fractional:
            column = pc.add(column, 0.0)
        codes = self._encode(column)
        if small is not None:
            missing = int(small.max()) + 1 - len(self._small)
            self._small = np.r_[self._small, np.full(max(missing, 0), -1, dtype=np.int32)]
            self._small[small] = codes
        return codes

    def _encode(self, column: pa.Array) -> Array:
        encoded = column.dictionary_encode(null_encoding="encode")
        distinct = encoded.dictionary
        before = len(self._interner)
        codes = self._interner.codes(self._hashable(distinct))
        fresh = np.flatnonzero(codes >= before)
        if fresh.size:
            self._pending.append(distinct.take(pa.array(fresh[np.unique(codes[fresh], return_index=True)[1]])))
        indices: Array = encoded.indices.to_numpy(zero_copy_only=False)
        return codes[indices]

    def _hashable(self, distinct: pa.Array) -> list[Any]:
        if self.type.fractional:
            nan = pc.fill_null(pc.is_nan(distinct), False).to_numpy(zero_copy_only=False)
            if nan.any():
                return [("NaN",) if is_nan else value for is_nan, value in zip(nan, distinct.to_pylist(), strict=True)]
        if self.type is Type.TIMESTAMP:
            distinct = distinct.cast(pa.int64())
        if pa.types.is_int64(distinct.type) and not distinct.null_count:
            return list(distinct.to_numpy().tolist())
        values: list[Any] = distinct.to_pylist()
        return values

    def array(self) -> pa.Array:
        """All values, by code."""
        if self._pending:
            self._array = pa.concat_arrays([self._array, *self._pending])
            self._pending = []
        return self._array

    def keep(self, codes: Array) -> None:
        """Forgets all values but those of ``codes``, which are renumbered in that order."""
        self._array = self.array().take(pa.array(codes))
        self._small = self._small[:0]
        self._interner = Interner(zip(self._hashable(self._array), range(len(codes)), strict=True))


def _small_integers(column: pa.Array) -> Array | None:
    """The integers of a column that has at least one, and no others than small ones."""
    if not pa.types.is_signed_integer(column.type) or column.null_count or not len(column):
        return None
    integers: Array = column.to_numpy()
    return integers if integers.min() >= 0 and integers.max() < _SMALL else None


class KeyNode:
    """The key tuples of one list of key expressions."""

    def __init__(self, parent: KeyNode | None = None, values: KeyValues | None = None) -> None:
        self.parent, self.values = parent, values
        self.children: dict[Value, KeyNode] = {}
        self._codes = PairCodes() if parent is not None else PairCodes.of(np.zeros(1, dtype=np.int64))
        self._projections: dict[int, Array] = {}

    @property
    def size(self) -> int:
        """Codes are 0..size−1."""
        return self._codes.size

    def encode(self, columns: Sequence[pa.Array], rows: int) -> Array:
        """The codes of key tuples given column by column."""
        if self.parent is None or self.values is None:
            return np.zeros(rows, dtype=np.int64)
        parents = self.parent.encode(columns[:-1], rows)
        return self._codes.encode(parents, self.values.encode(columns[-1]))

    def parents(self, codes: Array) -> Array:
        """The parent's codes of these codes."""
        found: Array = self._codes.pairs(codes) >> CODE_BITS
        return found

    def value_codes(self, codes: Array) -> Array:
        found: Array = self._codes.pairs(codes) & (2**CODE_BITS - 1)
        return found

    def last(self, codes: Array) -> pa.Array:
        """The last key of these codes."""
        assert self.values is not None
        return self.values.array().take(pa.array(self.value_codes(codes)))

    def decode(self, codes: Array) -> list[pa.Array]:
        """The key columns of these codes."""
        if self.parent is None:
            return []
        return [*self.parent.decode(self.parents(codes)), self.last(codes)]

    def project(self, codes: Array, onto: KeyNode) -> Array:
        """The codes at ``onto``, whose keys are among this node's in any order, of the groups of these codes.

        Remembered per code until codes change, so that a refresh pays for the groups that are new.
        """
        ancestor: KeyNode | None = self
        shorter = codes
        while ancestor is not None and ancestor is not onto:
            shorter, ancestor = ancestor.parents(shorter), ancestor.parent
        if ancestor is onto:
            return shorter
        known = self._projections.get(id(onto), np.empty(0, dtype=np.int64))
        if len(known) < self.size:
            fresh = np.arange(len(known), self.size)
            known = np.concatenate([known, onto._joined(self._value_columns(fresh), len(fresh))])
            self._projections[id(onto)] = known
        return known[codes]

    def _value_columns(self, codes: Array) -> dict[int, Array]:
        """The value codes of every key, by its dictionary of values."""
        columns: dict[int, Array] = {}
        node: KeyNode = self
        while node.parent is not None:
            columns[id(node.values)] = node.value_codes(codes)
            codes, node = node.parents(codes), node.parent
        return columns

    def _joined(self, columns: dict[int, Array], rows: int) -> Array:
        """The codes of key tuples given by the value codes of their keys."""
        if self.parent is None:
            return np.zeros(rows, dtype=np.int64)
        return self._codes.encode(self.parent._joined(columns, rows), columns[id(self.values)])

    def renumber(self, kept: Array, parent_codes: Array, value_codes: Array) -> None:
        """Keeps the codes ``kept``; ``parent_codes`` and ``value_codes`` translate old codes to new ones."""
        pairs = parent_codes[self.parents(kept)] << CODE_BITS | value_codes[self.value_codes(kept)]
        self._codes = PairCodes.of(pairs)
        self._projections = {}


class CodeUser(Protocol):
    """Something that stores codes of a node: a synopsis or a buffer."""

    def codes_in_use(self) -> Array: ...

    def translate_codes(self, new_codes: Array) -> None: ...


class KeyTree:
    """All key nodes of one stream, with one dictionary of values per key expression."""

    def __init__(self) -> None:
        self.root = KeyNode()
        self._values: dict[Value, KeyValues] = {}

    def node(self, keys: Sequence[Value]) -> KeyNode:
        node = self.root
        for key in keys:
            child = node.children.get(key)
            if child is None:
                values = self._values.setdefault(key, KeyValues(key.type))
                child = node.children[key] = KeyNode(node, values)
            node = child
        return node

    def nodes(self) -> list[KeyNode]:
        """Children before parents, the root left out."""
        found: list[KeyNode] = []
        stack = list(self.root.children.values())
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(node.children.values())
        return found[::-1]

    def entries(self) -> int:
        return sum(node.size for node in self.nodes()) + sum(len(values) for values in self._values.values())

    def compact(self, users: Iterable[tuple[KeyNode, CodeUser]]) -> None:
        """Forgets every code that no user refers to, directly or through a longer key tuple."""
        users = list(users)
        nodes = self.nodes()
        used = {id(node): np.zeros(node.size, dtype=bool) for node in [self.root, *nodes]}
        for node, user in users:
            used[id(node)][user.codes_in_use()] = True
        for node in nodes:
            assert node.parent is not None
            used[id(node.parent)][node.parents(np.flatnonzero(used[id(node)]))] = True
        translation = {id(self.root): np.zeros(1, dtype=np.int64)}
        value_translation = self._compact_values(nodes, used)
        for node in reversed(nodes):
            kept = np.flatnonzero(used[id(node)])
            translation[id(node)] = _translation(kept, node.size)
            node.renumber(kept, translation[id(node.parent)], value_translation[id(node.values)])
        for node, user in users:
            if node is not self.root:
                user.translate_codes(translation[id(node)])

    def _compact_values(self, nodes: list[KeyNode], used: dict[int, Array]) -> dict[int, Array]:
        translation = {}
        for values in self._values.values():
            live = np.zeros(len(values), dtype=bool)
            for node in nodes:
                if node.values is values:
                    live[node.value_codes(np.flatnonzero(used[id(node)]))] = True
            kept = np.flatnonzero(live)
            translation[id(values)] = _translation(kept, len(values))
            values.keep(kept)
        return translation


def _translation(kept: Array, size: int) -> Array:
    new = np.zeros(size, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    return new
