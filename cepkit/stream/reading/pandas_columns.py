"""Columns of pandas as Arrow columns.

pandas holds texts as Python objects, mostly few objects that occur many times. Then each object is
converted once, and rows are integers, the addresses of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.indexing import value_codes
from cepkit.lazy import pa, pc, pd
from cepkit.stream.columns import MISSING_INTEGER, coded_field, decoded
from cepkit.stream.reading.arrow import ArrowColumn, integers, is_text
from cepkit.stream.reading.nested import flattened, has_fields

# The errors of pyarrow for values that it has no type for.
UNREADABLE = (pa.ArrowException, OverflowError, TypeError, ValueError)

_SAMPLE = 1000
"""The size of the sample that decides whether a column has few distinct objects."""
_BLOCK = 1 << 14
_MOST_BYTES = (1 << 31) - 1
"""The most bytes of texts in an Arrow array."""


def from_pandas(
    rows: Any,
    names: Sequence[str] | None = None,
    places: Sequence[int] | None = None,
    *,
    coded: bool = False,
) -> pa.Table:
    """Return columns of a pandas DataFrame as a table; later changes of the frame are not in it.

    Args:
        rows: The DataFrame.
        names: The names of the columns in the table; None: as in the frame.
        places: The numbers of the columns, as their names need not be texts; None for all.
        coded: Whether objects that are texts may become codes into a dictionary (see `decoded`).

    Raises:
        StreamError: Arrow has no type for the values of a column.
    """
    places = range(rows.shape[1]) if places is None else places
    names = [str(rows.columns[place]) for place in places] if names is None else names
    try:
        columns = [_column(rows.iloc[:, place]) for place in places]
        fields = [pa.field(name, one.type) for name, one in zip(names, columns, strict=True)]
    except UNREADABLE as error:
        raise _unreadable(rows.iloc[:, list(places)], error) from error
    for number, (name, place, column) in enumerate(zip(names, places, columns, strict=True)):
        if str(rows.dtypes.iloc[place]) == "object":
            refuse_mixed_zones(column.type, rows.iloc[:, place], rows.columns[place])
            if pa.types.is_dictionary(column.type):
                fields[number] = coded_field(name, column.type)
    table = pa.table(columns, pa.schema(fields))
    return table if coded else decoded(table)


def refuse_mixed_zones(kind: pa.DataType, values: Iterable[Any], name: object) -> None:
    """Refuse times if only some have a zone, or among dates.

    Arrow would take the others for UTC, and cut off the times of day.

    Raises:
        StreamError: There are such times.
    """
    if pa.types.is_date(kind):
        for row, value in enumerate(values):
            if isinstance(value, datetime) and value == value:
                raise StreamError(
                    f"the column '{name}' holds {value} in row {row}, which has a time of day, and"
                    " dates, which have none (rows count from 0)",
                    expected="times alone, or dates alone",
                    hint="make times of all of them: pd.to_datetime(column)",
                )
    if not pa.types.is_timestamp(kind):
        return
    by_zone: dict[bool, tuple[int, object]] = {}
    for row, value in enumerate(values):
        if isinstance(value, datetime) and value == value:  # NaT is unequal to itself
            by_zone.setdefault(value.tzinfo is not None, (row, value))
    if len(by_zone) == 2:
        (naive_row, naive), (zoned_row, zoned) = by_zone[False], by_zone[True]
        raise StreamError(
            f"the column '{name}' holds {naive} in row {naive_row}, which names no time zone, and"
            f" {zoned} in row {zoned_row}, which does (rows count from 0)",
            expected="times that all name a zone, or none",
            hint="give the others the zone of their clock: time.replace(tzinfo=...)",
        )


def _column(values: Any) -> ArrowColumn:
    """Return a column; texts among objects are codes if few objects occur many times."""
    if hasattr(values, "sparse"):
        values = values.sparse.to_dense()
    if values.dtype == object:
        objects = np.ascontiguousarray(values.to_numpy())
        few = _of_few(objects)
        return pa.array(objects, from_pandas=True) if few is None else few
    # A search for missing values is cheaper than the mask that Arrow would make.
    if isinstance(values.dtype, np.dtype) and values.dtype.kind == "f":
        floats = values.to_numpy(copy=True)
        return pa.array(floats, from_pandas=bool(np.isnan(np.min(floats, initial=0))))
    if isinstance(values.dtype, np.dtype | pd.DatetimeTZDtype) and values.dtype.kind in "Mm":
        stored = values.astype(np.int64).to_numpy(copy=True)  # pandas 3 may cast without a copy
        if stored.min(initial=0) != MISSING_INTEGER:
            return integers(stored).view(pa.array(values.iloc[:0], from_pandas=True).type)
    return pa.array(values.copy(), from_pandas=True)


def _of_few(objects: npt.NDArray[np.object_]) -> pa.Array | None:
    """Return objects in Arrow, texts as codes; None if objects hardly occur twice.

    Raises:
        ArrowException: Arrow has no type for them, like other errors of `UNREADABLE`.
    """
    if not len(objects):
        return None
    addresses = np.frombuffer(objects, np.intp)
    sample = addresses[:: max(1, len(addresses) // _SAMPLE)]
    if 2 * len(np.unique(sample)) > len(sample):
        return None
    codes, _ = value_codes(addresses)
    values = pa.array(objects[_first_places(codes)], from_pandas=True)
    if pa.types.is_primitive(values.type):
        return values.take(pa.array(codes))
    if not is_text(values.type) or isinstance(values, pa.ChunkedArray):
        return None
    if (pc.max(pc.binary_length(values)).as_py() or 0) * len(codes) > _MOST_BYTES:
        return None
    if not values.null_count:
        return pa.DictionaryArray.from_arrays(pa.array(codes), values)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    numbers = (np.cumsum(valid) - 1).astype(np.int32)
    indices = pa.array(numbers[codes], mask=~valid[codes])
    return pa.DictionaryArray.from_arrays(indices, values.drop_null())


def _first_places(codes: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Return the first place of each code; codes are numbered in this order."""
    places = [np.empty(0, np.intp)]
    count = 0
    for begin in range(0, len(codes), _BLOCK):
        block = codes[begin : begin + _BLOCK]
        number = int(block.max()) + 1
        if number > count:  # in few blocks
            new = np.searchsorted(np.maximum.accumulate(block), np.arange(count, number))
            places.append(new + begin)
            count = number
    return np.concatenate(places)


