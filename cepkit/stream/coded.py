"""Columns of texts as codes into a dictionary, for a table in which they count as texts.

A dictionary that the user made is a category and stays one; codes are a faster form of the same
texts. A mark on the field tells the two apart.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

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
