"""What a level of a query reads: a stream (``Scalar``) or an inner Select (``Expression`` over its outputs)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from queries.expression_types import condition
from queries.expressions import bind_expression
from queries.function_names import aggregate_name
from queries.model import Expression, Ref, Select, StreamWindow, Value
from queries.scalar import Columns, bind_condition, bind_scalar
from queries.sql_errors import Refusal


@dataclass(frozen=True)
class StreamLevel:
    """FROM stream [WINDOW …]: expressions are Spark's."""

    source: StreamWindow
    columns: Columns

    def value(self, node: exp.Expr, role: str) -> Value:
        return bind_scalar(node, self.columns, role)

    def condition(self, node: exp.Expr) -> Value:
        return bind_condition(node, self.columns)


@dataclass(frozen=True)
class SelectLevel:
    """FROM (SELECT …): expressions are evaluated in the driver; column names are the inner outputs."""

    source: Select
    columns: Columns

    def value(self, node: exp.Expr, role: str) -> Value:
        return bind_expression(node, self._leaf)

    def condition(self, node: exp.Expr) -> Value:
        return condition(node, "WHERE", bind_expression(node, self._leaf))

    def _leaf(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column):
            name = self.columns.resolve(node)
            return Ref(name, self.columns.types[name])
        name_of_aggregate = aggregate_name(node)
        if name_of_aggregate:
            raise Refusal(node, f"the aggregate {name_of_aggregate.upper()} may not stand here, below the grouping")
        return None


Level = StreamLevel | SelectLevel
