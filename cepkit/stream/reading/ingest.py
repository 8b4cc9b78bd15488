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

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from cepkit.errors import LimitError, StreamError
from cepkit.indexing import BLOCK, is_ascending
from cepkit.lazy import pa, pc
from cepkit.stream.columns import MISSING_INTEGER, Column, Dropped, EventColumns, LazyRows
from cepkit.stream.reading.arrival import arrival_numbers
from cepkit.stream.reading.arrow import (
    ArrowColumn,
    described,
    filled,
    integers,
    is_list,
    is_number,
    is_text,
    raw,
    single,
)
from cepkit.stream.reading.times import durations, microseconds
from cepkit.stream.schema import ONLY_TYPE, Schema, check_columns

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
    ready: Mapping[str, Column] = MappingProxyType({}),
) -> EventColumns:
    """Return a table as events in stream order.

    Args:
        table: Rows in order of arrival, unless the schema or `arrivals` give another order.
        attributes: The columns that conditions read; others are carried along unchanged.
        arrivals: The arrival number of each row, if the rows are a part of a larger stream.
        places: The arrival number inside the partition.
        source: The rows for the output; None if they are in the table.
        ready: Columns of the table that are in the engine's form already.

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
    check_columns((*schema.roles, *required), names)
    codes: Codes
    if schema.time in ready:
        ts = cast("Integers", ready[schema.time].values)
    else:
        ts = microseconds(
            table.column(schema.time), schema.time, unit=schema.unit, timezone=schema.timezone
        )
    if schema.type is None:
        codes, type_names = type_codes(integers(ts), None)
    elif schema.type in ready:
        codes = cast("Codes", ready[schema.type].values)
        type_names = ready[schema.type].dictionary
    else:
        codes, type_names = type_codes(table.column(schema.type), schema.type)
    # What is ready knows whether it has missing values; other columns are looked through.
    complete = all(n in ready and not ready[n].has_missing for n in {schema.time, schema.typed_by})
    events, dropped = (None, Dropped()) if complete else _events(ts, codes)
    known = {**ready, schema.time: Column("timestamp", ts, has_missing=bool(dropped.null_time))}
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
        name: known.get(name) or attribute(table.column(name), name, schema) for name in required
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


def attribute(
    column: ArrowColumn, name: str, schema: Schema, into: npt.NDArray[Any] | None = None
) -> Column:
    """Return one attribute of all rows, in the form that conditions read.

    Args:
        column: The values.
        schema: The schema, for the time zone of times without one.
        into: An array that may be filled and returned in place of a new one.

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
        codes, texts = encode(column, into)
        return Column("text", codes, texts, has_missing=bool((codes < 0).any()))
    missing = bool(column.null_count)
    if pa.types.is_boolean(kind):
        return Column("boolean", filled(column.cast(pa.int8()), np.int8, -1), has_missing=missing)
    if pa.types.is_integer(kind) and not _beyond_int64(column):
        values = filled(column, np.int64, MISSING_INTEGER, kind.to_pandas_dtype(), into)
        # A value equal to the marker counts as missing, with or without missing values beside it.
        missing = bool((values == MISSING_INTEGER).any())
        return Column("integer", values, has_missing=missing)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        times = microseconds(column, name, timezone=schema.timezone, into=into)
        return Column("timestamp", times, has_missing=missing)
    if pa.types.is_duration(kind):
        return Column("duration", durations(column, name), has_missing=missing)
    if is_list(kind):
        rows = _padded(single(column), name)
        return Column("array", rows, has_missing=bool(np.isnan(rows).all(axis=1).any()))
    floats = _floats(column, into)
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
    elif not is_ascending(times):
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


def _floats(array: ArrowColumn, into: Floats | None = None) -> Floats:
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    dtype = np.float64
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        dtype = array.type.to_pandas_dtype()
    else:
        array = array.cast(pa.float64())
    return filled(array, np.float64, np.nan, dtype, into)


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


Codes = npt.NDArray[np.int32]
Texts = npt.NDArray[np.object_]

_MANY = 10_000


def encode(column: ArrowColumn, into: Codes | None = None) -> tuple[Codes, Texts]:
    """Return texts as codes and the distinct texts in ascending order (of code points).

    Args:
        column: A column of any text type, or a dictionary of one.
        into: The array of the codes; None for a new one.

    Returns:
        int32 codes, -1 for null, in a new array; and the texts, which for a dictionary column
        may hold some that do not occur.
    """
    codes, values = _distinct(column, into)
    # Only foreign dictionaries can contain a text twice, or null.
    return _sorted(codes, values, distinct=not pa.types.is_dictionary(column.type))


