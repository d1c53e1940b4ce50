"""The laws planners rely on: identity, associativity, commutativity, and an inverse where one is declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries.model import Scalar
from queries.types import Type
from synopses.algebra import Component, State
from synopses.components import Count, Greatest, Least, Moments, Rows, Total

N, X, S = (Scalar(name, type_, (name,)) for name, type_ in (("n", Type.BIGINT), ("x", Type.DOUBLE), ("s", Type.STRING)))
COMPONENTS = [Rows(), Count(N), Total(N), Total(X), Least(N), Greatest(N), Least(X), Greatest(X), Least(S), Greatest(S)]
COMPONENTS += [Moments(X)]
SIZE = 4


def states(component: Component) -> st.SearchStrategy[State]:
    """A state for SIZE groups, as records would have made it."""
    count = st.integers(0, 50)
    whole, real, text = st.integers(-(2**40), 2**40), st.integers(-(2**20), 2**20).map(lambda n: n / 8), st.text("ab")
    if isinstance(component, Moments):
        one = st.tuples(count, real, st.integers(0, 99).map(float)).map(lambda s: s if s[0] else (0, 0.0, 0.0))
        return _columns(one, [np.int64, np.float64, np.float64])
    if isinstance(component, Least | Greatest):
        value: st.SearchStrategy[Any] = {Type.BIGINT: whole, Type.DOUBLE: real, Type.STRING: text}[
            component.argument.type
        ]
        dtype = {Type.BIGINT: np.int64, Type.DOUBLE: np.float64, Type.STRING: object}[component.argument.type]
        return _columns(st.tuples(value, st.booleans()), [dtype, np.bool_])
    if isinstance(component, Total) and component.argument.type is Type.DOUBLE:
        return _columns(st.tuples(real), [np.float64])
    return _columns(st.tuples(whole if isinstance(component, Total) else count), [np.int64])


def _columns(one: st.SearchStrategy[tuple[Any, ...]], dtypes: Sequence[Any]) -> st.SearchStrategy[State]:
    groups = st.lists(one, min_size=SIZE, max_size=SIZE)
    return groups.map(
        lambda rows: tuple(
            np.array(column, dtype=dtype) for column, dtype in zip(zip(*rows, strict=True), dtypes, strict=True)
        )
    )


def combined(component: Component, *given_: State) -> State:
    into = component.identity(SIZE)
    for state in given_:
        into = component.absorb(into, np.arange(SIZE), state)
    return into


def plain(component: Component, state: State) -> list[tuple[Any, ...]]:
    """What a state says: where no value was seen, the value means nothing."""
    rows = list(zip(*(part.tolist() for part in state), strict=True))
    if isinstance(component, Least | Greatest):
        return [(value, seen) if seen else (None, False) for value, seen in rows]
    if isinstance(component, Moments):
        return [
            (count, pytest.approx(mean, abs=1e-6), pytest.approx(m2, rel=1e-9, abs=1e-6)) for count, mean, m2 in rows
        ]
    return rows


@pytest.mark.parametrize(
    "component", COMPONENTS, ids=lambda c: f"{type(c).__name__} of {getattr(c.argument, 'sql', '*')}"
)
@settings(max_examples=max(settings.default.max_examples // 3, 1))
@given(data=st.data())
def test_laws(component: Component, data: st.DataObject) -> None:
    a, b, c = (data.draw(states(component)) for _ in range(3))
    alone = plain(component, combined(component, a))
    assert plain(component, combined(component, component.identity(SIZE), a, component.identity(SIZE))) == alone
    left = combined(component, combined(component, a, b), c)
    assert plain(component, left) == plain(component, combined(component, a, combined(component, b, c)))
    assert plain(component, left) == plain(component, combined(component, c, b, a))
    if component.capabilities.duplicate_insensitive:
        assert plain(component, combined(component, a, b, a)) == plain(component, combined(component, a, b))
    if component.capabilities.subtractable:
        assert plain(component, component.subtract(combined(component, a, b), b)) == alone  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "component", COMPONENTS, ids=lambda c: f"{type(c).__name__} of {getattr(c.argument, 'sql', '*')}"
)
@settings(max_examples=max(settings.default.max_examples // 3, 1))
@given(data=st.data())
def test_repeated_codes_are_merges_one_after_another(component: Component, data: st.DataObject) -> None:
    a, b = data.draw(states(component)), data.draw(states(component))
    order = np.array(data.draw(st.permutations(range(2 * SIZE))))
    both = tuple(np.concatenate(pair)[order] for pair in zip(a, b, strict=True))
    at_once = component.absorb(component.identity(SIZE), np.r_[np.arange(SIZE), np.arange(SIZE)][order], both)
    assert plain(component, at_once) == plain(component, combined(component, a, b))
