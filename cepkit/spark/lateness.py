"""How far the events of a Spark stream come out of order.

What is late in one of Spark's partitions depends on the latest time in those before it: a first
pass finds the latest of each, a second one counts. Without an arrival column events came in the
order of the rows; rows that a shuffle brings have no order that means anything, and are not
measured. With an arrival column they are sorted by it, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
from pyspark.sql import types as t

from cepkit.spark.numbering import fixed, is_shuffled
from cepkit.spark.source import Source
from cepkit.statistics.lateness import LateCounts, Lateness
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.schema import Schema
from cepkit.stream.times import microseconds

_LATEST = "partition int, latest long"
_COUNTED = "events long, longest long, places array<int>, numbers array<long>"
_SORTED_EVENTS = 500_000
_MOST_PARTITIONS = 1000


def lateness(source: Source, events: int) -> Lateness | None:
    """Return how far events come out of order; None where it is not known when they came.

    Args:
        source: The stream.
        events: How many events it has.
    """
    schema, time = source.schema, source.place(source.schema.time)
    times = source.rows.where(source.is_event)
    if schema.arrival is not None:
        times = _sorted(source, times, events)
    elif is_shuffled(source.frame):
        return None
    times = times.select(F.col(time))
    return _counted(times, schema, _latest(times, schema))


def _sorted(source: Source, rows: DataFrame, events: int) -> DataFrame:
    """Return the times in the order of arrival; the second pass finds what the first sorted."""
    assert source.schema.arrival is not None
    time = source.place(source.schema.time)
    came, kind = F.col(source.place(source.schema.arrival)), source.kind(source.schema.arrival)
    if isinstance(kind, t.FloatType | t.DoubleType):
        came = F.nanvl(came, F.lit(None))
    parts = max(2 * source.cores, min(math.ceil(events / _SORTED_EVENTS), _MOST_PARTITIONS))
    rows = rows.select(came.alias("came"), F.col(time)).where("came is not null")
    return fixed(rows.repartitionByRange(parts, "came").sortWithinPartitions("came", time))


def _times(schema: Schema, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    ts = microseconds(batch.column(0), schema.time, unit=schema.unit, timezone=schema.timezone)
    return np.asarray(ts[ts != MISSING_INTEGER])


def _latest(times: DataFrame, schema: Schema) -> dict[int, int]:
    def looking(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        found = [int(ts.max()) for ts in (_times(schema, b) for b in batches) if len(ts)]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([task.partitionId()], pa.int32()),
                pa.array([max(found, default=None)], pa.int64()),
            ],
            names=["partition", "latest"],
        )

    found = times.mapInArrow(looking, _LATEST).collect()
    return {row[0]: row[1] for row in found if row[1] is not None}


def _counted(times: DataFrame, schema: Schema, latest: Mapping[int, int]) -> Lateness:
    before: dict[int, int] = {}
    reached: int | None = None
    for partition in range(max(latest, default=-1) + 1):
        if reached is not None:
            before[partition] = reached
        here = latest.get(partition)
        if here is not None:
            reached = here if reached is None else max(reached, here)

    def counting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        counts, latest_time = LateCounts(), before.get(task.partitionId())
        for batch in batches:
            latest_time = counts.count(_times(schema, batch), latest_time)
        places = np.flatnonzero(counts.bins)
        values = [[counts.events], [counts.longest], [places], [counts.bins[places]]]
        kinds = [pa.int64(), pa.int64(), pa.list_(pa.int32()), pa.list_(pa.int64())]
        yield pa.RecordBatch.from_arrays(
            [pa.array(value, kind) for value, kind in zip(values, kinds, strict=True)],
            names=["events", "longest", "places", "numbers"],
        )

    total = LateCounts()
    for row in times.mapInArrow(counting, _COUNTED).collect():
        part = LateCounts(row[0], row[1])
        part.bins[row[2]] = row[3]
        total.add(part)
    return total.result()
