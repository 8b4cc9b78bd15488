"""The time range of a stream: what `since` and `until` say, and which rows lie in it.

Rows without a time lie in no range. A range is a pair of microseconds in the schema; whoever reads
rows of a local source leaves out all others, so the rest of cepkit sees a shorter source. Spark
gets a filter, which it pushes down to the files.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError, UnsupportedError, shown
from cepkit.lazy import pa
from cepkit.printing import time_text
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.arrow import ArrowColumn, is_number, is_text
from cepkit.stream.reading.time_zones import is_utc
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import UNITS, Schema

_EXPECTED = "a time such as 2024-03-01T10:00:00, or a datetime"


def in_range(schema: Schema, since: Any, until: Any) -> Schema:
    """Return the schema of a time range; see `events`.

    Raises:
        StreamError: An end is no time, or the range ends before it begins.
    """
    schema = replace(
        schema, since=_moment("since", since, schema), until=_moment("until", until, schema)
    )
    if schema.since is None or schema.until is None or schema.since < schema.until:
        return schema
    raise StreamError(
        f"since={time_text(schema.since)} is not before until={time_text(schema.until)}",
        expected="a range that begins before it ends: since is in it, until is not",
    )


def _moment(name: str, value: Any, schema: Schema) -> int | None:
    """Return an end of a range in microseconds; None for no end.

    Args:
        name: "since" or "until".
        value: A text in ISO 8601, a date or datetime, or a number in the unit of the stream.
        schema: Has the unit, and the zone of times without one.

    Raises:
        StreamError: The value is not a time.
    """
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and schema.unit is None:
        raise StreamError(
            f"{name}={shown(value)}, and the times of the stream are no numbers",
            expected=_EXPECTED,
            hint="unit= is for a stream whose time column holds numbers",
        )
    if not number and not isinstance(value, str | dt.date | np.datetime64):
        raise StreamError(f"{name}={shown(value)}", expected=_EXPECTED)
    try:
        column = pa.array([value])
        unit = schema.unit if number else None
        (time,) = microseconds(column, name, unit=unit, timezone=schema.timezone).tolist()
    except (pa.ArrowException, StreamError, OverflowError, ValueError):
        time = MISSING_INTEGER
    if time == MISSING_INTEGER:
        hint = f"numbers count {schema.unit} since 1970" if schema.unit else None
        raise StreamError(f"{name}={shown(value)} is no time", expected=_EXPECTED, hint=hint)
    return int(time)


def inside(times: npt.NDArray[np.int64], schema: Schema) -> npt.NDArray[np.bool_]:
    """Return which times lie in the range of a schema."""
    within = times != MISSING_INTEGER
    if schema.since is not None:
        within &= times >= schema.since
    if schema.until is not None:
        within &= times < schema.until
    return np.asarray(within)


def rows_inside(column: ArrowColumn, schema: Schema) -> slice | pa.Array | None:
    """Return which rows of a source lie in the range; None for all.

    Args:
        column: Their times.
    """
    if not schema.has_range:
        return None
    times = microseconds(column, schema.time, unit=schema.unit, timezone=schema.timezone)
    rows = np.flatnonzero(inside(times, schema))
    if len(rows) == len(times):
        return None
    if not len(rows) or rows[-1] - rows[0] + 1 == len(rows):  # side by side, as in sorted files
        return slice(int(rows[0]) if len(rows) else 0, len(rows))
    return pa.array(rows)


def taken(rows: pa.Table | pa.ChunkedArray, which: slice | pa.Array | None) -> Any:
    """Return the rows that `rows_inside` names."""
    if which is None:
        return rows
    return rows.slice(which.start, which.stop) if isinstance(which, slice) else rows.take(which)


def spark_condition(kind: pa.DataType, name: str, schema: Schema) -> str:
    """Return the range as a condition in Spark's SQL, in a form that is pushed down to files.

    Args:
        kind: The type of the time column.
        name: The column.

    Raises:
        UnsupportedError: Only Python reads such times.
    """
    column = f"`{name.replace('`', '``')}`"
    naive = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    if is_text(kind) or (naive and not is_utc(schema.timezone)):
        what = "texts" if is_text(kind) else f"times in the zone {schema.timezone}"
        raise UnsupportedError(
            f"since= and until= of a Spark DataFrame whose column '{name}' holds {what}",
            hint=f"make timestamps of them first: sdf.withColumn('{name}',"
            f" F.to_timestamp('{name}'))",
        )
    ends = ((">=", schema.since), ("<", schema.until))
    conditions = [
        f"{column} {operator} {_literal(kind, end, schema)}"
        for operator, end in ends
        if end is not None
    ]
    if pa.types.is_floating(kind):  # to Spark, NaN is the greatest number
        conditions.append(f"NOT isnan({column})")
    return " AND ".join(conditions)


def _literal(kind: pa.DataType, end: int, schema: Schema) -> str:
    """Return the first value of a column that does not lie before a moment."""
    if pa.types.is_date(kind):
        return f"date_from_unix_date({-(-end // UNITS['d'])})"
    if not is_number(kind):
        instant = f"timestamp_micros({end})"
        return instant if kind.tz else f"TIMESTAMP_NTZ '{np.datetime64(end, 'us')}'"
    if schema.unit == "ns":
        return str(end * 1000)
    factor = UNITS[schema.unit or "s"]
    if pa.types.is_floating(kind):
        return f"{(end - 0.5) / factor!r}D"  # floats are rounded to microseconds
    return str(-(-end // factor))
