"""A query's answer in two steps: rows of its innermost level from some of the groups, then the answer from all rows.

Groups that are told apart by their keys may lie in different tasks. Each task cuts its own down (HAVING, the first k
of an ORDER BY … LIMIT k) to rows of plain keys and aggregates; whoever has all these rows finishes the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from queries.model import AggregateCall, Call, Expression, Output, Ref, Select
from synopses.answer import answer
from synopses.carriers import Array
from synopses.row_groups import inner_columns
from synopses.window_read import Groups


def leaf_rows(select: Select) -> Select:
    """The innermost level with the keys ``k0…`` and aggregates ``a0…`` that the rest of the query looks at."""
    leaf, over = select.leaf, _level_over_leaf(select)
    wanted = None if over is None else inner_columns(over)
    looked_at = [output.value for output in leaf.outputs if wanted is None or output.name in wanted]
    looked_at += [term.value for term in leaf.order]
    if leaf.having is not None:
        looked_at.append(leaf.having)
    names = {name for value in looked_at for name in _refs(value)}
    if leaf.order:
        names |= {f"k{i}" for i in range(len(leaf.keys))}
    columns = [(f"k{i}", key.type, True) for i, key in enumerate(leaf.keys)]
    columns += [(f"a{i}", call.type, False) for i, call in enumerate(leaf.aggregates)]
    outputs = tuple(Output(name, Ref(name, type_), key) for name, type_, key in columns if name in names)
    return replace(leaf, outputs=outputs)


def finish(select: Select, rows: pa.Table) -> pa.Table:
    """The answer of the whole query from all rows of its ``leaf_rows``."""
    return answer(select, _RowsOfLeaf(select.leaf, rows))


def complete_in_parts(select: Select) -> bool:
    """Whether the answers over some of the groups, one after the other, are the answer over all of them."""
    return select.leaf is select and not select.order and select.limit is None and bool(select.keys)


@dataclass(frozen=True)
class _RowsOfLeaf(Groups):
    leaf: Select
    rows: pa.Table

    @property
    def size(self) -> int:
        return int(self.rows.num_rows)

    def aggregate(self, call: AggregateCall) -> pa.Array:
        return self.rows[f"a{self.leaf.aggregates.index(call)}"].combine_chunks()

    def keys(self, rows: Array | None = None) -> list[pa.Array]:
        """A key nobody looks at is not there; NULLs stand in its place."""
        places = None if rows is None else pa.array(rows)
        columns = []
        for number in range(len(self.leaf.keys)):
            name = f"k{number}"
            there = name in self.rows.column_names
            column = self.rows[name].combine_chunks() if there else pa.nulls(self.size)
            columns.append(column if places is None else column.take(places))
        return columns


def _level_over_leaf(select: Select) -> Select | None:
    while isinstance(select.source, Select):
        if select.source.leaf is select.source:
            return select
        select = select.source
    return None


def _refs(value: Expression) -> set[str]:
    if isinstance(value, Ref):
        return {value.name}
    return {name for argument in value.args for name in _refs(argument)} if isinstance(value, Call) else set()
