"""Spark expressions over the rows of a stream: times, types, keys.

Workers check again, because only they interpret times and types exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t
from pyspark.sql.pandas.functions import pandas_udf

from cepkit.errors import UnsupportedError
from cepkit.lazy import pd
from cepkit.spark.session.access import access_to
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.time_zones import instants, is_utc
from cepkit.stream.schema import ONLY_TYPE, UNITS, Schema
from cepkit.stream.sessions import check_session
from cepkit.stream.stream import Stream, check_all_there

_NO_TIMES = ("", "NAT", "NAN", "NULL", "NONE", "NA", "N/A")


@dataclass(frozen=True, slots=True)
class StreamRows:
    """The rows of a Spark stream, with columns named by position: c0, c1, ..."""

    stream: Stream

    @property
    def schema(self) -> Schema:
        """The schema of the stream."""
        return self.stream.schema

    @property
    def rows(self) -> DataFrame:
        """All rows, with names that Spark can always resolve."""
        frame: DataFrame = self.stream.source
        return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))

    @property
    def cores(self) -> int:
        """The number of tasks that run at once."""
        return cores_of(self.stream.source)

    def place(self, name: str) -> str:
        """Return the name of a column in `rows`."""
        return f"c{self.stream.column_names.index(name)}"

    def column(self, name: str) -> Column:
        """Return a column of `rows`."""
        return F.col(self.place(name))

    def kind(self, name: str) -> t.DataType:
        """Return the type of a column."""
        place = self.stream.column_names.index(name)
        kind: t.DataType = self.stream.source.schema.fields[place].dataType
        return kind

    @property
    def type(self) -> tuple[Column, t.DataType]:
        """The column that tells the types, and its type."""
        name = self.schema.type
        if name is None:
            return F.lit(ONLY_TYPE), t.StringType()
        return self.column(name), self.kind(name)

    @property
    def no_time(self) -> Column:
        """Whether a row has no time, as far as Spark can tell."""
        column, kind = self.column(self.schema.time), self.kind(self.schema.time)
        absent = column.isNull()
        if isinstance(kind, t.FloatType | t.DoubleType):
            absent |= F.isnan(column)
        if isinstance(kind, t.StringType):
            trimmed = F.regexp_replace(column, r"(?U)^\s+|\s+$", "")
            absent |= F.upper(trimmed).isin(*_NO_TIMES)
        return absent

    @property
    def no_type(self) -> Column:
        """Whether a row has no type."""
        column, kind = self.type
        absent = column.isNull()
        return absent | F.isnan(column) if isinstance(kind, t.FloatType | t.DoubleType) else absent

    @property
    def is_event(self) -> Column:
        """Whether a row is an event."""
        return ~self.no_time & ~self.no_type

    @property
    def seconds(self) -> Column:
        """The time in seconds since 1970; see `seconds_of`."""
        time = self.schema.time
        return seconds_of(self.column(time), self.kind(time), self.schema.unit)

    def may_have(self, types: frozenset[str] | None) -> Column:
        """Return whether a row may have one of the types; None for any."""
        fitting = has_type(*self.type, types)
        return F.lit(True) if fitting is None else fitting


def cores_of(frame: DataFrame) -> int:
    """Return the number of tasks that run at once in a DataFrame's session."""
    return access_to(frame).cores(frame.sparkSession)


def batch_frame(stream: Stream) -> DataFrame:
    """Return the DataFrame of a stream.

    Raises:
        SessionError: Its session has been stopped.
        UnsupportedError: It is a streaming one; or ties go by an arrival that nobody knows.
    """
    frame: DataFrame = stream.source
    check_session(frame)
    check_all_there(stream)
    schema = stream.schema
    if schema.by_arrival and schema.arrival is None and access_to(frame).is_shuffled(frame):
        raise UnsupportedError(
            "ties='arrival' and a Spark DataFrame whose rows come out of a shuffle, in no certain"
            " order",
            hint="events(..., arrival=column) says in which order they came",
        )
    return frame


def key_value(column: Column, name: str, kind: t.DataType, schema: Schema) -> Column:
    """Return an attribute in a form whose equality in Spark is that of conditions.

    Not for times written as texts: only workers can read these.

    Args:
        schema: Has the time column and the time zone.
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


def _counted(column: Column, whole_numbers: bool, unit: str) -> Column:
    """Return a numeric time in microseconds, rounded like the reader does."""
    if whole_numbers and unit == "ns":
        column = column.cast("long")
        return F.call_function("div", column - F.pmod(column, F.lit(1000)), F.lit(1000))
    if whole_numbers:
        return column.cast("long") * UNITS[unit]
    column = F.nanvl(column.cast("double"), F.lit(None))
    return F.floor(column / 1000) if unit == "ns" else F.rint(column * UNITS[unit]).cast("long")


def _instant(wall: Column, schema: Schema) -> Column:
    """Return a local time of the stream's zone as an instant in microseconds.

    Python computes it, because Java has other offsets before 1970.
    """
    zone = schema.timezone
    if zone is None or is_utc(zone):
        return wall

    @pandas_udf("long")  # type: ignore[call-overload]
    def located(local: pd.Series) -> pd.Series:
        # Not pd.Series: the function travels by value, and a module loaded on first use does not.
        return type(local)(instants(local.to_numpy(), zone))

    # pandas would convert integers with nulls to floats.
    return F.when(wall.isNotNull(), located(F.coalesce(wall, F.lit(0))))


def has_type(column: Column, kind: t.DataType, names: frozenset[str] | None) -> Column | None:
    """Return whether a row may have one of the types; None if Spark cannot tell.

    Workers check the remaining rows again, because they know the exact text of types.
    """
    if names is None:
        return None
    type_names: list[Any] = sorted(names)
    match kind:
        case t.StringType():
            return column.isin(*type_names)
        case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType() | t.BooleanType():
            return column.cast("string").isin(*type_names)
        case t.FloatType() | t.DoubleType():
            numbers = [number for number in map(_number, type_names) if not math.isnan(number)]
            return column.cast("double").isin(*numbers)
        case _:
            return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def seconds_of(column: Column, kind: t.DataType, unit: str | None) -> Column:
    """Return a time in seconds since 1970; without a zone it is accurate only to a day.

    That is enough for choosing cells, but not for assigning events to them.
    """
    match kind:
        case t.TimestampType():
            return column.cast("double")
        case t.DateType():
            return F.unix_date(column).cast("double") * 86_400
        case t.TimestampNTZType():
            return column.cast("timestamp_ltz").cast("double")
        case t.StringType():
            return column.try_cast("timestamp_ltz").cast("double")
        case _:
            number = F.nanvl(column.cast("double"), F.lit(None))
            return number * (1e-9 if unit == "ns" else UNITS[unit or "s"] / 1e6)
