"""Arrival numbers of a Spark DataFrame's events.

All types count, although only those of the query are passed on. Nothing is sorted in one place:

- without an arrival column the events are counted in each Spark partition; a number is the count of
  earlier partitions plus the position in its own. One pass over time and type.
- with a column of consecutive integers, as in a log, a number is a difference. A hash over all
  values verifies that each occurs once (wrong once in 2**64).
- with any other column the events are shuffled into ranges of its values (bounds from a sample),
  then counted, sorted and numbered there.

Numbers inside partitions of the query need a shuffle on its key. A number that cannot be determined
is null; the workers refuse it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from operator import xor
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.errors import UnsupportedError
from cepkit.spark.cells.layout import Extent
from cepkit.spark.passes.extent import KEY_BUCKETS
from cepkit.spark.passes.rows import StreamRows, cores_of, key_value
from cepkit.spark.passes.scan import Scan
from cepkit.spark.session.access import access_to
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.columns import Dropped
from cepkit.stream.reading.arrival import refuse_missing

_RANGE_EVENTS = 500_000
_MOST_RANGES = 1000
_SAMPLED = 100
"""Events sampled for each range: its size is then right within about a third."""

_POSITION_BITS = 33
"""Position bits of Spark's monotonically increasing ids; the higher bits are the partition."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """Events with their numbers.

    Attributes:
        rows: The wanted columns of the events that the query may be about, then a column for each
            clock.
        extent: The size of the stream by the clock of the cut, unless that is time.
        dropped: The rows that are no events.
    """

    rows: DataFrame
    extent: Extent
    dropped: Dropped


@dataclass(frozen=True, slots=True)
class _EventCounts:
    """The counts of one pass over the stream, by Spark partition if requested.

    Attributes:
        events: The events of all types in each partition.
        fitting: Events of the query's types.
        heaviest: An upper bound on the events of the most frequent key, all types.
        heaviest_fitting: The same of the query's types.
        dropped: The rows that are no events.
        missing: The events without a value in the arrival column.
        ends: The least and the greatest value there; None where it is not asked for.
        hashed: All values there.
    """

    events: dict[int, int]
    fitting: int
    heaviest: int
    heaviest_fitting: int
    dropped: Dropped
    missing: int
    ends: tuple[int, int] | None
    hashed: int

    @property
    def total(self) -> int:
        return sum(self.events.values())


def numbered(scan: Scan) -> Numbered:
    """Return the events of a stream with their numbers; some jobs count the stream now.

    Raises:
        StreamError: The arrival column has no value for some event.
        UnsupportedError: PARTITION BY uses times as texts, which only workers can read.
    """
    return _Numbering(scan).run()


class _Numbering:
    """The steps of `numbered`, over rows whose columns are named by position."""

    def __init__(self, scan: Scan) -> None:
        source, schema = StreamRows(scan.stream), scan.stream.schema
        self._source, self._key, self._clock = source, scan.cut.key, scan.cut.clock
        self._sent, self._clocks = scan.sending.columns.names, scan.sending.numbers
        self._partition_by = scan.partition_by
        needed = {*self._sent, *schema.roles, *self._partition_by}
        needed.update(self._key.columns if self._key else ())
        rows = source.rows.select(
            *(source.place(name) for name in scan.stream.column_names if name in needed)
        )
        self._by_row = schema.arrival is None
        self._rows = fixed(rows) if self._by_row else rows
        self._no_time = source.no_time
        self._no_type = source.no_type & ~self._no_time
        self._is_event = source.is_event
        self._fitting = F.coalesce(source.may_have(scan.sending.types), F.lit(False))

    def run(self) -> Numbered:
        counts = self._count_events(self._rows)
        if counts.dropped:
            # Rows that are no events have no position.
            self._rows = self._rows.where(self._is_event)
            if self._by_row:
                counts = replace(self._count_events(self._rows), dropped=counts.dropped)
        if self._source.schema.arrival is not None:
            refuse_missing(self._source.schema.arrival, counts.missing, counts.total)
        keys = [f"k{i}" for i in range(len(self._partition_by))]
        rows = self._rows.select(
            *self._carried(), *self._keys(keys), self._fitting.alias("fits"), self._order()
        )
        if "arrival" in self._clocks:
            rows = self._with_arrival(rows, counts)
        if "place" in self._clocks:
            order = "arrival" if "arrival" in self._clocks else "came"
            rows = rows.withColumn("place", _position(keys, order, checked=not self._by_row))
        unknown = [F.col(c).isNull() for c in self._clocks]
        rows = rows.where(reduce(Column.__or__, unknown, F.col("fits")))
        rows = rows.select(*map(self._source.place, self._sent), *self._clocks)
        if self._clock == "place":
            last, heaviest = counts.heaviest, counts.heaviest_fitting
        else:
            last, heaviest = counts.total, counts.heaviest_fitting
        return Numbered(rows, Extent(counts.fitting, 0, max(0, last - 1), heaviest), counts.dropped)

    def _carried(self) -> list[Column]:
        """Return the wanted columns, emptied if unused, because they may be shuffled."""
        names = map(self._source.place, self._sent)
        return [F.when(self._fitting, F.col(name)).alias(name) for name in names]

    def _keys(self, names: Sequence[str]) -> list[Column]:
        """Return the query's partition key in a form with Spark's equality."""
        keys = []
        for name, alias in zip(self._partition_by, names, strict=True):
            column, kind = self._source.column(name), self._source.kind(name)
            if name == self._source.schema.time and isinstance(kind, t.StringType):
                raise UnsupportedError(
                    f"PARTITION BY '{name}' with a window in events, where its times are texts",
                    hint="on Spark, make timestamps of them first: to_timestamp",
                )
            keys.append(key_value(column, name, kind, self._source.schema).alias(alias))
        return keys

    def _order(self) -> Column:
        """Return the arrival of a row as `came`: an integer if possible."""
        if self._source.schema.arrival is None:
            return F.monotonically_increasing_id().alias("came")
        return self._came().alias("came")

    def _came(self) -> Column:
        name = self._source.schema.arrival
        assert name is not None
        column, kind = self._source.column(name), self._source.kind(name)
        match kind:
            case t.TimestampType():
                return F.unix_micros(column)
            case t.DateType():
                return F.unix_date(column).cast("long")
            case t.FloatType() | t.DoubleType():
                return F.nanvl(column.cast("double"), F.lit(None))
            case t.DecimalType() | t.TimestampNTZType():
                return column
            case _:
                return column.cast("long")

    def _is_whole(self) -> bool:
        name = self._source.schema.arrival
        fractions = t.FloatType | t.DoubleType | t.DecimalType | t.TimestampNTZType
        return name is not None and not isinstance(self._source.kind(name), fractions)

    def _count_events(self, rows: DataFrame) -> _EventCounts:
        groups, by_row = [], self._by_row and "arrival" in self._clocks
        if by_row:
            rows = rows.withColumn("id", F.monotonically_increasing_id())
            groups.append(F.shiftright("id", _POSITION_BITS).alias("partition"))
        if self._key is not None:
            names = map(self._source.column, self._key.columns)
            groups.append(F.pmod(F.xxhash64(*names), F.lit(KEY_BUCKETS)).alias("bucket"))
        counts = [
            F.count_if(self._is_event).alias("events"),
            F.count_if(self._is_event & self._fitting).alias("fitting"),
            F.count_if(self._no_time).alias("null_time"),
            F.count_if(self._no_type).alias("null_type"),
        ]
        if not self._by_row:
            came = self._came()
            counts.append(F.count_if(self._is_event & came.isNull()).alias("missing"))
            if self._is_whole():
                came = F.when(self._is_event, came)
                hashed = F.bit_xor(F.when(came.isNotNull(), F.xxhash64(came)))
                counts += [F.min(came).alias("low"), F.max(came).alias("high")]
                counts.append(hashed.alias("hashed"))
        return _sum_counts(_collected(rows.groupBy(*groups).agg(*counts)))

    def _with_arrival(self, rows: DataFrame, counts: _EventCounts) -> DataFrame:
        if self._by_row:
            events = [counts.events.get(i, 0) for i in range(max(counts.events, default=0) + 1)]
            partition = F.shiftright("came", _POSITION_BITS).cast("int")
            position = F.col("came").bitwiseAND(F.lit((1 << _POSITION_BITS) - 1))
            number = _looked_up(_before(events), partition) + position
            known = position < _looked_up(events, partition)
            return rows.withColumn("arrival", F.when(known, number))
        if self._is_consecutive(counts):
            assert counts.ends is not None
            return rows.withColumn("arrival", F.col("came") - F.lit(counts.ends[0]))
        ranges = _range_of(self._bounds(counts.total))
        counted = self._rows.where(self._is_event).select(self._order())
        sizes = _collected(counted.groupBy(ranges.alias("range")).count())
        by_range: dict[int, int] = {row[0]: row[1] for row in sizes}
        in_ranges = [by_range.get(i, 0) for i in range(max(by_range, default=0) + 1)]
        rows = rows.withColumn("range", ranges)
        position = _position(["range"], "came", checked=True)
        return rows.withColumn("arrival", _looked_up(_before(in_ranges), F.col("range")) + position)

    def _is_consecutive(self, counts: _EventCounts) -> bool:
        if counts.ends is None or counts.ends[1] - counts.ends[0] + 1 != counts.total:
            return False
        numbered = self._rows.sparkSession.range(counts.ends[0], counts.ends[1] + 1)
        hashed: int = _collected(numbered.agg(F.bit_xor(F.xxhash64("id"))))[0][0]
        return hashed == counts.hashed

    def _bounds(self, total: int) -> list[Column]:
        """Return bounds of ranges with about equal numbers of events, from a sample."""
        ranges = max(2 * cores_of(self._rows), min(math.ceil(total / _RANGE_EVENTS), _MOST_RANGES))
        events = self._rows.where(self._is_event).select(self._order())
        share = _SAMPLED * ranges / max(total, 1)
        if share < 1:
            events = events.sample(fraction=share, seed=0)
        kind = events.schema["came"].dataType
        # As texts: they convert back for every type, independent of time zones.
        ordered = _collected(events.orderBy("came").select(F.col("came").cast("string")))
        texts = [ordered[i * len(ordered) // ranges][0] for i in range(1, ranges) if ordered]
        return [F.lit(text).cast(kind) for text in dict.fromkeys(texts)]


def _collected(rows: DataFrame) -> Sequence[Any]:
    return run_with_progress(rows.collect, "numbering events")


def _sum_counts(counted: Sequence[Any]) -> _EventCounts:
    events: dict[int, int] = {}
    heaviest: dict[int, int] = {}
    fitting: dict[int, int] = {}
    rows = [row.asDict() for row in counted]
    for row in rows:
        partition, bucket = row.get("partition", 0), row.get("bucket", 0)
        events[partition] = events.get(partition, 0) + row["events"]
        heaviest[bucket] = heaviest.get(bucket, 0) + row["events"]
        fitting[bucket] = fitting.get(bucket, 0) + row["fitting"]
    lows = [row["low"] for row in rows if row.get("low") is not None]
    highs = [row["high"] for row in rows if row.get("high") is not None]
    return _EventCounts(
        events,
        sum(fitting.values()),
        max(heaviest.values(), default=0),
        max(fitting.values(), default=0),
        sum((Dropped(row["null_time"], row["null_type"]) for row in rows), Dropped()),
        sum(row.get("missing", 0) for row in rows),
        (min(lows), max(highs)) if lows else None,
        reduce(xor, (row.get("hashed") or 0 for row in rows), 0),
    )


def _position(groups: Sequence[str], order: str, *, checked: bool) -> Column:
    """Return a row's position in its group, from 0.

    Args:
        checked: Whether it is null for ties with the previous row.
    """
    window = Window.partitionBy(*groups).orderBy(order)
    position = F.row_number().over(window).cast("long") - 1
    if not checked:
        return position
    doubled = F.lag(order).over(window) == F.col(order)
    return F.when(~F.coalesce(doubled, F.lit(False)), position)


def _range_of(bounds: Sequence[Column]) -> Column:
    """Return how many bounds are at most `came`, by bisection."""

    def between(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low)
        middle = (low + high) // 2
        below, above = between(low, middle), between(middle + 1, high)
        return F.when(F.col("came") < bounds[middle], below).otherwise(above)

    return between(0, len(bounds))


def _before(counts: Sequence[int]) -> list[int]:
    return list(accumulate(counts, initial=0))[:-1]


def _looked_up(values: Sequence[int], place: Column) -> Column:
    """Return the value at a place, null beyond the last one."""
    return F.get(F.array(*(F.lit(value).cast("long") for value in values)), place)


def fixed(rows: DataFrame) -> DataFrame:
    """Return rows that keep their partitions and order at every read.

    Rows of files do. Rows from a shuffle are rearranged each time, in other partitions for other
    columns: then the shuffle runs now and its output is read from then on.
    """
    access = access_to(rows)
    return access.kept(rows) if access.is_shuffled(rows) else rows
