"""Arrow memory as NumPy arrays, without Arrow's detours through floats and objects."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
    column: ArrowColumn, dtype: Any, missing: Any, stored: type[np.generic] | None = None
) -> npt.NDArray[Any]:
    """Return a column's values in a new array, with `missing` where they are null.

    Args:
        column: As for `raw`, in one part or several; each is copied once.
        dtype: The NumPy type of the new array.
        missing: A value of it.
        stored: The NumPy type of the values; None for the same.
    """
    values = np.empty(len(column), dtype)
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
