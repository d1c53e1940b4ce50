"""What the engine needs of synopses that live outside the driver, whoever keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from scheduler.resident_probe import ANSWER, ROWS, SHELVED, Asked, JointProbe, Piece
from synopses.preaggregate import Preaggregation
from synopses.resident_files import ResidentFile

Told = tuple[int, str, bytes]
"""A message between tasks: for whom, what it is about, its content."""
Produce = Callable[[int], Iterable[Told]]
Consume = Callable[[Sequence[Told]], Iterable[Told]]


class ResidentSynopses(Protocol):
    @property
    def tasks(self) -> int:
        """How many can run at once."""
        ...

    def files(self, need: Preaggregation) -> Sequence[ResidentFile]:
        """All committed partials of a pre-aggregation."""
        ...

    def run(self, tasks: int, produce: Produce, consume: Sequence[Consume]) -> Sequence[Told]:
        """One job: numbered tasks, whose messages meet by their first field; then as often as there is something to
        consume them."""
        ...


class Found(NamedTuple):
    """An answer; or how many rows of it were left on its shelf."""

    table: pa.Table
    shelved: int | None = None


def probe_jointly(synopses: ResidentSynopses, needs: Sequence[Preaggregation], asked: Sequence[Asked]) -> list[Found]:
    """All of them in one job, in this order."""
    probe = JointProbe(needs, asked, {need: synopses.files(need) for need in needs}, synopses.tasks)
    work = _Work(probe)
    told = synopses.run(len(probe.tasks), work.produce, [work.consume] * probe.rounds)
    pieces = [_heard(message) for message in told]
    tables = {piece.of: piece.table for piece in pieces if piece.kind == ANSWER}
    shelved: dict[int, int] = {}
    for piece in pieces:
        if piece.kind == SHELVED:
            shelved[piece.of] = shelved.get(piece.of, 0) + sum(piece.table["rows"].to_pylist())
    return [
        Found(
            tables[number] if number in tables else probe.nothing(number),
            shelved.get(number, 0) if probe.shelves(number) else None,
        )
        for number in range(len(asked))
    ]


class _Work:
    """A probe's tasks, whose pieces travel as messages."""

    def __init__(self, probe: JointProbe) -> None:
        self._probe = probe

    def produce(self, task: int) -> Iterable[Told]:
        return (self._told(piece) for scan in self._probe.tasks[task] for piece in self._probe.scan(scan))

    def consume(self, told: Sequence[Told]) -> Iterable[Told]:
        return map(self._told, self._probe.combine(map(_heard, told)))

    def _told(self, piece: Piece) -> Told:
        target = piece.of
        if piece.kind not in (ROWS, ANSWER, SHELVED):
            target = len(self._probe.asked) + piece.of * self._probe.parts + piece.part
        about = json.dumps([piece.kind, piece.of, piece.need, piece.part])
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, piece.table.schema, options=options) as writer:
            writer.write_table(piece.table)
        return target, about, sink.getvalue().to_pybytes()


def _heard(told: Told) -> Piece:
    kind, of, need, part = json.loads(told[1])
    with pa.ipc.open_stream(told[2]) as reader:
        return Piece(kind, of, reader.read_all(), need, part)
