"""One spelling for record-level expressions that mean the same, so that sharing can compare them as text.

Rules, none of which changes a value: columns under the schema's spelling in backticks, without qualifier; the sides
of ``+ * =`` in a fixed order with constants last; ``5 < x`` as ``x > 5``; AND and OR chains flattened, sorted and
free of repeats, but only where no part can raise an error (Spark evaluates left to right, and a guard such as
``x <> 0 AND y / x > 2`` must stay in front); IN lists sorted; IF as CASE; numbers in one spelling, fractions with an
exponent because Spark reads ``1.5`` as a DECIMAL; parentheses only where an operator stands inside an operator.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from queries.dialect import HemiolaSQL

_COMMUTATIVE = (exp.Add, exp.Mul, exp.EQ, exp.NEQ, exp.NullSafeEQ)
_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_PREDICATES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Is)
_PATTERNS = (exp.Like, exp.ILike)
_TOTAL = (
    *_PREDICATES,
    *_PATTERNS,
    exp.Connector,
    exp.Not,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Null,
)
_OPERATORS = (exp.Binary, exp.Unary, exp.In, exp.Between)


def canonical_sql(tree: exp.Expr) -> str:
    """The canonical text of ``tree``, whose columns are already resolved (``tree`` itself is left alone)."""
    return _text(_parenthesized(_ordered(_unwrapped(tree.copy()))))


def _text(tree: exp.Expr) -> str:
    return tree.sql(dialect=HemiolaSQL, comments=False, unsupported_level=ErrorLevel.RAISE)


def _unwrapped(tree: exp.Expr) -> exp.Expr:
    def simpler(node: exp.Expr) -> exp.Expr:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
            return exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args.get("false"))
        if isinstance(node, exp.Literal) and not node.is_string:
            return exp.Literal(this=canonical_number(node.this), is_string=False)
        return node

    return tree.transform(simpler, copy=False)


def canonical_number(text: str) -> str:
    """``010`` → ``10``, ``1.50`` → ``1.5E0``, ``1e3`` → ``1000.0E0``."""
    if text.isdigit():
        return str(int(text))
    try:
        number = repr(float(text))
    except ValueError:
        return text
    return number.upper() if "e" in number else f"{number}E0"


def _ordered(node: exp.Expr) -> exp.Expr:
    """Children first, so that texts compare in their canonical form."""
    for name, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(name, _ordered(value))
        elif isinstance(value, list):
            node.set(name, [_ordered(item) if isinstance(item, exp.Expr) else item for item in value])
    if isinstance(node, exp.Connector):
        return _sorted_chain(node)
    if isinstance(node, exp.Binary):
        return _sorted_sides(node)
    if isinstance(node, exp.In) and node.expressions:
        return _sorted_list(node)
    return node


def _sorted_sides(node: exp.Binary) -> exp.Expr:
    left, right = node.left, node.right
    if isinstance(node, _COMMUTATIVE) and _rank(right) < _rank(left):
        node.set("this", right)
        node.set("expression", left)
    elif type(node) in _MIRRORED and _constant(left) and not _constant(right):
        return _MIRRORED[type(node)](this=right, expression=left)
    return node


def _sorted_chain(node: exp.Connector) -> exp.Expr:
    kind = type(node)
    parts: list[exp.Expr] = []
    for side in (node.left, node.right):
        parts.extend(side.flatten() if type(side) is kind else [side])
    if all(_total(part) for side in parts for part in side.walk()):
        parts = [part for _, part in sorted({_text(_parenthesized(part.copy())): part for part in parts}.items())]
    chain = parts[0].copy()
    for part in parts[1:]:
        chain = kind(this=chain, expression=part.copy())
    return chain


def _total(node: exp.Expr) -> bool:
    """Whether ``node`` has a value for every record, whatever is in it (no division, no cast, no overflow)."""
    return isinstance(node, _TOTAL) or (isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal))


def _sorted_list(node: exp.In) -> exp.Expr:
    items = list({_text(item): item for item in node.expressions}.values())
    if not all(_constant(item) for item in items):
        return node
    items.sort(key=_rank)
    if len(items) == 1:
        return exp.EQ(this=node.this, expression=items[0])
    node.set("expressions", items)
    return node


def _constant(node: exp.Expr) -> bool:
    return node.find(exp.Column) is None


def _rank(node: exp.Expr) -> tuple[bool, bool, float, str]:
    number = float(node.this) if isinstance(node, exp.Literal) and not node.is_string else 0.0
    return _constant(node), isinstance(node, exp.Literal), number, _text(_parenthesized(node.copy()))


def _parenthesized(tree: exp.Expr) -> exp.Expr:
    for node in list(tree.walk()):
        if not isinstance(node, (*_OPERATORS, exp.Bracket)):
            continue
        for name, value in list(node.args.items()):
            if isinstance(value, exp.Expr) and isinstance(value, _OPERATORS) and _needs_paren(node, value):
                node.set(name, exp.Paren(this=value))
    return tree


def _needs_paren(outer: exp.Expr, inner: exp.Expr) -> bool:
    if isinstance(inner, (exp.Paren, exp.Dot)):
        return False
    if isinstance(inner, exp.Neg) and isinstance(inner.this, exp.Literal):
        return isinstance(outer, exp.Neg)
    if isinstance(outer, exp.Escape):
        return not isinstance(inner, _PATTERNS)
    if isinstance(outer, exp.Connector):
        return isinstance(inner, exp.Connector) and type(inner) is not type(outer)
    if isinstance(outer, exp.Not):
        return isinstance(inner, (exp.Connector, exp.Not))
    return True