def _unreadable(rows: Any, error: Exception) -> StreamError:
    """Return the error for a frame that Arrow cannot take, with its first bad column."""
    what = "the DataFrame"
    for place, name in enumerate(rows.columns):
        try:
            pa.Table.from_pandas(rows.iloc[:, [place]], preserve_index=False)
        except UNREADABLE as reason:
            what, error = f"the column '{name}' of the DataFrame", reason
            break
    detail = error.args[0] if isinstance(error, pa.ArrowException) and error.args else error
    return StreamError(
        f"{what} cannot be read: {detail}",
        expected="values of one type in each column",
        hint="convert that column, or leave it out by columns=",
    )


def flattened_pandas(frame: Any) -> Any:
    """Return a pandas DataFrame with a column for each key of dictionaries, at any depth.

    A column stays if Arrow has no type for its values.
    """
    parts = {}
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place]
        if not _holds_structs(values):
            continue
        try:
            column = pa.chunked_array([pa.array(values, from_pandas=True)])
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
        table = flattened(pa.table({str(name): column}))
        columns = {
            field: pd.Series(pd.arrays.ArrowExtensionArray(table.column(field)), frame.index)
            for field in table.column_names
        }
        parts[place] = pd.DataFrame(columns, frame.index)
    if not parts:
        return frame
    places = range(frame.shape[1])
    return pd.concat([parts.get(n, frame.iloc[:, n : n + 1]) for n in places], axis=1)


def _holds_structs(values: Any) -> bool:
    """Return whether the first value of a pandas column that is not missing is a dictionary."""
    if isinstance(values.dtype, pd.ArrowDtype):
        return has_fields(values.dtype.pyarrow_dtype)
    if values.dtype != object:
        return False
    present = (value for value in values if value is not None and not isinstance(value, float))
    return isinstance(next(present, None), dict)
