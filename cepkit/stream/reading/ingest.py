"""Arrow tables as event columns.

| Arrow | kind | missing |
|---|---|---|
| integers | integer: int64; unsigned ones beyond int64 make the column a float | null |
| floats, decimals, the null type | float: float64 | null, NaN |
| booleans | boolean: int8 | null |
| texts, dictionaries of texts | text: int32 codes into the sorted texts | null |
| timestamps, dates, the time column | timestamp: int64 microseconds since 1970 UTC | null |
| durations | duration: int64 microseconds | null |
| lists of numbers | array: float64, a row for each event, padded with NaN | null, empty |

Lists of unequal length are padded to the longest; so a NaN at the end of a row may be padding or a
value, and results computed from two rows must not depend on the width. Other types are carried to
the output, but conditions cannot read them. The smallest int64 marks missing values: an event with
this value counts as having none.

O(events) for each column, O(events log events) if the times are not in order. Every array of the
result is new, contiguous and writable, so compiled code sees a single layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cepkit.errors import LimitError, StreamError
from cepkit.lazy import pa, pc
from cepkit.stream.columns import MISSING_INTEGER, Column, Dropped, EventColumns, LazyRows
from cepkit.stream.reading.arrival import arrival_numbers
from cepkit.stream.reading.arrow import (
    ArrowColumn,
    described,
    filled,
    is_list,
    is_number,
    is_text,
    single,
)
from cepkit.stream.reading.texts import compact, encode, type_codes
from cepkit.stream.reading.times import durations, microseconds
from cepkit.stream.schema import Schema

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MAX_PADDED_VALUES = 2**28


class Readable(Protocol):
    """An object with columns by name, like a table."""

    @property
    def column_names(self) -> Sequence[str]:
        """The names of the columns."""
        ...

    def column(self, name: str, /) -> pa.ChunkedArray:
        """Return a column."""
        ...


def event_columns(
    table: Readable,
    schema: Schema,
    attributes: Iterable[str] = (),
    *,
    arrivals: Integers | None = None,
    places: Integers | None = None,
    source: LazyRows | None = None,
) -> EventColumns:
    """Return a table as events in stream order.

    Args:
        table: Rows in order of arrival, unless the schema or `arrivals` give another order.
        attributes: The columns that conditions read; others are carried along unchanged.
        arrivals: The arrival number of each row, if the rows are a part of a larger stream.
        places: The arrival number inside the partition.
        source: The rows for the output; None if they are in the table.

    Returns:
        The events, sorted by time and then by arrival. Rows without a time (counted first) or
        without a type are left out and counted in `dropped`.

    Raises:
        StreamError: A column is missing or occurs twice, a time is invalid, conditions cannot read
            an attribute, or the arrival column has duplicates.
        LimitError: Padding lists of very unequal length would take gigabytes.
    """
    names = tuple(table.column_names)
    required = tuple(dict.fromkeys(attributes))
    schema.check(names, required)
    ts = microseconds(
        table.column(schema.time), schema.time, unit=schema.unit, timezone=schema.timezone
    )
    codes, type_names = type_codes(table.column(schema.typed_by), schema.type)
    events, dropped = _events(ts, codes)
    time_columns = {schema.time: Column("timestamp", ts, has_missing=bool(dropped.null_time))}
    if schema.arrival is not None and arrivals is None:
        present = np.arange(len(ts)) if events is None else events
        column = table.column(schema.arrival)
        arrivals = np.zeros(len(ts), dtype=np.int64)
        arrivals[present] = arrival_numbers(column, schema.arrival, present)
    rows = _stream_order(ts, arrivals if arrivals is not None else places, events)
    if rows is not None:
        ts, codes = ts[rows], codes[rows]
        arrivals = None if arrivals is None else arrivals[rows]
        places = None if places is None else places[rows]
    codes, type_names = compact(codes, type_names)
    columns = {
        name: time_columns.get(name) or attribute(table.column(name), name, schema)
        for name in required
    }
    if rows is not None:
        columns = {name: column.take(rows) for name, column in columns.items()}
    return EventColumns(
        ts=ts,
        types=codes,
        type_names=tuple(type_names),
        attributes=columns,
        carried=_carried(table, schema) if source is None else source,
        rows=rows,
        dropped=dropped,
        arrivals=arrivals,
        places=places,
        by_arrival=schema.by_arrival,
    )


def _carried(table: Readable, schema: Schema) -> pa.Table:
    assert isinstance(table, pa.Table)
    names = tuple(table.column_names)
    carried = schema.carried(names)
    return table if carried == names else table.select(list(carried))


def is_readable(kind: pa.DataType) -> bool:
    """Return whether conditions can read a column of this Arrow type."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    if is_list(kind):
        return _is_numeric(kind.value_type)
    return bool(
        _is_numeric(kind)
        or pa.types.is_boolean(kind)
        or is_text(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_duration(kind)
    )


def attribute(column: ArrowColumn, name: str, schema: Schema) -> Column:
    """Return one attribute of all rows, in the form that conditions read.

    Args:
        column: The values.
        schema: The schema, for the time zone of times without one.

    Raises:
        StreamError: Conditions cannot read values of this type.
        LimitError: Padding lists of very unequal length would take gigabytes.
    """
    kind = column.type
    if not is_readable(kind):
        raise StreamError(
            f"the column '{name}' holds {described(kind)}, which conditions cannot read",
            expected="numbers, texts, truth values, times, durations or lists of numbers",
            hint=f"a row for each item: df.explode('{name}'); it can still be carried to the output"
            if is_list(kind)
            else "it can still be carried to the output; or take out the part that you need",
        )
    if pa.types.is_null(kind):
        return Column("null", np.full(len(column), np.nan), has_missing=True)
    if pa.types.is_dictionary(kind) or is_text(kind):
        codes, texts = encode(column)
        return Column("text", codes, texts, has_missing=bool((codes < 0).any()))
    missing = bool(column.null_count)
    if pa.types.is_boolean(kind):
        return Column("boolean", filled(column.cast(pa.int8()), np.int8, -1), has_missing=missing)
    if pa.types.is_integer(kind) and not _beyond_int64(column):
        integers = filled(column, np.int64, MISSING_INTEGER, kind.to_pandas_dtype())
        # A value equal to the marker counts as missing, with or without missing values beside it.
        missing = bool((integers == MISSING_INTEGER).any())
        return Column("integer", integers, has_missing=missing)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        times = microseconds(column, name, timezone=schema.timezone)
        return Column("timestamp", times, has_missing=missing)
    if pa.types.is_duration(kind):
        return Column("duration", durations(column, name), has_missing=missing)
    if is_list(kind):
        rows = _padded(single(column), name)
        return Column("array", rows, has_missing=bool(np.isnan(rows).all(axis=1).any()))
    floats = _floats(column)
    return Column("float", floats, has_missing=bool(np.isnan(floats).any()))


def _events(ts: Integers, codes: npt.NDArray[np.int32]) -> tuple[Integers | None, Dropped]:
    """Return the rows that are events (None for all), and the number of other rows."""
    if ts.min(initial=0) != MISSING_INTEGER and codes.min(initial=0) >= 0:
        return None, Dropped()
    without_time, without_type = ts == MISSING_INTEGER, codes < 0
    null_time = int(np.count_nonzero(without_time))
    null_type = int(np.count_nonzero(without_type & ~without_time))
    dropped = Dropped(null_time, null_type)
    return np.flatnonzero(~(without_time | without_type)) if dropped else None, dropped


def _stream_order(
    ts: Integers, arrivals: Integers | None, events: Integers | None
) -> Integers | None:
    """Return the rows that are events, in stream order; None for all rows in their order.

    Args:
        ts: The time of each row.
        arrivals: The arrival number of each row; None: row order.
        events: The rows that are events, None for all.
    """
    times = ts if events is None else ts[events]
    order = None
    if arrivals is not None:
        numbers = arrivals if events is None else arrivals[events]
        later, same = times[1:] > times[:-1], times[1:] == times[:-1]
        if not (later | (same & (numbers[1:] >= numbers[:-1]))).all():
            order = np.lexsort((numbers, times))
    elif not (times[1:] >= times[:-1]).all():
        order = np.argsort(times, kind="stable")
    if order is None:
        return events
    return order if events is None else events[order]


def _is_numeric(kind: pa.DataType) -> bool:
    return is_number(kind) or bool(pa.types.is_null(kind))


def _beyond_int64(array: ArrowColumn) -> bool:
    if not pa.types.is_uint64(array.type) or array.null_count == len(array):
        return False
    return bool(pc.max(array).as_py() > np.iinfo(np.int64).max)


def _floats(array: ArrowColumn) -> Floats:
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    dtype = np.float64
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        dtype = array.type.to_pandas_dtype()
    else:
        array = array.cast(pa.float64())
    return filled(array, np.float64, np.nan, dtype)


def _padded(array: pa.Array, name: str) -> Floats:
    """Return lists of numbers as rows of one width, padded with NaN.

    A list with a missing number counts as missing, so that NaN can mark the end.
    """
    lengths = pc.list_value_length(array).fill_null(0).to_numpy()
    flat = _floats(array.flatten())
    width = int(lengths.max()) if len(lengths) else 0
    cells = width * len(array)
    if cells == len(flat):
        rows = flat.reshape(len(array), width)
        return np.where(np.isnan(rows).any(axis=1, keepdims=True), np.nan, rows)
    if cells > _MAX_PADDED_VALUES and cells > 4 * len(flat):
        raise LimitError(
            f"the lists in '{name}' differ too much in length: the longest has {width} numbers,"
            f" the mean is {len(flat) / len(array):.1f} over {len(array)} events",
            hint="cut the lists to the length that the condition needs",
        )
    rows = np.full((len(array), width), np.nan)
    inside = np.arange(width) < lengths[:, np.newaxis]
    rows[inside] = flat
    rows[(np.isnan(rows) & inside).any(axis=1)] = np.nan
    return rows
