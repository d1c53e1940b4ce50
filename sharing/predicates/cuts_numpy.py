"""Where values lie on a line of segments, for whole arrays at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from queries.types import Type
from sharing.predicates.constants import DISCRETE, Key
from sharing.predicates.domains import LOW, START
from sharing.predicates.segments import Segments


def segment_numbers(line: Segments, values: Iterable[Key | None] | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The segment of each value; values are keys (see ``constants``), None for NULL, NaN allowed among floats."""
    given = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    null = np.array([value is None for value in given]) if given.dtype == object else np.zeros(len(given), dtype=bool)
    inner = [cut for cut in line.cuts if len(cut) == 3]
    leading = sum(1 for cut in line.cuts if cut in (START, LOW))
    numbers = np.zeros(len(given), dtype=np.int64)
    present = given[~null]
    # A value lies after the cuts below keys up to it and after the cuts above keys less than it.
    below = _keys(line.type, [cut[1] for cut in inner if cut[2] == 0])
    above = _keys(line.type, [cut[1] for cut in inner if cut[2] == 1])
    present = present.astype(below.dtype)
    passed = np.searchsorted(below, present, side="right") + np.searchsorted(above, present, side="left")
    numbers[~null] = passed + leading - 1
    if line.type in (Type.FLOAT, Type.DOUBLE):
        nan = np.zeros(len(given), dtype=bool)
        nan[~null] = np.isnan(present)
        numbers[nan] = len(line) - 1
    return numbers


def _keys(type_: Type, keys: list[Any]) -> npt.NDArray[Any]:
    if type_ in DISCRETE:
        return np.array(keys, dtype=np.int64)
    if type_ in (Type.FLOAT, Type.DOUBLE):
        return np.array(keys, dtype=np.float64)
    array = np.empty(len(keys), dtype=object)
    array[:] = keys
    return array
