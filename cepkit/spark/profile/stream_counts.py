"""Counts over a whole Spark stream.

The first action counts the events of each type and the missing values, and finds the first and the
last time; with PARTITION BY it also counts the keys, and it parses times written as texts. The
details are counted together with the sample of the conditions: keys and equalities, events over
time, events out of order. Another action is needed only if Spark's partitions overlap far in time.
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
from cepkit.spark.profile.key_counts import KeyCounter
from cepkit.spark.profile.one_action import in_one_action
from cepkit.spark.profile.source import Source
from cepkit.spark.profile.times import Times
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
        details: Whether to count missing values as well.
    """
    rows, schema = source.rows, source.schema
    time, kind = F.col(source.place(schema.time)), F.col(source.place(schema.type))
    moment = F.when(~source.no_time, time)
    read = list(readers(source.query)) if details else []
    by_type = rows.groupBy(F.when(~source.no_type, kind).alias("type")).agg(
        F.count_if(~source.no_time).alias("events"),
        F.count_if(source.no_time).alias("null_time"),
        F.min(moment).alias("first"),
        F.max(moment).alias("last"),
        *(
            F.count_if(~source.no_time & source.is_missing(name)).alias(f"missing{i}")
            for i, name in enumerate(read)
        ),
    )
    frames = {"by type": by_type}
    if isinstance(source.kind(schema.time), t.StringType):
        frames["ends"] = _ends_of_texts(source)
    if source.query.partition_by:
        frames["same key"] = _same_key(source)
    tables = in_one_action(frames)
    table = tables["by type"]
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
    if "ends" in tables:
        first, last = (tables["ends"].column(i)[0].as_py() for i in range(2))
    else:
        first, last = _ends(source, table.filter(pa.array(has_name)))
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
        _share(tables["same key"]) if "same key" in tables else 1.0,
        Details(missing),
    )
    return FirstCounts(stream_counts, written)


@dataclass(frozen=True, slots=True)
class Detailed:
    """All counts of a profile besides those of the first action.

    Attributes:
        first: The counts of the first job.
    """

    first: FirstCounts
    times: Times
    keys: KeyCounter

    @classmethod
    def of(cls, source: Source, first: FirstCounts, kinds: Mapping[str, Kind]) -> Detailed:
        """Return the counter of a stream.

        Args:
            kinds: The kinds of the attributes.
        """
        times = Times(source, first.counts, first.written)
        return cls(first, times, KeyCounter.of(source, first.written, kinds))

    @property
    def frames(self) -> dict[str, DataFrame]:
        """The DataFrames to run; see `Times.frames`."""
        return self.times.frames | ({"keys": self.keys.frame} if self.keys.keys else {})

    def counts(self, tables: Mapping[str, pa.Table]) -> StreamCounts:
        """Return the counts.

        Args:
            tables: The results of `frames`.
        """
        counts = self.first.counts
        keys, by_frequency = self.keys.counted(tables["keys"]) if "keys" in tables else ((), {})
        details = replace(
            counts.details,
            over_time=self.times.over_time(tables),
            keys=keys,
            by_frequency=by_frequency,
            lateness=self.times.lateness(tables),
        )
        return replace(counts, details=details)


def _at(values: list[Any], mask: Any) -> list[Any]:
    return [value for value, is_set in zip(values, mask.tolist(), strict=True) if is_set]


def _ends(source: Source, table: pa.Table) -> tuple[int | None, int | None]:
    """Return the first and the last time over all types."""
    firsts, lasts = (source.microseconds(table.column(name)) for name in ("first", "last"))
    return _ends_of(firsts)[0], _ends_of(lasts)[1]


def _ends_of(ts: Integers) -> tuple[int | None, int | None]:
    """Return the least and the greatest time; None if there are none."""
    known = ts[ts != MISSING_INTEGER]
    return (int(known.min()), int(known.max())) if len(known) else (None, None)


def _ends_of_texts(source: Source) -> DataFrame:
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


def _same_key(source: Source) -> DataFrame:
    """Return the sums for the share of pairs of events in one partition."""
    names = source.query.partition_by
    keys = [
        key_value(F.col(source.place(name)), name, source.kind(name), source.schema)
        for name in names
    ]
    events: DataFrame = source.rows.where(source.is_event)
    of_key = events.groupBy(*keys).agg(F.count("*").cast("double").alias("n"))
    # Sums of doubles are exact in any order up to 2**53; beyond, squares lose only the last digits.
    squares = F.sum(F.col("n") * F.col("n"))
    return of_key.agg(squares.alias("pairs"), F.sum("n").alias("events"))


def _share(table: pa.Table) -> float:
    """Return the share of pairs of events in one partition."""
    pairs, events = (table.column(i)[0].as_py() for i in range(2))
    return min(1.0, pairs / events**2) if events else 1.0
