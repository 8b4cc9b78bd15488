"""Arrow memory as NumPy arrays, without Arrow's detours through floats and objects."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ArrowColumn: TypeAlias = pa.Array | pa.ChunkedArray


def single(column: ArrowColumn) -> pa.Array:
    """Return the column as one array; nothing is copied where it is one already."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def raw(array: pa.Array, dtype: type[np.generic]) -> npt.NDArray[np.generic]:
    """Return a read-only view of an array's values; undefined where the array is null.

    Args:
        array: Of a type with values of fixed width, at least a byte.
        dtype: The NumPy type of that width.
    """
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype=dtype)
    width = np.dtype(dtype).itemsize
    return np.frombuffer(buffer, dtype=dtype, count=len(array), offset=array.offset * width)


def nulls(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Return, for each value, whether it is null; None where none is."""
    if not array.null_count:
        return None
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of this Arrow type are texts."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
