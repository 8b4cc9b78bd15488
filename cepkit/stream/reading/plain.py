"""Arrow columns converted to a few plain types.

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

import pyarrow as pa

from cepkit.errors import StreamError
from cepkit.lazy import pc
from cepkit.stream.reading.arrow import described, is_text

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
