"""History for synopses that have none: from durable partials where they cover it, from retained records elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from queries.model import Stream
from spark_jobs.preaggregation import preaggregate_records
from spark_jobs.raw_records import read_retained
from synopses.partials_store import BatchHeader, PartialsStore
from synopses.preaggregate import INTERVAL, Preaggregation


@dataclass
class Gathered:
    """``partials`` of the needs asked for, of batches up to ``through``. ``uncovered``: by need, the batches whose
    partials do not have it. ``known_from``: the first interval from which on nothing is missing, where something is."""

    through: int
    partials: dict[Preaggregation, list[pa.Table]]
    uncovered: dict[Preaggregation, list[BatchHeader]] = field(default_factory=dict)
    known_from: dict[Preaggregation, int] = field(default_factory=dict)


def gather_partials(
    store: PartialsStore, needs: Sequence[Preaggregation], oldest: int, through: int, after: int = -1
) -> Gathered:
    """What the durable partials hold of the intervals from ``oldest`` on, in batches in ``(after, through]``."""
    gathered = Gathered(through, {need: [] for need in needs})
    for header in store.headers():
        if not after < header.batch <= through or header.last is None or header.last < oldest:
            continue
        found = store.read(header.batch, needs)
        for need in needs:
            if need in found:
                gathered.partials[need] += [_from(table, oldest) for table in found[need]]
            else:
                gathered.uncovered.setdefault(need, []).append(header)
    return gathered


def backfill(spark: SparkSession, stream: Stream, raw: Path, gathered: Gathered, oldest: int) -> None:
    """Adds what is uncovered, one Spark job over the retained records of each set of batches; what is not retained
    any more moves ``known_from``."""
    together: dict[tuple[int, ...], list[Preaggregation]] = {}
    headers = {header.batch: header for missing in gathered.uncovered.values() for header in missing}
    for need, missing in gathered.uncovered.items():
        together.setdefault(tuple(header.batch for header in missing), []).append(need)
    for batches, needs in together.items():
        folders = []
        for batch in batches:
            header = headers[batch]
            if header.raw is None or header.last is None:
                continue
            if (raw / header.raw).is_dir():
                folders.append(raw / header.raw)
            else:
                for need in needs:
                    gathered.known_from[need] = max(gathered.known_from.get(need, 0), header.last + 1)
        frame = read_retained(spark, stream, folders)
        if frame is None:
            continue
        for need, table in preaggregate_records(frame, stream, needs).partials:
            gathered.partials[need].append(_from(table, oldest))
    gathered.uncovered.clear()


def _from(table: pa.Table, oldest: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[INTERVAL], oldest))
