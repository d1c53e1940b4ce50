"""What a replay did, in numbers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field


@dataclass
class StreamReport:
    """One stream's share. Seconds: of Spark jobs, of probing and post-processing, of commits.

    ``known_records`` are in the source, ``records`` were read now. ``rescanned`` is about how many records the same
    refreshes would have read as queries of their own. ``resident_entries`` are in Spark, where ``moved`` queries went
    while it ran.
    """

    stream: str
    known_records: int = 0
    records: int = 0
    rejected: int = 0
    updates: int = 0
    refreshes: int = 0
    rows: int = 0
    synopsis_entries: int = 0
    synopsis_bytes: int = 0
    resident_entries: int = 0
    moved: int = 0
    rescanned: int = 0
    spark_seconds: float = 0.0
    engine_seconds: float = 0.0
    commit_seconds: float = 0.0


@dataclass
class ReplayReport:
    streams: list[StreamReport] = field(default_factory=list)

    @property
    def refreshes(self) -> int:
        return sum(stream.refreshes for stream in self.streams)

    @property
    def records(self) -> int:
        return sum(stream.records for stream in self.streams)

    def to_json(self) -> str:
        return json.dumps({"event": "done", **asdict(self)})
