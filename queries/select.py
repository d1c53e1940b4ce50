"""One level of a query: a sqlglot Select and what it reads, bound to the model's ``Select``."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sqlglot import exp

from queries.aggregation import Aggregates, default_name, gives_items, has_aggregate, is_aggregate, parts_of
from queries.clauses import check_clauses, check_grouping
from queries.dialect import HemiolaSQL
from queries.expression_types import condition
from queries.expressions import bind_expression
from queries.function_names import aggregate_name, refuse_aggregate
from queries.item_rows import check_stands_alone, heaviest_first, items_node, plain
from queries.model import Expression, Order, Output, Ref, Select, Value
from queries.sources import Level, SelectLevel
from queries.sql_errors import Refusal, SqlProblem, did_you_mean

T = TypeVar("T")

RESERVED = frozenset("window_start window_end complete refreshed_at late_by restored rank".split())
"""The results table's own columns."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SelectBinder:
    """Binds the clauses of ``tree`` in SQL's order, collecting what is wrong in ``problems``."""

    def __init__(self, tree: exp.Select, level: Level, top: bool, problems: list[SqlProblem]) -> None:
        self._tree, self._level, self._top, self._problems = tree, level, top, problems
        self._aggregates = Aggregates(level)
        self._keys: list[Value] = []
        self._key_nodes: list[exp.Expr] = []
        self._aliases = {item.alias.lower(): item.this for item in tree.expressions if isinstance(item, exp.Alias)}
        self._parts = {
            f"{alias}_{part}": (node, part)
            for alias, node in ((alias, plain(node)) for alias, node in self._aliases.items())
            for part in parts_of(node)
        }
        self._items = items_node(tree)

    def bind(self) -> Select | None:
        """The bound level; None when something in it is wrong."""
        before = len(self._problems)
        where = self._attempt(self._where)
        before_keys = len(self._problems)
        for node in self._group_nodes():
            self._attempt(partial(self._key, node))
        if len(self._problems) > before_keys:
            return None
        if not self._keys and not any(has_aggregate(item) for item in self._tree.expressions):
            self._refuse_plain()
            return None
        outputs = [self._attempt(partial(self._outputs, item)) for item in self._tree.expressions]
        having = self._attempt(self._having)
        order = self._attempt(self._order) or ()
        limit = self._attempt(self._limit)
        bound = tuple(output for found in outputs for output in found or ())
        if None not in outputs:
            items = [item for item, found in zip(self._tree.expressions, outputs, strict=True) for _ in found or ()]
            self._attempt(lambda: self._check_outputs(bound, items))
        if len(self._problems) > before:
            return None
        calls = tuple(self._aggregates.calls)
        if self._items is not None:
            order, limit = heaviest_first(calls)
        return Select(self._level.source, where, tuple(self._keys), calls, bound, having, order, limit)

    def _refuse_plain(self) -> None:
        """Neither GROUP BY nor an aggregate: such a query would list records."""
        inner = isinstance(self._level, SelectLevel)
        hint = "conditions on the sub-query's answers go into its HAVING" if inner else "add one, such as COUNT(*)"
        stars = [item for item in self._tree.expressions if item.is_star]
        if stars:
            refusal = Refusal(stars[0], "SELECT * is not supported", "name the keys and aggregates")
        else:
            refusal = Refusal(self._tree, "the query has neither GROUP BY nor an aggregate", hint)
        self._problems.append(refusal.problem)

    def _attempt(self, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except Refusal as refusal:
            self._problems.append(refusal.problem)
            return None

    def _where(self) -> Value | None:
        clause = self._tree.args.get("where")
        if clause is None:
            return None
        for part in clause.this.walk():
            if is_aggregate(part):
                raise Refusal(part, "an aggregate may not stand in WHERE", "conditions on aggregates go into HAVING")
        for column in clause.this.find_all(exp.Column):
            known = {name.lower() for name in self._level.columns.types}
            if not column.table and column.name.lower() in self._aliases.keys() - known:
                raise self._alias_too_early(column, "WHERE")
        return self._level.condition(clause.this)

    def _alias_too_early(self, column: exp.Column, clause: str) -> Refusal:
        text = self._aliases[column.name.lower()].sql(dialect=HemiolaSQL)
        return Refusal(
            column,
            f"{column.name} is named in SELECT, and such names cannot be used in {clause}",
            f"write {text} instead",
        )

    def _group_nodes(self) -> list[exp.Expr]:
        group = self._tree.args.get("group")
        if group is None:
            return []
        before = len(self._problems)
        self._attempt(lambda: check_grouping(group))
        return list(group.expressions) if len(self._problems) == before else []

    def _key(self, node: exp.Expr) -> None:
        node = self._by_ordinal(node, "GROUP BY") or node
        columns = {name.lower() for name in self._level.columns.types}
        if isinstance(node, exp.Column) and not node.table and node.name.lower() not in columns:
            node = self._aliases.get(node.name.lower(), node)
        if has_aggregate(node):
            raise Refusal(node, "GROUP BY may not contain an aggregate", "aggregate again over a sub-query in FROM")
        value = self._level.value(node, "a key")
        if value not in self._keys:
            self._keys.append(value)
            self._key_nodes.append(node)

    def _by_ordinal(self, node: exp.Expr, clause: str) -> exp.Expr | None:
        if not (isinstance(node, exp.Literal) and not node.is_string):
            return None
        items = self._tree.expressions
        if not node.this.isdigit() or not 1 <= int(node.this) <= len(items):
            raise Refusal(node, f"{clause} {node.this} names no column of the SELECT list, which has {len(items)}")
        item = items[int(node.this) - 1]
        chosen: exp.Expr = item.this if isinstance(item, exp.Alias) else item
        return chosen

    def _above(self, node: exp.Expr, alias_first: bool = False, aliases: bool = False) -> Expression:
        """An expression over keys and aggregates; in HAVING and ORDER BY also over the SELECT list's aliases."""

        def leaf(part: exp.Expr) -> Expression | None:
            if is_aggregate(part):
                if gives_items(part):
                    check_stands_alone(part, self._items, self._level)
                return self._aggregates.ref(part)
            if isinstance(part, exp.WithinGroup):
                raise refuse_aggregate(part, aggregate_name(part.this) or "within group")
            named = isinstance(part, exp.Column) and not part.table and aliases
            aliased = self._aliases.get(part.name.lower()) if named else None
            if named and aliased is None and part.name.lower() in self._parts:
                return self._aggregates.ref(*self._parts[part.name.lower()])
            if aliased is not None and alias_first:
                return self._above(aliased)
            key = self._key_ref(part)
            if key is None and aliased is not None:
                return self._above(aliased)
            if key is None and isinstance(part, exp.Column):
                raise self._ungrouped(part)
            return key

        return bind_expression(node, leaf)

    def _key_ref(self, node: exp.Expr) -> Ref | None:
        if not self._keys or isinstance(node, (exp.Literal, exp.Boolean, exp.Null)) or has_aggregate(node):
            return None
        try:
            value = self._level.value(node, "a key")
        except Refusal:
            return None
        return Ref(f"k{self._keys.index(value)}", value.type) if value in self._keys else None

    def _ungrouped(self, column: exp.Column) -> Refusal:
        try:
            name = self._level.columns.resolve(column)
        except Refusal as unknown:
            if column.name.lower() in self._aliases and not column.table:
                return self._alias_too_early(column, "the SELECT list")
            near = did_you_mean(column.name, [*self._level.columns.types, *self._aliases])
            return Refusal(column, unknown.problem.message, near) if near and not column.table else unknown
        return Refusal(
            column,
            f"column {name} is neither in GROUP BY nor inside an aggregate",
            f"add {name} to GROUP BY, or aggregate it, as in MAX({name})",
        )

    def _outputs(self, item: exp.Expr) -> tuple[Output, ...]:
        """The item's column, and for an approximate aggregate those of its bounds (``queries.approximate``)."""
        answer = self._output(item)
        node = plain(item.this if isinstance(item, exp.Alias) else item)
        beside = ((f"{answer.name}_{part}", self._aggregates.ref(node, part)) for part in parts_of(node))
        return (answer, *(Output(name, value, key=False) for name, value in beside))

    def _output(self, item: exp.Expr) -> Output:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            raise Refusal(item, "SELECT * is not supported", "name the keys and aggregates")
        node = item.this if isinstance(item, exp.Alias) else item
        value = self._above(node)
        name = item.alias if isinstance(item, exp.Alias) else self._default_name(node)
        if not name:
            text = node.sql(dialect=HemiolaSQL)
            raise Refusal(item, f"{text} needs a name", f"write {text} AS some_name")
        if not _NAME.fullmatch(name):
            raise Refusal(item, f"{name!r} cannot name a column of the results", "use letters, digits and _")
        return Output(name, value, isinstance(value, Ref) and value.name.startswith("k"))

    def _default_name(self, node: exp.Expr) -> str | None:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return self._level.columns.resolve(node)
        return default_name(node) if is_aggregate(node) else None

    def _having(self) -> Expression | None:
        clause = self._tree.args.get("having")
        if clause is None:
            return None
        return condition(clause.this, "HAVING", self._above(clause.this, aliases=True))

    def _order(self) -> tuple[Order, ...]:
        clause = self._tree.args.get("order")
        if clause is None:
            return ()
        check_clauses(clause)
        return tuple(self._term(term) for term in clause.expressions)

    def _term(self, term: exp.Expr) -> Order:
        check_clauses(term)
        node = self._by_ordinal(term.this, "ORDER BY")
        value = self._above(node) if node is not None else self._above(term.this, alias_first=True, aliases=True)
        return Order(value, bool(term.args.get("desc")), bool(term.args.get("nulls_first")))

    def _limit(self) -> int | None:
        clause = self._tree.args.get("limit")
        if clause is None:
            return None
        if not isinstance(clause, exp.Limit):
            raise Refusal(clause, "FETCH is not supported", "write LIMIT k")
        check_clauses(clause)
        count = clause.expression
        if not (isinstance(count, exp.Literal) and count.this.isdigit() and not count.is_string and int(count.this)):
            raise Refusal(clause, f"LIMIT takes a whole number of at least 1, not {count.sql(dialect=HemiolaSQL)}")
        if self._tree.args.get("order") is None:
            raise Refusal(clause, "LIMIT without ORDER BY would keep arbitrary rows", "add ORDER BY … before LIMIT")
        return int(count.this)

    def _check_outputs(self, outputs: tuple[Output, ...], items: list[exp.Expr]) -> None:
        seen: set[str] = set()
        for output, item in zip(outputs, items, strict=True):
            if output.name.lower() in seen:
                raise Refusal(item, f"two columns are named {output.name}", "name them apart with AS")
            if self._top and output.name.lower() in RESERVED:
                raise Refusal(
                    item,
                    f"the name {output.name} belongs to the results table itself",
                    f"choose another: AS {output.name}_of_query",
                )
            seen.add(output.name.lower())
        self._check_keys_shown(outputs)

    def _check_keys_shown(self, outputs: tuple[Output, ...]) -> None:
        if not self._top or self._tree.args.get("order") is not None or self._problems:
            return
        shown = {output.value for output in outputs}
        for number, (key, node) in enumerate(zip(self._keys, self._key_nodes, strict=True)):
            if Ref(f"k{number}", key.type) not in shown:
                text = node.sql(dialect=HemiolaSQL)
                raise Refusal(
                    node,
                    f"the key {text} is not in SELECT, so rows of the results could not be told apart",
                    f"add {text} to SELECT",
                )
