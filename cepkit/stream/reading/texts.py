"""Texts as codes into a sorted dictionary; codes compare like the texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.lazy import pa, pc
from cepkit.stream.reading.arrow import ArrowColumn, described, filled, is_text, raw, single
from cepkit.stream.schema import ONLY_TYPE

Codes = npt.NDArray[np.int32]
Texts = npt.NDArray[np.object_]

_MANY = 10_000
_BLOCK = 1 << 15


def encode(column: ArrowColumn) -> tuple[Codes, Texts]:
    """Return texts as codes and the distinct texts in ascending order (of code points).

    Args:
        column: A column of any text type, or a dictionary of one.

    Returns:
        int32 codes, -1 for null, in a new array; and the texts, which for a dictionary column
        may hold some that do not occur.
    """
    codes, values = _distinct(column)
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
    for begin in range(0, len(codes), _BLOCK):
        occurs[codes[begin : begin + _BLOCK]] = True
        if occurs.all():  # mostly after a block or two
            break
    if occurs.all():
        return codes, texts
    renumbered = (np.cumsum(occurs) - 1).astype(np.int32)
    return renumbered[codes], texts[occurs]


def _distinct(column: ArrowColumn) -> tuple[Codes, pa.Array]:
    """Return codes (-1 for null) and the dictionary that they point into."""
    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([column])
    encoded = pa.types.is_dictionary(column.type)
    column = column.unify_dictionaries() if encoded else column.dictionary_encode()
    if not column.num_chunks:
        return np.empty(0, dtype=np.int32), pa.array([], pa.string())
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks])
    codes = filled(indices, np.int32, -1, indices.type.to_pandas_dtype())
    return codes, column.chunk(0).dictionary


def _sorted(codes: Codes, values: pa.Array, *, distinct: bool) -> tuple[Codes, Texts]:
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
    return renumbered[codes], texts


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
