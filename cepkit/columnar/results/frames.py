"""Matches as tables and DataFrames that fit the memory.

A nested DataFrame has a dictionary for each event, a list of them for each set. Arrow's own
conversion would turn times inside an event into plain numbers, and large integers beside missing
values into inexact ones.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.results.flat import flat_batch, flat_frame, flat_schema
from cepkit.lazy import pa, pc, pd, with_frames
from cepkit.memory import Room
from cepkit.stream.values import in_known_zone

_PIECE = 8 << 20
"""Arrow bytes to convert at a time; as dictionaries they take ten times as many."""
_WEIGHED = 64
"""The number of rows of a frame, and of members of a set, to measure for a size estimate."""


@contextmanager
def ended(results: Iterable[object]) -> Iterator[None]:
    """End a search at an error as well: a stored traceback would keep its threads and results."""
    try:
        yield
    finally:
        if isinstance(results, Generator):
            results.close()


def table_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema, room: Room) -> pa.Table:
    """Return matches as one table.

    Raises:
        LimitError: They do not fit; all of them are released.
    """
    held: list[pa.RecordBatch] = []
    try:
        with ended(batches):
            for batch in batches:
                room.take(len(batch), _bytes_of(batch))
                held.append(batch)
        return pa.Table.from_batches(held, schema=schema)
    except MemoryError:
        raise room.full() from None
    finally:
        held.clear()  # a stored traceback would keep them alive


def frame_of(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    room: Room,
    *,
    nested: bool = False,
    may_lack: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return matches as one DataFrame; as `table_of`.

    Args:
        batches: The matches, with a struct for each variable.
        nested: Whether each variable is a column of events, or each attribute one.
        may_lack: Of attributes, the columns in which values may be missing (see `flat_frame`).
    """
    with ended(batches):
        pieces = _pieces(batches, schema)
        if nested:
            return _nested_of(pieces, schema, room)
        flat = (flat_batch(piece.combine_chunks().to_batches()[0]) for piece in pieces)
        table = table_of(flat, flat_schema(schema), room)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    del table  # each column is released once converted
    try:
        return flat_frame(columns, may_lack)
    except MemoryError:
        raise room.full() from None
    finally:
        columns.clear()


def _nested_of(pieces: Iterable[pa.Table], schema: pa.Schema, room: Room) -> pd.DataFrame:
    held: list[pd.DataFrame] = []
    try:
        for piece in pieces:
            held.append(to_frame(piece))
            room.take(len(piece), _weight(held[-1]))
        nothing = pa.Table.from_batches([], schema)  # of any type, unlike Arrow's own empty table
        return pd.concat(held, ignore_index=True) if held else to_frame(nothing)
    except MemoryError:
        raise room.full() from None
    finally:
        held.clear()


def _pieces(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield matches as tables of about equal size: merge small batches, split large ones."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        bytes_in_all = _bytes_of(batch)
        rows = max(1, len(batch) * _PIECE // max(bytes_in_all, 1))
        for begin in range(0, len(batch), rows):
            held.append(batch.slice(begin, rows))
            size += bytes_in_all * len(held[-1]) // len(batch)
            if size >= _PIECE:
                yield pa.Table.from_batches(held, schema=schema)
                held, size = [], 0
    if held:
        yield pa.Table.from_batches(held, schema=schema)


def _bytes_of(batch: pa.RecordBatch) -> int:
    """Return the bytes of a batch without the dictionaries that it shares with the stream."""
    return int(batch.nbytes - batch.slice(0, 0).nbytes)


def _weight(frame: pd.DataFrame) -> int:
    """Return the approximate bytes of a frame with its contents."""
    some = np.unique(np.linspace(0, len(frame) - 1, _WEIGHED).astype(int))
    seen: set[int] = set()
    objects = [frame[name].to_numpy() for name in frame if frame[name].dtype == object]
    inside = sum(_size(column[row], seen) for column in objects for row in some)
    return int(frame.memory_usage(index=False).sum() + inside / len(some) * len(frame))


def _size(value: object, seen: set[int]) -> float:
    """Return the bytes of a value and of its contents, each object once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    inside = 0.0
    match value:
        case dict():
            inside = sum(_size(one, seen) for one in value.values())
        case list():
            some = value[:: -(-len(value) // _WEIGHED) or 1]
            inside = sum(_size(one, seen) for one in some) / len(some or [1]) * len(value)
        case np.ndarray() if value.base is not None:
            inside = value.nbytes
        case _:
            pass
    return sys.getsizeof(value) + inside


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return matches as a DataFrame in which each event is a dictionary of its columns."""
    return pd.DataFrame({name: _series(table.column(name)) for name in table.column_names})


def records(table: pa.Table) -> list[dict[str, Any]]:
    """Return matches as dictionaries of their variables, as `to_frame` has them."""
    rows: list[Any] = to_frame(table).to_dict("records") if with_frames() else table.to_pylist()
    return rows


def _series(column: pa.ChunkedArray) -> pd.Series[Any]:
    if pa.types.is_struct(column.type):
        return pd.Series(_events(column))
    if pa.types.is_list(column.type):
        events = pa.types.is_struct(column.type.value_type)
        return pd.Series(_sets(column) if events else column.to_pylist(), dtype=object)
    series: pd.Series[Any] = in_known_zone(column).to_pandas(integer_object_nulls=True)
    return series


def _events(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """Return the events of a column as dictionaries, None where there is none."""
    there = column.is_valid().to_numpy()
    events = np.full(len(column), None, dtype=object)
    if not there.any():  # Arrow cannot filter a column without chunks
        return events
    names = [field.name for field in column.type]
    parts = map(_objects, column.filter(pa.array(there)).flatten())
    for row, values in zip(np.flatnonzero(there), zip(*parts, strict=True), strict=True):
        events[row] = dict(zip(names, values, strict=True))
    return events


def _objects(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Return values as objects; a missing text is None, which pandas 3 makes NaN of."""
    series: pd.Series[Any] = in_known_zone(column).to_pandas(integer_object_nulls=True)
    objects = series.astype(object)
    if series.dtype == "str":
        objects.loc[series.isna()] = None
    return objects


def _sets(column: pa.ChunkedArray) -> npt.NDArray[np.object_]:
    """Return the sets of a column as lists of events, None where there is none."""
    there = column.is_valid().to_numpy()
    sets = np.full(len(column), None, dtype=object)
    if not there.any():
        return sets
    each = column.filter(pa.array(there))
    members = _events(pa.chunked_array([c.flatten() for c in each.chunks], each.type.value_type))
    ends = np.cumsum(pc.list_value_length(each).to_numpy(), dtype=np.int64)
    for row, begin, end in zip(np.flatnonzero(there), [0, *ends], ends, strict=False):
        sets[row] = list(members[begin:end])
    return sets
