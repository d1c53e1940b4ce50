"""History for synopses that have none: from durable partials where they cover it, from retained records elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from queries.model import Stream
from spark_jobs.preaggregation import preaggregate_records
from spark_jobs.raw_records import read_retained
from spark_jobs.resident_partials import ResidentTarget
from synopses.partials_store import BatchHeader, PartialsStore
from synopses.preaggregate import INTERVAL, Preaggregation
from synopses.resident_files import ResidentFile, write_intervals


@dataclass
class Gathered:
    """``partials`` of the needs asked for, of batches up to ``through``. ``uncovered``: by need, the batches whose
    partials do not have it. ``known_from``: the first interval from which on nothing is missing, where something is.
    What is resident in Spark is in ``files``; where the driver had it before it is in ``partials``, to be written."""

    through: int
    partials: dict[Preaggregation, list[pa.Table]]
    files: dict[Preaggregation, list[ResidentFile]] = field(default_factory=dict)
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
        in_driver = {need: replace(need, resident=False) for need in needs}
        found = store.read(header.batch, in_driver.values())
        for need in needs:
            files = store.files(header.batch, need) if need.resident else None
            if files is not None:
                gathered.files.setdefault(need, []).extend(file for file in files if file.last > oldest)
            elif in_driver[need] in found:
                gathered.partials[need] += [_from(table, oldest) for table in found[in_driver[need]]]
            else:
                gathered.uncovered.setdefault(need, []).append(header)
    return gathered


def write_resident(gathered: Gathered, target: ResidentTarget) -> None:
    """Partials of needs that are resident in Spark now and were in the driver's hands, as files."""
    for need in [need for need in gathered.partials if need.resident]:
        tables = [table for table in gathered.partials.pop(need) if table.num_rows]
        gathered.files.setdefault(need, []).extend(write_intervals(target.folder(need), target.name, need, tables))


def backfill(
    spark: SparkSession, stream: Stream, raw: Path, gathered: Gathered, oldest: int, target: ResidentTarget
) -> None:
    """Adds what is uncovered, one Spark job over the retained records of each set of batches; what is not retained
    any more moves ``known_from``. ``target``: where the partials go that are resident in Spark."""
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
        job = replace(target, name=f"{target.name}-{batches[0]}")
        done = preaggregate_records(frame, stream, needs, resident=job)
        for need, table in done.partials:
            gathered.partials[need].append(_from(table, oldest))
        for need, file in done.files:
            gathered.files.setdefault(need, []).append(file)
    gathered.uncovered.clear()


def _from(table: pa.Table, oldest: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[INTERVAL], oldest))
