"""How much of a stream a query is about: from the statistics, or by one cheap pass over Spark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t
from pyspark.sql.pandas.functions import pandas_udf

from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.spark.cells.layout import Extent, Key
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import MISSING_INTEGER, Dropped
from cepkit.stream.schema import UNITS, Schema
from cepkit.stream.time_zones import instants, is_utc

KEY_BUCKETS = 256
"""Into how many keys are hashed to tell how heavy the heaviest is, at most."""

_NO_TIMES = ("", "NAT", "NAN", "NULL", "NONE", "NA", "N/A")


def types_of(query: Query) -> frozenset[str] | None:
    """Return the types that a query names; None where an event of it may have any."""
    events = events_of(query.structure)
    if any(event.types is None for event in events):
        return None
    return frozenset(name for event in events for name in event.types or ())


def row_bytes(columns: pa.Schema) -> float:
    """Return the bytes of a row, about."""
    return 8.0 + sum(map(_width, columns.types))


def _width(kind: pa.DataType) -> float:
    try:
        return max(1.0, float(kind.bit_width) / 8)
    except ValueError:  # no fixed width
        return 80.0 if pa.types.is_nested(kind) else 24.0


def positional(frame: DataFrame) -> DataFrame:
    """Return the frame with columns c0, c1, ...: whatever they are called, Spark finds them."""
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def without_time(column: Column, kind: t.DataType) -> Column:
    """Return whether a row has no time, as far as Spark can tell."""
    absent = column.isNull()
    if isinstance(kind, t.FloatType | t.DoubleType):
        absent |= F.isnan(column)
    if isinstance(kind, t.StringType):
        trimmed = F.regexp_replace(column, r"(?U)^\s+|\s+$", "")
        absent |= F.upper(trimmed).isin(*_NO_TIMES)
    return absent


def without_type(column: Column, kind: t.DataType) -> Column:
    """Return whether a row has no type."""
    absent = column.isNull()
    return absent | F.isnan(column) if isinstance(kind, t.FloatType | t.DoubleType) else absent


def key_value(column: Column, name: str, kind: t.DataType, schema: Schema) -> Column:
    """Return an attribute such that values that are equal for conditions are so for Spark.

    Not of times that are texts: how they are read only the workers know.

    Args:
        column: The attribute.
        name: What it is called.
        kind: Its type.
        schema: Knows the time column and the time zone.
    """
    if name == schema.time and isinstance(kind, t.NumericType):
        return _counted(column, isinstance(kind, t.IntegralType), schema.unit or "s")
    match kind:
        case t.FloatType() | t.DoubleType() | t.DecimalType():
            return F.nanvl(column.cast("double"), F.lit(None)) + F.lit(0.0)  # no -0.0
        case t.LongType():
            return F.nullif(column, F.lit(MISSING_INTEGER))
        case t.TimestampType():
            return F.unix_micros(column)
        case t.TimestampNTZType():
            epoch = F.lit("1970-01-01").cast("timestamp_ntz")
            return _instant(F.timestamp_diff("MICROSECOND", epoch, column), schema)
        case t.DateType():
            return _instant(F.unix_date(column).cast("long") * UNITS["d"], schema)
        case t.DayTimeIntervalType():
            return F.unix_micros(F.timestamp_micros(F.lit(0)) + column)
        case _:
            return column


def _counted(column: Column, whole: bool, unit: str) -> Column:
    """Return a time that is a number in microseconds, rounded as it is when it is read."""
    if whole and unit == "ns":
        column = column.cast("long")
        return F.call_function("div", column - F.pmod(column, F.lit(1000)), F.lit(1000))
    if whole:
        return column.cast("long") * UNITS[unit]
    column = F.nanvl(column.cast("double"), F.lit(None))
    return F.floor(column / 1000) if unit == "ns" else F.rint(column * UNITS[unit]).cast("long")


def _instant(wall: Column, schema: Schema) -> Column:
    """Return when the clocks of a stream's zone showed a time, in microseconds.

    By Python, as Java has other offsets for times before 1970.
    """
    zone = schema.timezone
    if zone is None or is_utc(zone):
        return wall

    @pandas_udf("long")  # type: ignore[call-overload]
    def located(local: pd.Series) -> pd.Series:
        return pd.Series(instants(local.to_numpy(), zone))

    # pandas would make floats of integers beside null.
    return F.when(wall.isNotNull(), located(F.coalesce(wall, F.lit(0))))


def has_type(column: Column, kind: t.DataType, names: frozenset[str] | None) -> Column | None:
    """Return whether a row may have one of the types; None where Spark is not asked.

    What this lets through is looked at again in the workers, who know how types are written.
    """
    if names is None:
        return None
    wanted: list[Any] = sorted(names)
    match kind:
        case t.StringType():
            return column.isin(*wanted)
        case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType() | t.BooleanType():
            return column.cast("string").isin(*wanted)
        case t.FloatType() | t.DoubleType():
            numbers = [number for number in map(_number, wanted) if not math.isnan(number)]
            return column.cast("double").isin(*numbers)
        case _:
            return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def extent_of_statistics(
    statistics: Statistics | None, query: Query, key: Key | None
) -> Extent | None:
    """Return what statistics say of a stream; None where they do not say it."""
    if statistics is None or statistics.first is None or statistics.last is None:
        return None
    events = events_of(query.structure)
    if any(event.variable not in statistics.rates for event in events):
        return None
    total = float(statistics.events)
    if types_of(query) is not None:
        # Variables of one set of types share their events; overlapping sets are counted twice.
        rates = {event.types: statistics.rates[event.variable] for event in events}
        total = min(total, sum(rates.values()) * max(statistics.span_seconds, 1.0))
    share = math.sqrt(statistics.same_key) if key is not None and key.missing_agree else 1.0
    count = math.ceil(total)
    return Extent(count, statistics.first, statistics.last, math.ceil(total * share))


def measured_extent(
    frame: DataFrame,
    names: Sequence[str],
    schema: Schema,
    types: frozenset[str] | None,
    key: Key | None,
) -> tuple[Extent, Dropped]:
    """Count a Spark DataFrame by one job over its time, type and key columns.

    Args:
        frame: The rows.
        names: Their columns.
        schema: Which column is what.
        types: Those that the query names, None for any.
        key: What all events of a match agree on.

    Returns:
        The extent, times good to a day (the span is better), and the rows that are no events.
    """
    kinds = dict(zip(names, (field.dataType for field in frame.schema.fields), strict=True))
    rows = positional(frame)
    at = {name: rows[f"c{i}"] for i, name in enumerate(names)}
    time, kind = at[schema.time], kinds[schema.time]
    no_time = without_time(time, kind)
    no_type = without_type(at[schema.type], kinds[schema.type]) & ~no_time
    wanted = ~no_time & ~no_type
    fitting = has_type(at[schema.type], kinds[schema.type], types)
    if fitting is not None:
        wanted &= fitting
    seconds = F.when(wanted, seconds_of(time, kind, schema.unit))
    buckets = []
    if key is not None:
        buckets = [F.pmod(F.xxhash64(*(at[name] for name in key.columns)), F.lit(KEY_BUCKETS))]
    counted = (
        rows.groupBy(*buckets)
        .agg(
            F.count_if(wanted).alias("events"),
            F.min(seconds).alias("first"),
            F.max(seconds).alias("last"),
            F.count_if(no_time).alias("null_time"),
            F.count_if(no_type).alias("null_type"),
        )
        .collect()
    )
    events = [row.events for row in counted]
    ends = [end for row in counted for end in (row.first, row.last)]
    times = [end for end in ends if end is not None and math.isfinite(end)]
    first, last = (math.floor(min(times)), math.ceil(max(times))) if times else (0, 0)
    dropped = sum((Dropped(row.null_time, row.null_type) for row in counted), Dropped())
    return (
        Extent(sum(events), first * 1_000_000, last * 1_000_000, max(events, default=0)),
        dropped,
    )


def seconds_of(column: Column, kind: t.DataType, unit: str | None) -> Column:
    """Return a time in seconds since 1970, where it names no zone only good to a day.

    That is enough for choosing cells, not for putting events into them.
    """
    match kind:
        case t.TimestampType():
            return column.cast("double")
        case t.DateType():
            return F.unix_date(column).cast("double") * 86_400
        case t.TimestampNTZType():
            return column.cast("timestamp").cast("double")
        case t.StringType():
            return column.try_cast("timestamp").cast("double")
        case _:
            number = F.nanvl(column.cast("double"), F.lit(None))
            return number * (1e-9 if unit == "ns" else UNITS[unit or "s"] / 1e6)
