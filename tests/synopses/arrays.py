"""Partials made of numpy arrays, for tests that need many."""

from __future__ import annotations

from typing import Any

import numpy as np

from queries.model import Scalar
from queries.types import Type
from synopses.carriers import Array
from synopses.components import Count, Greatest, Rows, Total
from synopses.merged import Merged, Partials
from synopses.synopsis import Synopsis

X = Scalar("x", Type.DOUBLE, ("x",))
N = Scalar("n", Type.BIGINT, ("n",))
SUM_X, SUM_N, MAX_N, ROWS = Total(X), Total(N), Greatest(N), Rows()
COUNT_N = Count(N)


def summed(codes: Any, values: Any) -> Partials:
    """One record per code, for the components (Rows, Total)."""
    codes = np.asarray(codes, dtype=np.int64)
    return Partials(codes, ((np.ones(len(codes), dtype=np.int64),), (np.asarray(values),)))


def largest(codes: Any, values: Any) -> Partials:
    """For the components (Rows, Greatest)."""
    codes = np.asarray(codes, dtype=np.int64)
    ones = np.ones(len(codes), dtype=np.int64)
    return Partials(codes, ((ones,), (np.asarray(values), ones.astype(bool))))


def read(synopsis: Synopsis, n: int, size: int, age: int = 0) -> Merged:
    ((_, merged),) = synopsis.probe([n], size, age)
    return merged


def sums(synopsis: Synopsis, n: int, size: int, age: int = 0) -> dict[int, Any]:
    """Code → value of the second component."""
    merged = read(synopsis, n, size, age)
    values: Array = merged.states[1][0]
    return dict(zip(merged.codes.tolist(), values.tolist(), strict=True))
