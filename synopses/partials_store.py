"""Durable partial aggregates of one stream: one Arrow file per micro-batch, keyed by the batch's number.

A file is written whole (temporary file, fsync, rename) before its batch counts as done, so a batch is either there
with everything it brought or not there at all. Its header says what was decided about it (which records were late,
how far event time has come), so that whoever loads it after a crash decides nothing again.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa

from queries.errors import RunError
from queries.model import Microseconds
from synopses.preaggregate import INTERVAL, Preaggregation, key_name, part_name
from synopses.resident_files import ResidentFile

FORMAT = 1
_SUFFIX = ".arrow"
_REJECTS = "rejects"
_HEADER = b"hemiola.batch"
_SCHEMA = pa.schema([("need", pa.string()), ("payload", pa.binary())])


@dataclass(frozen=True)
class Totals:
    """Records of a stream since its beginning: used, too late, malformed or without event time."""

    records: int = 0
    late: int = 0
    malformed: int = 0

    @property
    def rejected(self) -> int:
        return self.late + self.malformed


@dataclass(frozen=True)
class BatchHeader:
    """What is known of a batch without reading its partials.

    ``closed_before``: records of older intervals were late when the batch was read. ``watermark`` holds after the
    batch; ``newest`` is the newest event time so far; both, like ``seen_from``, are times in microseconds, None
    before the first record. ``first`` and ``last`` are the oldest and newest interval in the batch, ``raw`` the
    folder with its records, ``needs`` what its partials cover (``describe_need``), ``files`` those of its partials that
    are resident in Spark, each with its place among ``needs``: what is not named in a header does not exist.
    """

    batch: int
    totals: Totals = Totals()
    records: int = 0
    rejected: int = 0
    closed_before: int | None = None
    watermark: Microseconds | None = None
    newest: Microseconds | None = None
    seen_from: Microseconds | None = None
    first: int | None = None
    last: int | None = None
    raw: str | None = None
    needs: tuple[str, ...] = ()
    files: tuple[tuple[int, ResidentFile], ...] = ()


@dataclass(frozen=True)
class StoredBatch:
    header: BatchHeader
    partials: Sequence[tuple[Preaggregation, pa.Table]] = ()
    rejects: Sequence[pa.Table] = field(default=())
    files: Sequence[tuple[Preaggregation, ResidentFile]] = ()


class PartialsStore:
    """The batches of one stream in a folder. Several threads may read; one writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.glob("*.tmp"):
            leftover.unlink()
        self._headers = {header.batch: header for header in map(_read_header, folder.glob(f"*{_SUFFIX}"))}

    def headers(self) -> list[BatchHeader]:
        """All batches, in order."""
        return [header for _, header in sorted(self._headers.copy().items())]

    def newest(self) -> BatchHeader | None:
        headers = self._headers.copy()
        return headers[max(headers)] if headers else None

    def __contains__(self, batch: int) -> bool:
        return batch in self._headers

    def write(self, stored: StoredBatch) -> None:
        """Makes the batch durable; one that is there already is replaced."""
        needs = [describe_need(need) for need, _ in stored.partials]
        names = needs + [_REJECTS] * len(stored.rejects)
        payloads = [_encoded(table) for table in (*(table for _, table in stored.partials), *stored.rejects)]
        schema = _SCHEMA.with_metadata({_HEADER: _header_json(stored.header).encode()})
        content = pa.table({"need": names, "payload": pa.array(payloads, pa.binary())}, schema=schema)
        path = self._path(stored.header.batch)
        write_atomically(path, _ipc_file(content))
        self._headers[stored.header.batch] = stored.header

    def read(self, batch: int, needs: Iterable[Preaggregation]) -> dict[Preaggregation, list[pa.Table]]:
        """The partials of those ``needs`` that the batch covers."""
        wanted = {need: _Wanted(need) for need in needs}
        found: dict[Preaggregation, list[pa.Table]] = {
            need: [] for need in wanted if any(wanted[need].columns(text) for text in self._headers[batch].needs)
        }
        content = _read_table(self._path(batch))
        names = content["need"].to_pylist()
        for need in found:
            covering = next(text for text in self._headers[batch].needs if wanted[need].columns(text))
            columns = wanted[need].columns(covering)
            assert columns is not None
            for row, name in enumerate(names):
                if name == covering:
                    table = _decoded(content["payload"][row].as_buffer())
                    found[need].append(table.select(list(columns.values())).rename_columns(list(columns)))
        return found

    def files(self, batch: int, need: Preaggregation) -> list[ResidentFile] | None:
        """The files of a pre-aggregation that is resident in Spark; None if the batch was read without it."""
        header, text = self._headers[batch], describe_need(need)
        if text not in header.needs:
            return None
        return [file for place, file in header.files if header.needs[place] == text]

    def rejects(self, batch: int) -> list[pa.Table]:
        content = _read_table(self._path(batch))
        rows = zip(content["need"].to_pylist(), content["payload"], strict=True)
        return [_decoded(payload.as_buffer()) for name, payload in rows if name == _REJECTS]

    def covers(self, batch: int, need: Preaggregation) -> bool:
        wanted = _Wanted(need)
        return any(wanted.columns(text) is not None for text in self._headers[batch].needs)

    def remove(self, batch: int) -> None:
        self._headers.pop(batch, None)
        self._path(batch).unlink(missing_ok=True)

    @property
    def nbytes(self) -> int:
        return sum(entry.stat().st_size for entry in os.scandir(self.folder) if entry.is_file())

    def _path(self, batch: int) -> Path:
        return self.folder / f"{batch:012d}{_SUFFIX}"


