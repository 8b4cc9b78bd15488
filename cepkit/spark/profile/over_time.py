"""Counts of a Spark stream's event types in buckets of time, in one job."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from cepkit.spark.cells.sending import types_of
from cepkit.spark.profile.source import Source
from cepkit.statistics.over_time import Buckets, OverTime
from cepkit.statistics.stream_counts import StreamCounts
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.texts import type_codes
from cepkit.stream.reading.times import microseconds

_COUNTED = "type int, bucket int, events long"


def over_time(source: Source, counts: StreamCounts) -> OverTime | None:
    """Return the counts of a stream whose events and ends are known; None for an empty one."""
    if counts.first is None or counts.last is None:
        return None
    buckets = Buckets.of(counts.first, counts.last, counts.events)
    needed_types = types_of(source.query)
    names = sorted(name for name in counts.by_type if needed_types is None or name in needed_types)
    schema = source.schema
    places = {name: place for place, name in enumerate(names)}

    def counting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = np.zeros((len(names), buckets.number), dtype=np.int64)
        for batch in batches:
            ts = microseconds(
                batch.column(0), schema.time, unit=schema.unit, timezone=schema.timezone
            )
            codes, texts = type_codes(batch.column(1), schema.type)
            # One more place at the end, which is where -1 looks.
            known = np.array([*(places.get(text, -1) for text in texts), -1])
            types = np.where(ts == MISSING_INTEGER, -1, known[codes])
            total += buckets.counts(ts, types, len(names))
        which, when = np.nonzero(total)
        yield pa.RecordBatch.from_arrays(
            [pa.array(which, pa.int32()), pa.array(when, pa.int32()), pa.array(total[which, when])],
            names=["type", "bucket", "events"],
        )

    rows = source.rows.where(source.is_event & source.may_have(needed_types))
    rows = rows.select(source.place(schema.time), source.place(schema.type))
    totals = rows.mapInArrow(counting, _COUNTED).groupBy("type", "bucket").agg(F.sum("events"))
    by_bucket = np.zeros((len(names), buckets.number), dtype=np.int64)
    for which, when, number in totals.collect():
        by_bucket[which, when] = number
    return buckets.over_time(source.query, dict(zip(names, by_bucket, strict=True)))
