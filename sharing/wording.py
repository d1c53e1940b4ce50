"""Synopses, components and expressions in the words of the query language."""

from __future__ import annotations

from queries.model import Scalar, Value
from sharing.predicates import Predicate
from synopses.algebra import Component
from synopses.components import Count, Greatest, Least, Moments, Rows, Total
from synopses.topk_lists import Listed

_LONGEST = 100
"""Characters of a condition that are shown; the rest is cut."""

_FUNCTIONS: dict[type, str] = {
    Count: "COUNT",
    Total: "SUM",
    Least: "MIN",
    Greatest: "MAX",
    Moments: "MOMENTS",
}


def scalar_text(value: Value | None) -> str:
    """An expression as the user would write it."""
    return value.sql.replace("`", "") if isinstance(value, Scalar) else str(value)


def component_text(component: Component) -> str:
    """``SUM(length)``, ``COUNT(*)``; sketches under the name of their aggregate."""
    if isinstance(component, Rows):
        return "COUNT(*)"
    if isinstance(component, Listed):
        return f"TOP_K_LISTS({scalar_text(component.argument)}, {component.k})"
    name = _FUNCTIONS.get(type(component))
    if name is None:
        name = "".join(f" {c.lower()}" if c.isupper() else c for c in type(component).__name__).strip()
        return f"{name} of {scalar_text(component.argument)}"
    return f"{name}({scalar_text(component.argument)})"


def grouping_text(predicate: Predicate, keys: tuple[Value, ...], cells: str | None = None) -> str:
    """``by src where protocol = 'TCP'``; ``cells`` names the attribute whose cells are the last key."""
    named = [scalar_text(key) for key in (keys if cells is None else keys[:-1])]
    if cells is not None:
        named.append(f"cells of {cells}")
    by = f"by {', '.join(named)}" if named else "in one group"
    return by if predicate.always else f"{by} where {cut_short(str(predicate))}"


def cut_short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
