"""The options of the ``synthetic`` source: seeded packets with a burst in them. Checked before anything starts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

from queries.model import Microseconds
from queries.sql_errors import did_you_mean

_SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOSTS = 254
_MOST = {"sources": _HOSTS**3, "destinations": _HOSTS**2, "ports": 16_384, "protocols": 100}


class OptionError(ValueError):
    """A wrong option: its name, what is wrong, and what would be right."""

    def __init__(self, option: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.option, self.message, self.hint = option, message, hint


@dataclass(frozen=True)
class SyntheticOptions:
    """``start`` is in microseconds, lengths of time in seconds, ``rate`` in records per second.

    From second ``burst_at``, for ``burst_seconds``, the stream carries ``burst_factor`` times its usual rate; all
    that is more comes from one source and goes to one destination.
    """

    seed: int = 1
    start: Microseconds = 1_767_225_600 * _SECOND
    seconds: int = 600
    rate: int = 1_000
    sources: int = 1_000
    destinations: int = 1_000
    ports: int = 100
    protocols: int = 3
    skew: float = 3.0
    burst_at: int = 0
    burst_seconds: int = 0
    burst_factor: float = 5.0

    @property
    def burst_rate(self) -> int:
        """Records per second that a burst adds."""
        return round(self.rate * (self.burst_factor - 1)) if self.burst_seconds else 0

    @property
    def until(self) -> Microseconds:
        """No record is at or after this time."""
        return self.start + self.seconds * _SECOND


def synthetic_options(given: tuple[tuple[str, str], ...]) -> SyntheticOptions:
    """The options as the config gives them, or ``OptionError``."""
    defaults = SyntheticOptions()
    kinds = {field.name: type(getattr(defaults, field.name)) for field in fields(SyntheticOptions)}
    values: dict[str, int | float] = {}
    for name, text in given:
        if name not in kinds:
            hint = did_you_mean(name, kinds) or f"the options are {', '.join(kinds)}"
            raise OptionError(name, f"the synthetic source has no option {name}", hint)
        try:
            values[name] = _instant(text) if name == "start" else kinds[name](text)
        except ValueError as error:
            what = "a time like 2026-01-01T00:00:00Z" if name == "start" else "a number"
            raise OptionError(name, f"option {name} is {text!r}, not {what}") from error
    options = SyntheticOptions(**values)  # type: ignore[arg-type]
    _check_range(options)
    return options


def _instant(text: str) -> Microseconds:
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _check_range(options: SyntheticOptions) -> None:
    for name in ("seconds", "rate", *_MOST):
        if getattr(options, name) < 1:
            raise OptionError(name, f"option {name} must be at least 1")
    for name, most in _MOST.items():
        if getattr(options, name) > most:
            raise OptionError(name, f"option {name} must be at most {most}")
    if options.rate > _SECOND or options.burst_rate > _SECOND:
        raise OptionError("rate", f"option rate, also in a burst, must be at most {_SECOND} records per second")
    if not 1 <= options.skew <= 100:
        raise OptionError("skew", "option skew must be from 1 (uniform) to 100")
    if options.burst_factor < 1:
        raise OptionError("burst_factor", "option burst_factor must be at least 1")
    if options.burst_at < 0 or options.burst_seconds < 0 or options.burst_at + options.burst_seconds > options.seconds:
        raise OptionError("burst_at", "options burst_at and burst_seconds must lie within the stream's seconds")
