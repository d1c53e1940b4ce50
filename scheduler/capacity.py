"""How many more queries like these will fit? Copies of the registered ones, varied, until somebody is late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from scheduler.admission import added, late_queries, members_of_load, share
from scheduler.simulator import StreamLoad
from scheduler.tasks import Member

MOST = 5_000
"""Copies beyond which nobody needs to know."""


@dataclass(frozen=True)
class Room:
    """``more`` queries fit; with one step more those in ``late`` would be (empty if ``MOST`` fit as well).

    ``share`` of the processor is asked for when all of them are there.
    """

    queries: int
    more: int
    share: float
    late: tuple[str, ...]


def room(streams: Sequence[StreamLoad], seed: int = 0, most: int = MOST) -> Room:
    """Doubling, then halving the step; nothing fits if somebody is late already."""
    queries = sum(len(members_of_load(stream)) for stream in streams)
    if late := late_queries(streams):
        return Room(queries, 0, _share(streams), _worst(late))
    fit, over = 0, 0
    step = max(1, queries // 4)
    while not over and fit < most:
        tried = min(most, fit + step)
        if _overloaded(grown(streams, tried, seed)):
            over = tried
        else:
            fit, step = tried, 2 * step
    while over - fit > max(1, over // 200):
        middle = (fit + over) // 2
        if _overloaded(grown(streams, middle, seed)):
            over = middle
        else:
            fit = middle
    late = late_queries(grown(streams, over, seed)) if over else {}
    return Room(queries, fit, _share(grown(streams, fit, seed)), _worst(late))


def grown(streams: Sequence[StreamLoad], more: int, seed: int = 0) -> list[StreamLoad]:
    """The streams with ``more`` copies among them; those with fewer are among those with more."""
    known = [(stream.name, member) for stream in streams for member in members_of_load(stream)]
    chance = Random(seed)
    copies: dict[str, list[Member]] = {stream.name: [] for stream in streams}
    for number in range(more):
        name, member = chance.choice(known)
        alike = [other for of, other in known if of == name and other.group == member.group]
        copies[name].append(_varied(member, alike, number, chance))
    return [added(stream, copies[stream.name]) for stream in streams]


def _varied(member: Member, alike: Sequence[Member], number: int, chance: Random) -> Member:
    """A query on the same synopsis, window and slide somewhere between those of its kind."""
    windows, slides = [other.window for other in alike], [other.slide for other in alike]
    return replace(
        member,
        query=f"{member.query} (copy {number + 1})",
        window=chance.randint(min(windows), max(windows)),
        slide=chance.randint(min(slides), max(slides)),
        until=None,
        consistent=None,
        output_slide=None,
    )


def _overloaded(streams: Sequence[StreamLoad]) -> bool:
    """Whether somebody is late; nothing has to be simulated where more is asked for than there is."""
    return _share(streams) > 1 or bool(late_queries(streams))


def _share(streams: Sequence[StreamLoad]) -> float:
    return sum(share(stream) for stream in streams)


def _worst(late: dict[str, float]) -> tuple[str, ...]:
    return tuple(sorted(late, key=lambda query: -late[query]))
