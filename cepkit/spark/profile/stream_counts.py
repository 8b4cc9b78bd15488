"""Counts of the types of a Spark stream's events, and the ends of its time, by one action."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.spark.cells.sending import Integers
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.profile.one_action import in_one_action
from cepkit.statistics.stream_counts import StreamCounts
from cepkit.stream.columns import MISSING_INTEGER, Dropped
from cepkit.stream.reading.texts import type_codes
from cepkit.stream.reading.times import microseconds

_ENDS = "first long, last long"


def count_types(source: StreamRows) -> StreamCounts:
    """Count the events of each type and find the first and the last."""
    rows, schema = source.rows, source.schema
    time, kind = F.col(source.place(schema.time)), F.col(source.place(schema.type))
    moment = F.when(~source.no_time, time)
    by_type = rows.groupBy(F.when(~source.no_type, kind).alias("type")).agg(
        F.count_if(~source.no_time).alias("events"),
        F.count_if(source.no_time).alias("null_time"),
        F.min(moment).alias("first"),
        F.max(moment).alias("last"),
    )
    frames = {"by type": by_type}
    if isinstance(source.kind(schema.time), t.StringType):
        frames["ends"] = _ends_of_texts(source)
    tables = in_one_action(frames)
    table = tables["by type"]
    codes, texts = type_codes(table.column("type"), schema.type)
    events = np.asarray(table.column("events"))
    has_name = (codes >= 0) & (events > 0)
    of_type = np.zeros(len(texts), dtype=np.int64)
    np.add.at(of_type, codes[has_name], events[has_name])
    counts = dict(zip(map(str, texts), of_type.tolist(), strict=True))
    dropped = Dropped(sum(table.column("null_time").to_pylist()), int(events[codes < 0].sum()))
    if "ends" in tables:
        first, last = (tables["ends"].column(i)[0].as_py() for i in range(2))
    else:
        first, last = _ends(source, table.filter(pa.array(has_name)))
    by_name = {name: number for name, number in counts.items() if number}
    return StreamCounts(by_name, dropped, first, last)


def _ends(source: StreamRows, table: pa.Table) -> tuple[int | None, int | None]:
    """Return the first and the last time over all types."""
    schema = source.schema
    firsts, lasts = (
        microseconds(table.column(name), schema.time, unit=schema.unit, timezone=schema.timezone)
        for name in ("first", "last")
    )
    return _ends_of(firsts)[0], _ends_of(lasts)[1]


def _ends_of(ts: Integers) -> tuple[int | None, int | None]:
    """Return the least and the greatest time; None if there are none."""
    known = ts[ts != MISSING_INTEGER]
    return (int(known.min()), int(known.max())) if len(known) else (None, None)


def _ends_of_texts(source: StreamRows) -> DataFrame:
    """Return the first and the last time of texts, which do not sort like times."""
    schema = source.schema

    def ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            first_and_last = _ends_of(
                microseconds(batch.column(0), schema.time, timezone=schema.timezone)
            )
            values = [pa.array([end], pa.int64()) for end in first_and_last]
            yield pa.RecordBatch.from_arrays(values, names=["first", "last"])

    times = source.rows.where(source.is_event).select(source.place(schema.time))
    return times.mapInArrow(ends, _ENDS).agg(
        F.min("first").alias("first"), F.max("last").alias("last")
    )
