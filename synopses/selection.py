"""The values at given places of the sorted order, without sorting.

A sample says between which two values a place must lie, give or take; only the values between those two are then
looked at closely. That the place does lie between them is checked, so the answer is exact whatever the sample.
"""

from __future__ import annotations

import numpy as np

from synopses.carriers import Array

_SAMPLED = 4096
_SAMPLE_FROM = 4 * _SAMPLED
"""Fewer values are partitioned as they are."""
_DEVIATIONS = 4
"""How far to either side of its own place in the sample the place is looked for, in standard deviations."""


def values_at(values: Array, places: Array) -> Array:
    """``np.sort(values)[places]`` of integers or doubles (NaN last); ``places`` ascending, at least one value."""
    if len(values) < _SAMPLE_FROM or values.dtype.kind != "i":
        chosen: Array = np.partition(values, places)[places]
        return chosen
    sample = np.sort(values[:: len(values) // _SAMPLED])
    return np.array([_value_at(values, int(place), sample) for place in places], dtype=values.dtype)


def values_at_but_for(values: Array, absent: int, places: Array) -> Array:
    """``values_at`` of all values but ``absent`` zeros, which are not looked for but counted: without them values above
    zero come so much earlier in the sorted order, and those below zero stay where they are."""
    found = values_at(values, places + absent)
    if absent and found[0] <= 0:
        found = values_at(values, np.where(places < np.count_nonzero(values < 0), places, places + absent))
    return found


def _value_at(values: Array, place: int, sample: Array) -> np.int64:
    share = place / len(values)
    spread = _DEVIATIONS * (share * (1 - share) * len(sample)) ** 0.5 + 1
    low = sample[max(int(share * len(sample) - spread), 0)]
    high = sample[min(int(share * len(sample) + spread), len(sample) - 1)]
    between = values >= low
    below = len(values) - int(np.count_nonzero(between))
    between &= values <= high
    between = values.take(np.flatnonzero(between))
    inside = place - below
    if not 0 <= inside < len(between) or 2 * len(between) > len(values):
        between, inside = values, place
    found: np.int64 = np.partition(between, inside)[inside]
    return found
