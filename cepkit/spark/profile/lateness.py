"""How far the events of a Spark stream come out of order.

Each of Spark's partitions is counted by itself, in one pass. Only where one begins before the
latest time in those that came before it there is a second pass, which knows that time. Without an
arrival column events came in the order of the rows; rows that a shuffle brings have no order that
means anything, and are not measured. With an arrival column they are sorted by it, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.spark.passes.numbering import fixed
from cepkit.spark.profile.source import Source
from cepkit.spark.session.access import access_to
from cepkit.spark.session.tasks import task_number
from cepkit.statistics.lateness import LateCounts, Lateness
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema

_COUNTED = (
    "partition int, earliest long, latest long, events long, longest long, "
    "places array<int>, numbers array<long>"
)
_SORTED_EVENTS = 500_000
_MOST_PARTITIONS = 1000


def lateness(source: Source, events: int) -> Lateness | None:
    """Return how far events come out of order; None where it is not known when they came."""
    schema, time = source.schema, source.place(source.schema.time)
    times = source.rows.where(source.is_event)
    if schema.arrival is not None:
        times = _sorted(source, times, events)
    elif access_to(source.stream.source).is_shuffled(source.stream.source):
        return None
    times = times.select(F.col(time))
    parts = _counted(times, schema, {})
    before = _latest_before(parts)
    if any(part.earliest < before.get(part.number, part.earliest) for part in parts):
        parts = _counted(times, schema, before)
    total = LateCounts()
    for part in parts:
        total.add(part.counts)
    return total.result()


@dataclass(frozen=True, slots=True)
class _Part:
    """The events of one of Spark's partitions, if it has any."""

    number: int
    earliest: int
    latest: int
    counts: LateCounts


def _latest_before(parts: Sequence[_Part]) -> dict[int, int]:
    """Return for each partition but the first the latest time in those before it."""
    before: dict[int, int] = {}
    reached: int | None = None
    for part in parts:
        if reached is not None:
            before[part.number] = reached
        reached = part.latest if reached is None else max(reached, part.latest)
    return before


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


def _counted(times: DataFrame, schema: Schema, before: Mapping[int, int]) -> list[_Part]:
    """Count each partition, given the latest time before it where that matters."""

    def counting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = task_number()
        counts, latest, ends = LateCounts(), before.get(number), list[int]()
        for batch in batches:
            ts = _times(schema, batch)
            latest = counts.count(ts, latest)
            ends += [int(ts.min()), int(ts.max())] if len(ts) else []
        if not ends:
            return
        places = np.flatnonzero(counts.bins)
        values: list[Any] = [number, min(ends), max(ends), counts.events, counts.longest]
        values += [places, counts.bins[places]]
        kinds = [pa.int32(), *([pa.int64()] * 4), pa.list_(pa.int32()), pa.list_(pa.int64())]
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)],
            names=[part.split()[0] for part in _COUNTED.split(", ")],
        )

    parts = []
    for number, earliest, latest, events, longest, places, numbers in times.mapInArrow(
        counting, _COUNTED
    ).collect():
        counts = LateCounts(events, longest)
        counts.bins[places] = numbers
        parts.append(_Part(number, earliest, latest, counts))
    return sorted(parts, key=lambda part: part.number)
