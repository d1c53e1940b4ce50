"""Domains as text: Spark SQL that is true exactly there, and the short form a person reads."""

from __future__ import annotations

import math
from collections.abc import Callable

from queries.types import Type
from sharing.predicates.constants import DISCRETE, Key, literal, readable
from sharing.predicates.domains import HIGH, LOW, Cut, Domain

Render = Callable[[Key, Type], str]


def quoted(attribute: str) -> str:
    """The attribute as an identifier of Spark SQL."""
    return "`" + attribute.replace("`", "``") + "`"


def domain_sql(attribute: str, domain: Domain) -> str:
    """A Spark SQL predicate that is true for exactly the records whose attribute lies in the domain."""
    return _text(quoted(attribute), domain, literal, chained=False)


def domain_text(attribute: str, domain: Domain) -> str:
    """The domain as a person would write it: ``5 <= p < 10``."""
    return _text(attribute, domain, readable, chained=True)


def _text(name: str, domain: Domain, render: Render, *, chained: bool) -> str:
    if domain.full:
        return "TRUE"
    if domain.empty:
        return "FALSE"
    if domain == Domain.not_null(domain.type):
        return f"{name} IS NOT NULL"
    parts = [f"{name} IS NULL"] if domain.has_null else []
    values = domain - Domain.null(domain.type)
    holes = values.complement_non_null()
    excluded = [_point(domain.type, *piece) for piece in holes.pieces()]
    if not values.empty and holes.empty:
        parts.append(f"{name} IS NOT NULL")
    elif excluded and domain.type is not Type.BOOLEAN and all(key is not None for key in excluded):
        parts.append(_membership(name, [key for key in excluded if key is not None], values.type, render, negated=True))
    else:
        parts += _pieces(name, values, render, chained=chained)
    return parts[0] if len(parts) == 1 else " OR ".join(parts)


def _pieces(name: str, values: Domain, render: Render, *, chained: bool) -> list[str]:
    keys, ranges = [], []
    for low, high in values.pieces():
        key = _point(values.type, low, high)
        if key is not None:
            keys.append(key)
        else:
            ranges.append(_range(name, values.type, low, high, render, chained=chained))
    return ([_membership(name, keys, values.type, render, negated=False)] if keys else []) + ranges


def _point(type_: Type, low: Cut, high: Cut) -> Key | None:
    """The one key between two cuts, if there is just one that a literal can name."""
    least, greatest = DISCRETE.get(type_, (None, None))
    if type_ in DISCRETE:
        first = low[1] if len(low) == 3 else least
        after = high[1] if len(high) == 3 else (None if greatest is None else greatest + 1)
        single = low != LOW or least is not None
        return first if single and first is not None and after == first + 1 else None
    if low == LOW and len(high) == 3 and high[2] == 1 and high[1] in (-math.inf, ""):
        return high[1]  # type: ignore[no-any-return]
    if len(low) == 3 and len(high) == 3 and low[1] == high[1]:
        return low[1]  # type: ignore[no-any-return]
    return None


def _membership(name: str, keys: list[Key], type_: Type, render: Render, *, negated: bool) -> str:
    if len(keys) == 1:
        return f"{name} {'<>' if negated else '='} {render(keys[0], type_)}"
    return f"{name} {'NOT IN' if negated else 'IN'} ({', '.join(render(key, type_) for key in keys)})"


def _range(name: str, type_: Type, low: Cut, high: Cut, render: Render, *, chained: bool) -> str:
    if low == (0, math.inf, 1):
        return f"ISNAN({name})"
    # Upper ends of whole numbers read better as they were most likely written: p < 10.
    lower = None if low == LOW else ("<" if low[2] else "<=", ">" if low[2] else ">=", render(low[1], type_))
    upper = None if high == HIGH else ("<=" if high[2] else "<", render(high[1], type_))
    if lower is None:
        assert upper is not None
        return f"{name} {upper[0]} {upper[1]}"
    if upper is None:
        return f"{name} {lower[1]} {lower[2]}"
    if chained:
        return f"{lower[2]} {lower[0]} {name} {upper[0]} {upper[1]}"
    return f"({name} {lower[1]} {lower[2]} AND {name} {upper[0]} {upper[1]})"
