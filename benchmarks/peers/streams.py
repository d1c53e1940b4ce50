"""What the streaming peers have in common: a sample of the yardstick's queries that all of them can express."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from random import Random
from statistics import mean
from typing import Any, Protocol

from benchmarks.yardstick import GROUPINGS, Question, questions

ByEnd = dict[int, list[tuple[Any, ...]]]
"""The answers of one query, by the interval its window ends with."""


class StreamingPeer(Protocol):
    name: str

    def prepare(self, asked: Sequence[Question]) -> None:
        """What is not counted."""

    def run(self, asked: Sequence[Question]) -> list[ByEnd]:
        """One sliding-window query each over all records, from the first to the last; at the same time, if it can."""


def overlap(question: Question) -> float:
    """The windows that a record is in."""
    return question.window / question.slide


def sampled() -> list[Question]:
    """One query of each grouping, in a seeded order: of those whose window is a multiple of its slide, as Flink's HOP
    wants it, the one whose records are in about as many windows as is usual for the grouping."""
    asked = questions()
    chosen = []
    for keys in GROUPINGS:
        mine = [question for question in asked if question.keys == keys]
        usual = mean(overlap(question) for question in mine)
        whole = [question for question in mine if question.window % question.slide == 0]
        chosen.append(min(whole, key=lambda question: abs(log(overlap(question) / usual))))
    return Random(8).sample(chosen, len(chosen))


def extrapolated(seconds: float, ran: Sequence[Question]) -> float:
    """Seconds for all of the yardstick's queries, from those that ran: in proportion to their number or to the windows
    that records are put in, whichever is kinder to the peer."""
    asked = questions()
    by_number = len(asked) / len(ran)
    by_windows = sum(map(overlap, asked)) / sum(map(overlap, ran))
    return seconds * min(by_number, by_windows)
