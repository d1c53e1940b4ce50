"""Lengths of time as people write them (``10 min``, ``250ms``, ``1 day``) to microseconds and back."""

from __future__ import annotations

import re
from decimal import Decimal

Microseconds = int

_UNITS: dict[str, int] = {
    name: size
    for size, names in (
        (1, "us µs usec usecs microsecond microseconds"),
        (1_000, "ms msec msecs millis millisecond milliseconds"),
        (1_000_000, "s sec secs second seconds"),
        (60_000_000, "m min mins minute minutes"),
        (3_600_000_000, "h hr hrs hour hours"),
        (86_400_000_000, "d day days"),
        (604_800_000_000, "w week weeks"),
    )
    for name in names.split()
}
_SHORT = ((86_400_000_000, "day"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"))
_SPELLING = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-zµ]+)\s*")
_LONGEST = 100 * 366 * 86_400_000_000

EXAMPLES = "250 ms, 5 s, 10 min, 2 h, 1 day"


class DurationError(ValueError):
    """The text is not a length of time that can be used; the message says why."""


def parse_duration(text: str) -> Microseconds:
    """``"10 min"`` → 600000000. Zero and negative lengths parse: whether they make sense is the caller's question."""
    spelling = _SPELLING.fullmatch(text)
    if spelling is None:
        raise DurationError(f"{text.strip()!r} is not a duration; write a number and a unit, as in {EXAMPLES}")
    number, unit = spelling.groups()
    size = _UNITS.get(unit.lower())
    if size is None:
        raise DurationError(f"{unit!r} is not a unit of time; use us, ms, s, min, h, day or week, as in {EXAMPLES}")
    length = Decimal(number) * size
    if length != length.to_integral_value():
        raise DurationError(f"{text.strip()!r} is finer than a microsecond")
    if abs(length) > _LONGEST:
        raise DurationError(f"{text.strip()!r} is longer than a hundred years")
    return int(length)


def format_duration(length: Microseconds) -> str:
    """The shortest exact spelling in one unit: 600000000 → ``"10 min"``. ``parse_duration`` reads it back."""
    for size, name in _SHORT:
        if length and length % size == 0:
            return f"{length // size} {name}"
    return f"{length} us" if length else "0 s"
