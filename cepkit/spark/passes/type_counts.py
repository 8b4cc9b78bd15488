"""Counts of a Spark stream's rows by type, and the ends of its time, by one action.

A stream keeps them: whatever asks next how large it is, or for rates, needs no action.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.spark.cells.sending import Integers
from cepkit.spark.passes.here import in_one_action
from cepkit.spark.passes.part import Types
from cepkit.spark.passes.rows import StreamRows, has_type
from cepkit.spark.session.progress import run_with_progress
from cepkit.statistics.stream_counts import StreamCounts
from cepkit.stream.columns import MISSING_INTEGER, Dropped
from cepkit.stream.reading.ingest import type_codes
from cepkit.stream.reading.times import microseconds
from cepkit.stream.warnings import warn_of_unit

_ENDS = "first long, last long"


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """The rows of a Spark stream, counted by type.

    Attributes:
        counts: The events.
        rows: All rows of each type; None for those without one.
        bytes: For each column of variable width the bytes of its values in the rows of each type.
        told_apart: Whether Spark can filter rows by type.
    """

    counts: StreamCounts
    rows: Mapping[str | None, int]
    bytes: Mapping[str, Mapping[str | None, float]]
    told_apart: bool

    def events(self, types: Types) -> int:
        """Return the number of events of some types; None for all."""
        by_type = self.counts.by_type
        return sum(n for name, n in by_type.items() if types is None or name in types)

    def number(self, types: Types) -> int:
        """Return how many rows may have some types, or are no events; None for any."""
        if types is None or not self.told_apart:
            return sum(self.rows.values())
        # Rows of other types that have no time are few, and sent along.
        others = self.counts.dropped.null_time
        return others + sum(n for name, n in self.rows.items() if name is None or name in types)

    def size(self, types: Types, columns: Collection[str]) -> float:
        """Return the bytes that columns of variable width take in the rows of some types."""
        return sum(
            size
            for column in columns
            for name, size in self.bytes.get(column, {}).items()
            if types is None or not self.told_apart or name is None or name in types
        )


def count_types(source: StreamRows, wide: Collection[str] = ()) -> TypeCounts:
    """Count the rows of each type and find the first and the last event.

    Args:
        wide: Columns of variable width whose bytes are added up.
    """
    rows, schema = source.rows, source.schema
    time, (kind, type_of_kind) = source.column(schema.time), source.type
    moment = F.when(~source.no_time, time)
    sizes = [F.sum(F.octet_length(source.column(name).cast("string"))) for name in wide]
    by_type = rows.groupBy(F.when(~source.no_type, kind).alias("type")).agg(
        F.count_if(~source.no_time).alias("events"),
        F.count_if(source.no_time).alias("null_time"),
        F.min(moment).alias("first"),
        F.max(moment).alias("last"),
        *(size.alias(f"size {i}") for i, size in enumerate(sizes)),
    )
    frames = {"by type": by_type}
    if isinstance(source.kind(schema.time), t.StringType):
        frames["ends"] = _ends_of_texts(source)
    tables = run_with_progress(lambda: in_one_action(frames), "counting events")
    table = tables["by type"]
    codes, texts = type_codes(table.column("type"), schema.type)
    names = [None if code < 0 else str(texts[code]) for code in codes.tolist()]

    def by_name(column: str) -> dict[str | None, int]:
        sums: dict[str | None, int] = {}
        for name, number in zip(names, table.column(column).to_pylist(), strict=True):
            sums[name] = sums.get(name, 0) + (number or 0)
        return sums

    events, timeless = by_name("events"), by_name("null_time")
    dropped = Dropped(sum(timeless.values()), events.get(None, 0))
    if "ends" in tables:
        first, last = (tables["ends"].column(i)[0].as_py() for i in range(2))
    else:
        has_name = pa.array([name is not None for name in names], pa.bool_())
        first, last = _ends(source, table.filter(has_name))
    if first is not None and last is not None:
        warn_of_unit(schema.time, [first, last], schema.unit)
    of_type = {name: n for name, n in events.items() if n and name is not None}
    return TypeCounts(
        StreamCounts(of_type, dropped, first, last),
        {name: n + timeless[name] for name, n in events.items()},
        {name: by_name(f"size {i}") for i, name in enumerate(wide)},
        has_type(kind, type_of_kind, frozenset()) is not None,
    )


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
