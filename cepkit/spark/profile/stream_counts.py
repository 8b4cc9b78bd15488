"""Counts over a whole Spark stream, in a fixed number of jobs.

One job counts the events of each type, what is missing, and finds the first and the last time;
where times are texts a second one reads them. With PARTITION BY one counts the keys. For people
there are more: one for keys and equalities, one for events over time, one or two for events out of
order (and one that samples an arrival column, which must be sorted).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.spark.cells.sending import Integers
from cepkit.spark.passes.rows import key_value
from cepkit.spark.profile.key_counts import count_keys
from cepkit.spark.profile.lateness import lateness
from cepkit.spark.profile.over_time import over_time
from cepkit.spark.profile.source import Source
from cepkit.statistics.stream_counts import Details, StreamCounts, readers, types_of_variables
from cepkit.stream.columns import MISSING_INTEGER, Dropped, Kind
from cepkit.stream.reading.texts import type_codes
from cepkit.stream.reading.times import microseconds

_ENDS = "first long, last long"


@dataclass(frozen=True, slots=True)
class FirstCounts:
    """The counts of the first job.

    Attributes:
        counts: Nothing but `missing` is among their details.
        written: For each type the values that the type column has for it.
    """

    counts: StreamCounts
    written: Mapping[str, Sequence[Any]]


def count(source: Source, *, details: bool) -> FirstCounts:
    """Count the events of each type and find the first and the last.

    Args:
        details: Whether to count what is missing as well.
    """
    rows, schema = source.rows, source.schema
    time, kind = F.col(source.place(schema.time)), F.col(source.place(schema.type))
    moment = F.when(~source.no_time, time)
    read = list(readers(source.query)) if details else []
    table = (
        rows.groupBy(F.when(~source.no_type, kind).alias("type"))
        .agg(
            F.count_if(~source.no_time).alias("events"),
            F.count_if(source.no_time).alias("null_time"),
            F.min(moment).alias("first"),
            F.max(moment).alias("last"),
            *(
                F.count_if(~source.no_time & source.is_missing(name)).alias(f"missing{i}")
                for i, name in enumerate(read)
            ),
        )
        .toArrow()
    )
    codes, texts = type_codes(table.column("type"), schema.type)
    events = np.asarray(table.column("events"))
    has_name = (codes >= 0) & (events > 0)
    of_type = np.zeros(len(texts), dtype=np.int64)
    np.add.at(of_type, codes[has_name], events[has_name])
    counts = dict(zip(map(str, texts), of_type.tolist(), strict=True))
    values = table.column("type").to_pylist()
    written: dict[str, list[Any]] = {}
    for code, value in dict(
        zip(codes[has_name].tolist(), _at(values, has_name), strict=True)
    ).items():
        written.setdefault(str(texts[code]), []).append(value)
    dropped = Dropped(sum(table.column("null_time").to_pylist()), int(events[codes < 0].sum()))
    first, last = _ends(source, table, has_name)
    missing = {}
    for i, name in enumerate(read):
        types = types_of_variables(source.query, readers(source.query)[name])
        fitting = has_name & np.array([types is None or texts[c] in types for c in codes], np.bool_)
        absent = int(np.asarray(table.column(f"missing{i}"))[fitting].sum())
        missing[name] = absent / max(1, int(events[fitting].sum()))
    stream_counts = StreamCounts(
        {name: number for name, number in counts.items() if number},
        dropped,
        first,
        last,
        _same_key(source),
        Details(missing),
    )
    return FirstCounts(stream_counts, written)


def detailed(source: Source, first: FirstCounts, kinds: Mapping[str, Kind]) -> StreamCounts:
    """Return the counts with all that people want to know of a stream.

    Args:
        first: The counts of the first job.
        kinds: What the attributes are.
    """
    counts = first.counts
    keys, by_frequency = count_keys(source, first.written, kinds)
    details = replace(
        counts.details,
        over_time=over_time(source, counts),
        keys=keys,
        by_frequency=by_frequency,
        lateness=lateness(source, counts.events),
    )
    return replace(counts, details=details)


def _at(values: list[Any], mask: Any) -> list[Any]:
    return [value for value, is_set in zip(values, mask.tolist(), strict=True) if is_set]


def _ends(source: Source, table: pa.Table, mask: Any) -> tuple[int | None, int | None]:
    """Return the first and the last time."""
    if isinstance(source.kind(source.schema.time), t.StringType):
        return _ends_of_texts(source)
    events = table.filter(pa.array(mask))
    firsts, lasts = (source.microseconds(events.column(name)) for name in ("first", "last"))
    return _ends_of(firsts)[0], _ends_of(lasts)[1]


def _ends_of(ts: Integers) -> tuple[int | None, int | None]:
    """Return the least and the greatest of times, None where there are none."""
    known = ts[ts != MISSING_INTEGER]
    return (int(known.min()), int(known.max())) if len(known) else (None, None)


def _ends_of_texts(source: Source) -> tuple[int | None, int | None]:
    """Return the same for texts, whose own order is not that of times."""
    schema = source.schema

    def ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            first_and_last = _ends_of(
                microseconds(batch.column(0), schema.time, timezone=schema.timezone)
            )
            values = [pa.array([end], pa.int64()) for end in first_and_last]
            yield pa.RecordBatch.from_arrays(values, names=["first", "last"])

    times = source.rows.where(source.is_event).select(source.place(schema.time))
    row = times.mapInArrow(ends, _ENDS).agg(F.min("first"), F.max("last")).collect()[0]
    return row[0], row[1]


def _same_key(source: Source) -> float:
    """Return the share of pairs of events in one partition, from the counts of the keys."""
    if not source.query.partition_by:
        return 1.0
    names = source.query.partition_by
    keys = [
        key_value(F.col(source.place(name)), name, source.kind(name), source.schema)
        for name in names
    ]
    events: DataFrame = source.rows.where(source.is_event)
    of_key = events.groupBy(*keys).agg(F.count("*").cast("double").alias("n"))
    # Doubles add up exactly, in whatever order, as long as no bits are lost: squares lose
    # them only beyond 2**53, and then in the last digits.
    both = of_key.agg(F.sum(F.col("n") * F.col("n")), F.sum("n")).collect()[0]
    return min(1.0, both[0] / both[1] ** 2) if both[1] else 1.0
