"""Columns of texts as codes into a dictionary, for a table in which they count as texts.

A dictionary that the user made is a category and stays one; codes are a faster form of the same
texts. A mark on the field tells the two apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.compiling import compiled
from cepkit.lazy import pa

Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_FIRST_SIZE, _GROWTH = 1 << 12, 4
_MULTIPLIER, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def value_codes(values: npt.NDArray[Any]) -> tuple[Codes, int]:
    """Return a code for each value, equal for equal values, -1 for NaN; and the number of codes.

    Codes are in the order in which values first occur.

    Args:
        values: Integers, floats or truth values.
    """
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if missing.any():
            codes = np.full(len(values), -1, dtype=np.int32)
            codes[~missing], number = value_codes(values[~missing])
            return codes, number
        words = (values.astype(np.float64) + 0.0).view(np.uint64)  # no -0.0
    else:
        words = values.astype(np.uint64)
    codes = np.empty(len(words), dtype=np.int32)
    size, kinds, done, number = _FIRST_SIZE, words[:0], 0, 0
    while True:
        old_kinds, kinds = kinds[:number], np.empty(size // 2, dtype=np.uint64)
        table = np.full(size, -1, dtype=np.int32)
        _, number = _number(old_kinds, np.empty(number, dtype=np.int32), kinds, 0, table)
        more, number = _number(words[done:], codes[done:], kinds, number, table)
        done += more
        if done == len(words):
            return codes, number
        size *= _GROWTH


@compiled
def _number(
    values: Words, codes: Codes, kinds: Words, number: int, table: Codes
) -> tuple[int, int]:
    """Write the codes of values until the table is full.

    Args:
        codes: The target for their codes.
        kinds: The distinct values by their codes; half as long as the table.
        number: The number of distinct values so far.
        table: The hash table: the code of a value at its place or the next free one, else -1.

    Returns:
        The number of values with a code, and the number of distinct values.
    """
    last = np.uint64(len(table) - 1)
    for row in range(len(values)):
        value = values[row]
        place = ((value ^ value >> _SHIFT) * _MULTIPLIER >> _SHIFT) & last
        while table[place] >= 0 and kinds[table[place]] != value:
            place = (place + np.uint64(1)) & last
        code = table[place]
        if code < 0:
            if number == len(kinds):
                return row, number
            code = table[place] = number
            kinds[number] = value
            number += 1
        codes[row] = code
    return len(values), number


_MARK = {b"texts": b"as codes"}
_MOST_BYTES = (1 << 31) - 1


def coded_field(name: str, kind: pa.DataType) -> pa.Field:
    """Return the field of a column of texts that are codes into a dictionary."""
    return pa.field(name, kind, metadata=_MARK)


def is_coded(field: pa.Field) -> bool:
    """Return whether the column is codes that count as texts."""
    return bool(field.metadata == _MARK)


def decoded(table: pa.Table) -> pa.Table:
    """Return the table with texts instead of codes."""
    for place, field in enumerate(table.schema):
        if is_coded(field):
            texts = [chunk.dictionary_decode() for chunk in table.column(place).chunks]
            column = pa.chunked_array(texts, field.type.value_type)
            table = table.set_column(place, field.name, column)
    return table


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of the table with texts instead of codes."""
    return pa.schema(
        [pa.field(f.name, f.type.value_type) if is_coded(f) else f for f in schema],
    )


def texts_at(column: pa.DictionaryArray, at: pa.Array) -> pa.Array:
    """Return the texts of some rows, null where `at` is."""
    indices = column.indices.take(at)
    if len(indices) and not indices.null_count:
        codes = indices.to_numpy()
        text = column.dictionary[int(codes[0])].as_buffer().to_pybytes()
        if codes.min() == codes.max() and len(text) * len(codes) < _MOST_BYTES:
            return _repeated(text, len(codes))
    return column.dictionary.take(indices)


def _repeated(text: bytes, number: int) -> pa.Array:
    """Return a text `number` times; `pa.repeat` takes seven times as long."""
    ends = np.arange(number + 1, dtype=np.int32) * np.int32(len(text))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(text * number)]
    return pa.Array.from_buffers(pa.string(), number, buffers)
