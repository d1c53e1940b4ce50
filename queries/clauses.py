"""The clauses a query may have. Whatever sqlglot parsed and the binder does not read is refused here, never ignored."""

from __future__ import annotations

from sqlglot import exp

from queries.dialect import WINDOW_CLAUSE
from queries.sql_errors import Refusal

_READ: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset("expressions from_ where group having order limit".split()),
    exp.Table: frozenset({"this", "alias", WINDOW_CLAUSE}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this"}),
    exp.From: frozenset({"this"}),
    exp.Group: frozenset({"expressions"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
}

_JOINS = "a query reads one stream; window joins come later"
_GROUPING = "write one query per grouping; they share their state"
_REASONS: dict[str, tuple[str, str | None]] = {
    "distinct": ("SELECT DISTINCT is not supported", "GROUP BY the columns instead"),
    "joins": ("joins are not supported", _JOINS),
    "laterals": ("LATERAL VIEW is not supported", None),
    "offset": ("OFFSET is not supported", "LIMIT k keeps the first k rows"),
    "qualify": ("QUALIFY is not supported", "use HAVING, or ORDER BY … LIMIT k"),
    "with_": ("WITH (common table expressions) is not supported", "write the sub-query in FROM"),
    "windows": ("named windows are not supported", "windows are given by [WINDOW w SLIDE p] after the stream's name"),
    "sample": ("TABLESAMPLE is not supported", None),
    "sort": ("SORT BY is not supported", "use ORDER BY"),
    "cluster": ("CLUSTER BY is not supported", None),
    "distribute": ("DISTRIBUTE BY is not supported", None),
    "pivots": ("PIVOT is not supported", "use aggregates with FILTER (WHERE …)"),
    "into": ("SELECT INTO is not supported", "answers go to the results table named like the query"),
    "hint": ("hints are not supported", None),
    "locks": ("FOR UPDATE is not supported", None),
    "rollup": ("ROLLUP is not supported", _GROUPING),
    "cube": ("CUBE is not supported", _GROUPING),
    "grouping_sets": ("GROUPING SETS is not supported", _GROUPING),
    "all": ("GROUP BY ALL is not supported", "name the keys"),
    "db": ("a stream's name has one part", "write the name as it stands under streams:"),
    "catalog": ("a stream's name has one part", "write the name as it stands under streams:"),
    "columns": ("renaming columns in a table alias is not supported", "use AS in the sub-query"),
    "version": ("time travel is not supported", None),
    "when": ("time travel is not supported", None),
}


def check_clauses(node: exp.Expr) -> None:
    """Raise ``Refusal`` for the first part of ``node`` (not of its children) that the binder does not read."""
    read = _READ[type(node)]
    for name, value in node.args.items():
        if name in read or value is None or value is False or value == []:
            continue
        message, hint = _REASONS.get(name, (f"{name.strip('_').upper()} is not supported here", None))
        part = value[0] if isinstance(value, list) else value
        raise Refusal(part if isinstance(part, exp.Expr) else node, message, hint)


def check_grouping(group: exp.Expr) -> None:
    """GROUP BY without ROLLUP, CUBE and GROUPING SETS, in whatever form sqlglot read them."""
    check_clauses(group)
    for node in group.expressions:
        name = (node.name if isinstance(node, exp.Anonymous) else node.key).lower()
        if name in ("rollup", "cube", "groupingsets"):
            raise Refusal(node, *_REASONS["grouping_sets" if name == "groupingsets" else name])
