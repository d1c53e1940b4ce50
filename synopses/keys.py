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

_CODE_BITS = 32


class _Interner(dict[Any, int]):
    """key → code, new keys getting the next code; the loop over keys runs in C."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code

    def codes(self, keys: Sequence[Any]) -> Array:
        return np.fromiter(map(self.__getitem__, keys), dtype=np.int64, count=len(keys))


class KeyValues:
    """The distinct values of one key expression, NULL among them; -0.0 and NaN are as in Spark's GROUP BY."""

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self._interner = _Interner()
        self._array: pa.Array = pa.array([], type=ARROW_TYPES[type_])
        self._pending: list[pa.Array] = []

    def __len__(self) -> int:
        return len(self._interner)

    def encode(self, column: pa.Array) -> Array:
        if pa.types.is_decimal(column.type) and not pa.types.is_decimal(self._array.type):
            self._array = self.array().cast(WIDE)
        column = column.cast(self._array.type)
        if self.type.fractional:
            column = pc.add(column, 0.0)
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
        self._interner = _Interner(zip(self._hashable(self._array), range(len(codes)), strict=True))


class KeyNode:
    """The key tuples of one list of key expressions."""

    def __init__(self, parent: KeyNode | None = None, values: KeyValues | None = None) -> None:
        self.parent, self.values = parent, values
        self.children: dict[Value, KeyNode] = {}
        self._interner = _Interner()
        self._pairs: Array = np.empty(0, dtype=np.int64)  # by code, with room to grow
        if parent is None:
            self._interner[0] = 0
            self._pairs = np.zeros(1, dtype=np.int64)

    @property
    def size(self) -> int:
        """Codes are 0..size−1."""
        return len(self._interner)

    def encode(self, columns: Sequence[pa.Array], rows: int) -> Array:
        """The codes of key tuples given column by column."""
        if self.parent is None or self.values is None:
            return np.zeros(rows, dtype=np.int64)
        parents = self.parent.encode(columns[:-1], rows)
        pairs = parents << _CODE_BITS | self.values.encode(columns[-1])
        encoded = pa.array(pairs).dictionary_encode()
        known = self.size
        codes = self._interner.codes(encoded.dictionary.to_pylist())
        if self.size > known:
            self._remember(encoded.dictionary.to_numpy()[codes >= known], known)
        indices: Array = encoded.indices.to_numpy()
        return codes[indices]

    def _remember(self, pairs: Array, known: int) -> None:
        """New pairs have consecutive codes, in the order they came."""
        size = known + len(pairs)
        if size > len(self._pairs):
            room = np.empty(size + size // 4, dtype=np.int64)
            room[:known] = self._pairs[:known]
            self._pairs = room
        self._pairs[known:size] = pairs

    def parents(self, codes: Array) -> Array:
        """The parent's codes of these codes."""
        found: Array = self._pairs[codes] >> _CODE_BITS
        return found

    def value_codes(self, codes: Array) -> Array:
        return self._pairs[codes] & (2**_CODE_BITS - 1)

    def last(self, codes: Array) -> pa.Array:
        """The last key of these codes."""
        assert self.values is not None
        return self.values.array().take(pa.array(self.value_codes(codes)))

    def decode(self, codes: Array) -> list[pa.Array]:
        """The key columns of these codes."""
        if self.parent is None:
            return []
        return [*self.parent.decode(self.parents(codes)), self.last(codes)]

    def renumber(self, kept: Array, parent_codes: Array, value_codes: Array) -> None:
        """Keeps the codes ``kept``; ``parent_codes`` and ``value_codes`` translate old codes to new ones."""
        pairs = parent_codes[self.parents(kept)] << _CODE_BITS | value_codes[self.value_codes(kept)]
        self._pairs = pairs
        self._interner = _Interner(zip(pairs.tolist(), range(len(pairs)), strict=True))


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
