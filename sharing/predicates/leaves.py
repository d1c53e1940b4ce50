"""One comparison of the WHERE, seen as the domain of an attribute in which it is true, or false."""

from __future__ import annotations

import math

from sqlglot import exp

from queries.types import Type
from sharing.predicates.constants import DISCRETE, NULL, Constant, Key, constant
from sharing.predicates.domains import Domain

Term = tuple[str, Domain]

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def leaf(node: exp.Expr, types: dict[str, Type], *, negated: bool) -> Term | None:
    """The attribute and the domain in which ``node`` (or NOT ``node``) is true; None if it is not of that form."""
    if type(node) in COMPARISONS:
        return _comparison(node, types, negated=negated)
    if isinstance(node, exp.In):
        return _in(node, types, negated=negated)
    if isinstance(node, exp.Column):
        attribute = column_of(node, types)
        if attribute is not None and types[attribute] is Type.BOOLEAN:
            return attribute, Domain.compare(Type.BOOLEAN, "=", 0 if negated else 1)
        return None
    if isinstance(node, (exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.IsNan, exp.Anonymous)):
        term = _two_valued(node, types)
        return (term[0], ~term[1]) if term is not None and negated else term
    return None


def column_of(node: exp.Expr, types: dict[str, Type]) -> str | None:
    """The column that ``node`` is, seen through parentheses and casts to a wider integer."""
    if isinstance(node, exp.Paren):
        return column_of(node.this, types)
    if isinstance(node, exp.Cast):
        attribute = column_of(node.this, types)
        widened = attribute is not None and _widening(types[attribute], node.to.this.name)
        return attribute if widened else None
    if not isinstance(node, exp.Column) or node.table:
        return None
    if node.name in types:
        return node.name
    return next((name for name in types if name.lower() == node.name.lower()), None)


def _widening(source: Type, target: str) -> bool:
    if source.value == target:
        return True
    if not source.integer or target not in ("SMALLINT", "INT", "BIGINT"):
        return False
    (_, inner), (_, outer) = DISCRETE[source], DISCRETE[Type(target)]
    return inner is not None and outer is not None and inner <= outer


def _sides(node: exp.Expr, types: dict[str, Type]) -> tuple[str, Constant, bool] | None:
    """Attribute, constant, and whether the constant stands on the left."""
    for column, other, flipped in ((node.this, node.expression, False), (node.expression, node.this, True)):
        attribute = column_of(column, types)
        if attribute is not None:
            key = constant(other, types[attribute])
            return None if key is None else (attribute, key, flipped)
    return None


def _comparison(node: exp.Expr, types: dict[str, Type], *, negated: bool) -> Term | None:
    sides = _sides(node, types)
    if sides is None:
        return None
    attribute, key, flipped = sides
    type_ = types[attribute]
    if key is NULL:
        return attribute, Domain.nothing(type_)
    op = COMPARISONS[type(node)]
    domain = Domain.compare(type_, _FLIPPED[op] if flipped else op, _key(key))
    return attribute, domain.complement_non_null() if negated else domain


def _key(value: Constant) -> Key:
    assert isinstance(value, Key)
    return value


def _in(node: exp.In, types: dict[str, Type], *, negated: bool) -> Term | None:
    attribute = column_of(node.this, types)
    if attribute is None or not node.expressions or node.args.get("query") is not None:
        return None
    type_ = types[attribute]
    constants = [constant(member, type_) for member in node.expressions]
    if any(member is None for member in constants):
        return None
    domain = Domain.points(type_, [member for member in constants if isinstance(member, Key)])
    if not negated:
        return attribute, domain
    # NOT IN a list with a NULL is never true: the unknown member might have been equal.
    unknown = any(member is NULL for member in constants)
    return attribute, Domain.nothing(type_) if unknown else domain.complement_non_null()


def _two_valued(node: exp.Expr, types: dict[str, Type]) -> Term | None:
    """Tests that are true or false of every record, NULL included."""
    if isinstance(node, exp.Anonymous):
        if node.name.upper() not in ("ISNULL", "ISNOTNULL") or len(node.expressions) != 1:
            return None
        attribute = column_of(node.expressions[0], types)
        if attribute is None:
            return None
        null = Domain.null(types[attribute])
        return attribute, null if node.name.upper() == "ISNULL" else ~null
    if isinstance(node, exp.IsNan):
        attribute = column_of(node.this, types)
        if attribute is None or types[attribute] not in (Type.FLOAT, Type.DOUBLE):
            return None
        return attribute, Domain.compare(types[attribute], "=", math.nan)
    sides = _sides(node, types)
    if sides is None:
        return None
    attribute, key, flipped = sides
    if isinstance(node, exp.Is) and (flipped or not isinstance(node.expression, (exp.Null, exp.Boolean))):
        return None
    type_ = types[attribute]
    domain = Domain.null(type_) if key is NULL else Domain.compare(type_, "=", _key(key))
    return attribute, ~domain if isinstance(node, exp.NullSafeNEQ) else domain