def batches_to_remove(headers: Sequence[BatchHeader], oldest_needed: int) -> Iterator[BatchHeader]:
    """Batches whose every interval is older than ``oldest_needed``; never the newest, which Spark may replay and
    whose header carries the stream's totals."""
    for header in headers[:-1]:
        if header.last is None or header.last < oldest_needed:
            yield header


class _Wanted:
    """Finds the columns of a stored pre-aggregation that make up a wanted one: the same records and keys, and at
    least its components."""

    def __init__(self, need: Preaggregation) -> None:
        self._need = need
        self._input = json.loads(describe_need(need))

    def columns(self, stored: str) -> dict[str, str] | None:
        """Wanted column name → stored column name; None if it does not cover."""
        there = json.loads(stored)
        if any(there.get(what) != self._input.get(what) for what in ("where", "keys", "resident")):
            return None
        columns = {INTERVAL: INTERVAL} | {key_name(i): key_name(i) for i in range(len(self._need.keys))}
        for number, (component, text) in enumerate(zip(self._need.components, self._input["components"], strict=True)):
            if text not in there["components"]:
                return None
            place = there["components"].index(text)
            columns |= {part_name(number, part): part_name(place, part) for part in range(component.parts)}
        return columns


def describe_need(need: Preaggregation) -> str:
    """A pre-aggregation as canonical JSON: equal texts are equal needs, in any process."""
    return json.dumps(
        {
            "where": _describe(need.where),
            "keys": [_describe(key) for key in need.keys],
            "components": [_describe(component) for component in need.components],
            **({"resident": True} if need.resident else {}),
        },
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _describe(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_describe(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = {field.name: _describe(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"is": type(value).__name__, **fields}
    return value


def _header_json(header: BatchHeader) -> str:
    return json.dumps({"format": FORMAT, **dataclasses.asdict(header)})


def _read_header(path: Path) -> BatchHeader:
    try:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
            fields = json.loads((reader.schema.metadata or {})[_HEADER])
    except (pa.ArrowInvalid, KeyError, ValueError) as error:
        raise RunError(f"{path} is not a file of partial aggregates", hint="give state: another folder") from error
    if fields.pop("format") != FORMAT:
        raise RunError(f"{path} was written by another version of Hemiola", hint="give state: another folder")
    fields["totals"] = Totals(**fields["totals"])
    fields["needs"] = tuple(fields["needs"])
    fields["files"] = tuple((place, ResidentFile(**file)) for place, file in fields.get("files", ()))
    return BatchHeader(**fields)


def _read_table(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def _ipc_file(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _encoded(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _decoded(payload: pa.Buffer) -> pa.Table:
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()


def write_atomically(path: Path, content: bytes) -> None:
    """All of it or nothing, also when the power fails: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
