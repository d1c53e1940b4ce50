"""Instants as users write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from queries.model import Microseconds


def parse_instant(text: str) -> Microseconds | None:
    """An ISO-8601 time in microseconds since the epoch, UTC unless it has a zone; None if it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
