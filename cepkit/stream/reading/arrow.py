"""Arrow columns of a few plain types, and their memory as NumPy arrays.

Arrow itself goes to NumPy by detours through floats and objects. Plain types are:

| Arrow | becomes |
|---|---|
| dictionaries, except those of texts without null | their values |
| run-end encoded values | these values |
| views of texts and bytes | large texts and bytes |
| half floats | float32 |
| decimals of 32 and 64 bits, or with a negative scale | decimals of 128 bits, without a scale |

The values stay the same. Types inside lists, structs and maps are converted, too, except
dictionaries.
"""

from __future__ import annotations

import zoneinfo
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.lazy import pa, pc

_MOST_DIGITS = 76


def plain(table: pa.Table) -> pa.Table:
    """Return a table whose columns have plain types; it copies only columns of other types.

    Raises:
        StreamError: A column has a type that cannot be converted, or an invalid time zone.
    """
    for place, field in enumerate(table.schema):
        column = _plain_column(table.column(place), field.name)
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return table


def _plain_column(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    try:
        if pa.types.is_run_end_encoded(kind):
            decoded = [pc.run_end_decode(chunk) for chunk in column.chunks]
            return _plain_column(pa.chunked_array(decoded, kind.value_type), name)
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
                for chunk in column.chunks
            ]
            column = pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.string()))
            kind = column.type
        if pa.types.is_dictionary(kind) and not _is_category(column):
            decoded = [chunk.dictionary_decode() for chunk in column.chunks]
            return _plain_column(pa.chunked_array(decoded, kind.value_type), name)
        plain_kind = _plain_type(kind, name)
        return column if plain_kind == kind else column.cast(plain_kind)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise _unreadable(name, described(kind)) from error


def _is_category(column: pa.ChunkedArray) -> bool:
    """Return whether a column is a dictionary of texts without null."""
    return is_text(column.type.value_type) and not any(
        chunk.dictionary.null_count for chunk in column.chunks
    )


def _plain_type(kind: pa.DataType, name: str) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        return _plain_decimal(kind)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        _check_zone(kind.tz, name)
        return kind
    if pa.types.is_union(kind):
        raise _unreadable(name, "values of several types")
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        raise _unreadable(name, "views of lists")  # Arrow's cast breaks those that have nulls
    return _plain_nested(kind, name) if pa.types.is_nested(kind) else kind


def _plain_nested(kind: pa.DataType, name: str) -> pa.DataType:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    inner = [field.with_type(_plain_type(field.type, name)) for field in fields]
    if inner == fields:
        return kind
    if pa.types.is_struct(kind):
        return pa.struct(inner)
    if pa.types.is_list(kind):
        return pa.list_(inner[0])
    if pa.types.is_large_list(kind):
        return pa.large_list(inner[0])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner[0], kind.list_size)
    raise _unreadable(name, described(kind))


def _plain_decimal(kind: pa.DataType) -> pa.DataType:
    digits, scale = kind.precision - min(kind.scale, 0), max(kind.scale, 0)
    if pa.types.is_decimal256(kind) or digits > 38:
        return pa.decimal256(min(digits, _MOST_DIGITS), scale)
    return pa.decimal128(digits, scale)


def _check_zone(zone: str, name: str) -> None:
    if zone[:1] in "+-":
        return
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise StreamError(
            f"the column '{name}' holds times in the zone '{zone}', which is not a known time zone",
            expected="an IANA name such as Europe/Copenhagen, or an offset such as +02:00",
            hint="convert the column, or leave it out by columns=",
        ) from None


def _unreadable(name: str, what: str) -> StreamError:
    return StreamError(
        f"the column '{name}' holds {what}, which cannot be read",
        expected="values of one plain type",
        hint="convert that column, or leave it out by columns=",
    )


ArrowColumn: TypeAlias = pa.Array | pa.ChunkedArray


def single(column: ArrowColumn) -> pa.Array:
    """Return the column as one array, without a copy if it is one already."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def raw(array: pa.Array, dtype: type[np.generic]) -> npt.NDArray[np.generic]:
    """Return a read-only view of an array's values; undefined where it is null.

    Args:
        array: Of a type with values of fixed width, at least a byte.
        dtype: The NumPy type of that width.
    """
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype=dtype)
    width = np.dtype(dtype).itemsize
    return np.frombuffer(buffer, dtype=dtype, count=len(array), offset=array.offset * width)


def nulls(array: ArrowColumn) -> npt.NDArray[np.bool_] | None:
    """Return for each value whether it is null; None if none is."""
    if not array.null_count:
        return None
    return filled(array.is_null().cast(pa.uint8()), np.bool_, False, np.uint8)


def filled(
    column: ArrowColumn,
    dtype: Any,
    missing: Any,
    stored: type[np.generic] | None = None,
    into: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Return a column's values in a new array, with `missing` where they are null.

    Args:
        column: As for `raw`, in one part or several; each is copied once.
        dtype: The NumPy type of the new array.
        missing: A value of it.
        stored: The NumPy type of the values; None for the same.
        into: The array to fill; None for a new one.
    """
    values = np.empty(len(column), dtype) if into is None else into
    begin = 0
    for part in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
        own = values[begin : begin + len(part)]
        own[:] = raw(part, stored or dtype)
        if part.null_count:
            own[nulls(part)] = missing
        begin += len(part)
    return values


def integers(values: npt.NDArray[np.int64]) -> pa.Array:
    """Return 64-bit integers as an array; `pa.array` would import pandas."""
    stored = pa.py_buffer(np.ascontiguousarray(values, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(values), [None, stored])


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of this Arrow type are numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Return whether values of this Arrow type are lists."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def described(kind: pa.DataType) -> str:
    """Describe the values of an Arrow type, independent of who made the column."""
    if pa.types.is_dictionary(kind):
        return described(kind.value_type)
    if is_list(kind):
        return f"lists of {described(kind.value_type)}"
    return next((words for is_such, words in _WORDS if is_such(kind)), str(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of this Arrow type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


_WORDS = (
    (is_text, "texts"),
    (pa.types.is_boolean, "truth values"),
    (pa.types.is_decimal, "decimals"),
    (pa.types.is_timestamp, "timestamps"),
    (pa.types.is_date, "dates"),
    (pa.types.is_time, "times of day"),
    (pa.types.is_duration, "durations"),
    (pa.types.is_map, "maps"),
    (pa.types.is_struct, "structs"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "bytes"),
)
