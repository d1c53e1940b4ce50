"""Queries that answer with items: ``SELECT APPROX_TOP_K(x, k) AS d FROM …`` gives a row per item, heaviest first.

Such an aggregate is all there is in its SELECT; order and limit follow from it.
"""

from __future__ import annotations

from sqlglot import exp

from queries.aggregation import gives_items
from queries.model import AggregateCall, Order, Ref
from queries.sources import Level, SelectLevel
from queries.sql_errors import Refusal


def plain(node: exp.Expr) -> exp.Expr:
    """``node`` without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def items_node(tree: exp.Select) -> exp.Expr | None:
    """The aggregate that gives the rows of ``tree``, if it stands alone in it."""
    if len(tree.expressions) != 1 or any(tree.args.get(clause) for clause in ("group", "having", "order", "limit")):
        return None
    (item,) = tree.expressions
    node = plain(item.this if isinstance(item, exp.Alias) else item)
    return node if gives_items(node) else None


def check_stands_alone(node: exp.Expr, items: exp.Expr | None, level: Level) -> None:
    """Raise ``Refusal`` unless ``node`` is the aggregate that gives its query's rows (``items``)."""
    name = (node.this if isinstance(node, exp.Filter) else node).name.upper()
    if node is not items:
        raise Refusal(
            node,
            f"{name} gives several rows, so it must be all there is in its SELECT: no other column,"
            " no GROUP BY, HAVING, ORDER BY or LIMIT",
            f"write SELECT {name}(x, k) AS top FROM …; its rows come heaviest first",
        )
    if name == "TOP_K_LISTS" and isinstance(level, SelectLevel):
        raise Refusal(node, "TOP_K_LISTS keeps lists per interval of a stream", "over a sub-query use APPROX_TOP_K")


def heaviest_first(calls: tuple[AggregateCall, ...]) -> tuple[tuple[Order, ...], int | None]:
    """Order and limit of an items query: by count descending, then by item; APPROX_TOP_K stops at k."""
    by_part = {call.part: Ref(f"a{number}", call.type) for number, call in enumerate(calls)}
    order = (Order(by_part["count"], descending=True, nulls_first=False), Order(by_part[""], False, nulls_first=True))
    return order, int(calls[0].parameters[0]) if calls[0].function == "APPROX_TOP_K" else None
