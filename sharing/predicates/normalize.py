"""WHERE text → ``Predicate``.

A record passes a WHERE only where it is true, so negations are first driven down to the comparisons (De Morgan
holds in SQL's three-valued logic); from there on each part is just the set of records for which it is true, and
AND and OR are intersection and union.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce

import sqlglot
from sqlglot import exp

from queries.types import Type
from sharing.predicates.atoms import FALSE, Clause, Predicate, clause_of
from sharing.predicates.domains import Domain
from sharing.predicates.leaves import leaf

Conjunction = frozenset[Clause]
_TRUE: Conjunction = frozenset()
_FALSE: Conjunction = frozenset({FALSE})

_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}


def normalize(where: str | None, types: dict[str, Type]) -> Predicate:
    """The normal form of a WHERE in Spark SQL (None: all records) over columns of these types."""
    if where is None:
        return Predicate()
    return _normalize(where, tuple(sorted(types.items(), key=lambda item: item[0])))


@lru_cache(maxsize=16_384)
def _normalize(where: str, types: tuple[tuple[str, Type], ...]) -> Predicate:
    return Predicate(_true_of(sqlglot.parse_one(where, read="spark"), dict(types), negated=False))


def _true_of(node: exp.Expr, types: dict[str, Type], *, negated: bool) -> Conjunction:
    """The records for which ``node`` (or NOT ``node``) is true."""
    if isinstance(node, exp.Paren):
        return _true_of(node.this, types, negated=negated)
    if isinstance(node, exp.Not):
        return _true_of(node.this, types, negated=not negated)
    if isinstance(node, (exp.And, exp.Or)):
        parts = [_true_of(part, types, negated=negated) for part in node.flatten()]
        return conjoin(parts) if isinstance(node, exp.And) is not negated else disjoin(parts)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        bounds = [
            _true_of(exp.GTE(this=node.this, expression=node.args["low"]), types, negated=negated),
            _true_of(exp.LTE(this=node.this, expression=node.args["high"]), types, negated=negated),
        ]
        return disjoin(bounds) if negated else conjoin(bounds)
    if isinstance(node, exp.Boolean):
        return _TRUE if bool(node.this) is not negated else _FALSE
    if isinstance(node, exp.Null):
        return _FALSE
    term = leaf(node, types, negated=negated)
    clause = clause_of((), [_opaque_text(node, negated=negated)]) if term is None else clause_of([term])
    return _TRUE if clause is None else frozenset({clause})


def _opaque_text(node: exp.Expr, *, negated: bool) -> str:
    if not negated:
        return node.sql("spark")
    opposite = _NEGATED.get(type(node))
    if opposite is not None:
        return opposite(this=node.this.copy(), expression=node.expression.copy()).sql("spark")
    return f"NOT ({node.sql('spark')})"


def conjoin(parts: Iterable[Conjunction]) -> Conjunction:
    """The records that satisfy all parts, with what is said of one attribute alone worked into everything else."""
    pending = {clause for part in parts for clause in part}
    while True:
        alone: dict[str, Domain] = {}
        for clause in pending:
            if clause.single is not None:
                attribute, domain = clause.single
                alone[attribute] = alone[attribute] & domain if attribute in alone else domain
        if FALSE in pending or any(domain.empty for domain in alone.values()):
            return _FALSE
        reduced: set[Clause] = {Clause((term,)) for term in alone.items()}
        for clause in pending:
            if clause.single is None:
                narrowed = _within(clause, alone)
                if narrowed is not None:
                    reduced.add(narrowed)
        if reduced == pending:
            return frozenset(_without_implied(reduced))
        pending = reduced


def _within(clause: Clause, alone: dict[str, Domain]) -> Clause | None:
    """The clause given what holds of single attributes anyway; None if it follows from that."""
    if any(attribute in alone and alone[attribute].issubset(domain) for attribute, domain in clause.terms):
        return None
    terms = [(name, domain & alone[name] if name in alone else domain) for name, domain in clause.terms]
    return clause_of(terms, clause.opaque)


def _without_implied(clauses: set[Clause]) -> set[Clause]:
    several = [clause for clause in clauses if clause.single is None]
    implied = {weak for weak in several for strong in clauses if strong != weak and strong.issubset(weak)}
    return clauses - implied


def disjoin(parts: Iterable[Conjunction]) -> Conjunction:
    """The records that satisfy some part. Common conjuncts are factored out; a conjunction left over is opaque."""
    distinct = [part for part in dict.fromkeys(parts) if part != _FALSE]
    if not distinct:
        return _FALSE
    common = reduce(frozenset.__and__, distinct)
    rests = [part - common for part in distinct]
    if any(not rest for rest in rests):
        return common
    plain = [next(iter(rest)) for rest in rests if len(rest) == 1]
    merged = clause_of(
        (term for clause in plain for term in clause.terms), (text for clause in plain for text in clause.opaque)
    )
    if merged is None:
        return common
    compound = [rest for rest in rests if len(rest) > 1 and not any(clause.issubset(merged) for clause in rest)]
    kept = [rest for rest in compound if not any(_implies(rest, other) for other in compound if other != rest)]
    clause = clause_of(merged.terms, [*merged.opaque, *(str(Predicate(rest).to_sql()) for rest in kept)])
    return common if clause is None else conjoin([common, frozenset({clause})])


def _implies(strong: Conjunction, weak: Conjunction) -> bool:
    return all(any(clause.issubset(implied) for clause in strong) for implied in weak)
