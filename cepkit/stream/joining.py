"""The merge of two parts of a stream: the events that a detector holds, and new ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.lazy import pa
from cepkit.stream.columns import MISSING_INTEGER, Column, EventColumns


def joined(one: EventColumns, other: EventColumns) -> EventColumns:
    """Return the events of both parts in stream order.

    Args:
        one: Events with arrival numbers.
        other: Other events of the same stream, with arrival numbers.

    Raises:
        StreamError: A column has values of another kind than before.
    """
    assert one.arrivals is not None
    assert other.arrivals is not None
    ts = np.concatenate([one.ts, other.ts])
    arrivals = np.concatenate([one.arrivals, other.arrivals])
    order = np.lexsort((arrivals, ts))
    names = tuple(dict.fromkeys((*one.type_names, *other.type_names)))
    renamed = np.array([names.index(name) for name in other.type_names], dtype=np.int32)
    types = np.concatenate([one.types, renamed[other.types]])
    rows = np.concatenate(
        [
            one.source_rows(np.arange(len(one))),
            other.source_rows(np.arange(len(other))) + one.source.num_rows,
        ]
    )
    return EventColumns(
        ts=ts[order],
        types=types[order],
        type_names=names,
        attributes={
            name: _joined(column, other.attributes[name], name).take(order)
            for name, column in one.attributes.items()
        },
        carried=pa.concat_tables([one.source, other.source], promote_options="permissive"),
        rows=rows[order],
        dropped=one.dropped + other.dropped,
        arrivals=arrivals[order],
        by_arrival=one.by_arrival,
    )


def kept(columns: EventColumns, events: npt.NDArray[np.integer]) -> EventColumns:
    """Return a copy of some events, so that the others can be freed."""
    return EventColumns(
        ts=columns.ts[events],
        types=columns.types[events],
        type_names=columns.type_names,
        attributes={name: column.take(events) for name, column in columns.attributes.items()},
        carried=columns.source.take(pa.array(columns.source_rows(events))),
        arrivals=None if columns.arrivals is None else columns.arrivals[events],
        places=None if columns.places is None else columns.places[events],
        by_arrival=columns.by_arrival,
    )


def _joined(one: Column, other: Column, name: str) -> Column:
    missing = one.has_missing or other.has_missing
    if one.kind != other.kind:
        one, other = _as(one, other, name), _as(other, one, name)
    if one.kind == "text":
        texts = np.union1d(one.dictionary, other.dictionary)
        codes = [_recoded(column, texts) for column in (one, other)]
        return Column("text", np.concatenate(codes), texts, missing)
    values = [one.values, other.values]
    if one.kind == "array":
        width = max(part.shape[1] for part in values)
        padding = [((0, 0), (0, width - part.shape[1])) for part in values]
        values = [
            np.pad(part, pad, constant_values=np.nan)
            for part, pad in zip(values, padding, strict=True)
        ]
    return Column(one.kind, np.concatenate(values), has_missing=missing)


def _recoded(column: Column, texts: npt.NDArray[np.object_]) -> npt.NDArray[np.int32]:
    # One more place at the end, because -1 indexes it.
    codes = np.append(np.searchsorted(texts, column.dictionary), -1).astype(np.int32)
    return np.asarray(codes[column.values])


def _as(column: Column, other: Column, name: str) -> Column:
    """Convert a column to the other's kind, if one kind can represent the other."""
    if column.kind == "null":
        values = {
            "float": np.nan,
            "integer": MISSING_INTEGER,
            "timestamp": MISSING_INTEGER,
            "duration": MISSING_INTEGER,
            "boolean": -1,
            "text": -1,
            "array": np.nan,
        }
        shape = (len(column.values), *other.values.shape[1:])
        filled = np.full(shape, values[other.kind], dtype=other.values.dtype)
        return Column(other.kind, filled, other.dictionary, has_missing=True)
    if column.kind == "integer" and other.kind == "float":
        floats = np.where(column.missing(), np.nan, column.values.astype(np.float64))
        return Column("float", floats, has_missing=column.has_missing)
    if other.kind == "null" or (column.kind == "float" and other.kind == "integer"):
        return column
    raise StreamError(
        f"the column '{name}' held values of the kind {column.kind} before and holds"
        f" {other.kind} values now",
        expected="one kind of values in all parts of a stream",
    )