def type_codes(column: ArrowColumn, name: str | None) -> tuple[Codes, Texts]:
    """Return event types as codes and the distinct types, as texts in ascending order.

    Args:
        column: Texts, a dictionary of texts, numbers, truth values or dates.
        name: The column's name, for error messages; None: all rows have the only type.

    Returns:
        int32 codes, -1 for null (NaN too), in a new array; and the type names. The empty text
        is a type. A whole number has no fraction, even as a float: beside nulls integers become
        floats.

    Raises:
        StreamError: The column's values have no unique text.
    """
    if name is None:
        return np.zeros(len(column), dtype=np.int32), np.array([ONLY_TYPE], dtype=object)
    check_type(column.type, name)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, dtype=np.int32), np.empty(0, dtype=object)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(kind):
        return encode(column)
    codes, values = _distinct(column)
    return _sorted(codes, _written(values), distinct=False)


def check_type(kind: pa.DataType, name: str) -> None:
    """Refuse a column whose values cannot be event types.

    Raises:
        StreamError: It holds neither texts nor values with a unique text: numbers, truth values,
            dates. The text of a time depends on its unit and its container.
    """
    if pa.types.is_dictionary(kind):
        return check_type(kind.value_type, name)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    plain = pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_null(kind)
    if not (is_text(kind) or number or plain):
        raise StreamError(
            f"the type column '{name}' holds {described(kind)}",
            expected="texts, or numbers, truth values or dates, which are read as texts",
        )
    return None


def compact(codes: Codes, texts: Texts) -> tuple[Codes, Texts]:
    """Return codes and a dictionary of only the texts that occur."""
    occurs = np.zeros(len(texts), dtype=bool)
    for begin in range(0, len(codes), BLOCK):
        occurs[codes[begin : begin + BLOCK]] = True
        if occurs.all():  # mostly after a block or two
            break
    if occurs.all():
        return codes, texts
    renumbered = (np.cumsum(occurs) - 1).astype(np.int32)
    return renumbered[codes], texts[occurs]


def _distinct(column: ArrowColumn, into: Codes | None = None) -> tuple[Codes, pa.Array]:
    """Return codes (-1 for null) and the dictionary that they point into."""
    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([column])
    encoded = pa.types.is_dictionary(column.type)
    column = column.unify_dictionaries() if encoded else column.dictionary_encode()
    if not column.num_chunks:
        return np.empty(0, dtype=np.int32), pa.nulls(0, pa.string())
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks])
    codes = filled(indices, np.int32, -1, indices.type.to_pandas_dtype(), into)
    return codes, column.chunk(0).dictionary


def _sorted(codes: Codes, values: pa.Array, *, distinct: bool) -> tuple[Codes, Texts]:
    """Return codes, changed in place, and the distinct texts in ascending order."""
    every = np.empty(len(values), dtype=object)
    every[:] = values.to_pylist()
    order = _order(values, every)
    texts = every[order]
    rank = np.arange(len(order), dtype=np.int32)
    if not distinct:
        present = len(texts) - values.null_count  # nulls were sorted to the end
        texts = texts[:present]
        first = np.ones(present, dtype=bool)
        first[1:] = texts[1:] != texts[:-1]
        rank[present:] = -1
        rank[:present] = np.cumsum(first) - 1
        texts = texts[first]
    # One more place at the end, because -1 indexes it.
    renumbered = np.full(len(order) + 1, -1, dtype=np.int32)
    renumbered[order] = rank
    for begin in range(0, len(codes), BLOCK):
        block = codes[begin : begin + BLOCK]
        block[:] = renumbered.take(block, mode="wrap")  # twice as fast as indexing
    return codes, texts


def _order(values: pa.Array, texts: Texts) -> npt.NDArray[Any]:
    """Return the places of texts in ascending order, nulls last."""
    if len(texts) > _MANY:
        return raw(pc.array_sort_indices(values), np.uint64)
    # For few texts, importing Arrow's functions would take longer.
    present = [place for place, text in enumerate(texts) if text is not None]
    present.sort(key=texts.__getitem__)
    absent = [place for place, text in enumerate(texts) if text is None]
    return np.array(present + absent, dtype=np.int64)


def _written(values: pa.Array) -> pa.Array:
    """Return numbers, truth values and dates as texts."""
    if pa.types.is_floating(values.type):
        return pa.array([_number_text(value) for value in values.to_pylist()], pa.string())
    return single(values.cast(pa.string()))


def _number_text(value: float | None) -> str | None:
    if value is None or np.isnan(value):
        return None
    return str(int(value)) if np.isfinite(value) and value == int(value) else repr(value)
