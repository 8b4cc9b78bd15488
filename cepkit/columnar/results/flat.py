"""Flat matches, with a column `a.price` for each attribute, and back to nested ones.

A variable with a dot or a double quote in its name is quoted as in a pattern: `"a.b".price`. So
names of columns are unique and determine the variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from cepkit.columnar.results.output import END, START, MatchColumns
from cepkit.lazy import pa, pc, pd
from cepkit.pattern.conditions import Attribute
from cepkit.pattern.names import name_text, unquoted
from cepkit.pattern.query import ResultColumn
from cepkit.stream.values import in_known_zone

_NAME = re.compile(r'("(?:[^"]|"")*"|[^."]+)\.(.*)', re.DOTALL)
_SEVERAL = (list, tuple, np.ndarray)
_LARGE, _JOINED = 1 << 20, 1 << 30
"""Bytes of a column that is released at once, and of a column that becomes a single chunk.

32-bit offsets of texts and lists end at twice as many.
"""


def flat_name(variable: str, attribute: str) -> str:
    """Return the name of the column of an attribute."""
    quoted = name_text(variable) if set(variable) & set('."') else variable
    return f"{quoted}.{attribute}"


def parts_of(name: str) -> tuple[str, str] | None:
    """Return the variable and the attribute of a flat column; None for any other column."""
    parts = _NAME.fullmatch(name)
    return None if parts is None else (unquoted(parts[1]), parts[2])


def flat_columns(columns: MatchColumns, names: Iterable[str]) -> MatchColumns:
    """Return the columns of matches with one for each attribute of each variable."""
    if columns.returned:
        return columns
    attributes = product(columns.variables, names)
    flat = (ResultColumn(flat_name(v, name), Attribute(v, name)) for v, name in attributes)
    return replace(columns, returned=tuple(flat))


def flat_schema(schema: pa.Schema) -> pa.Schema:
    """Return the flat columns of matches with a struct, or a list of structs, per variable."""
    fields = []
    for field in schema:
        event = _event_of(field.type)
        for each in event or ():
            # The name of list items in Spark and Parquet.
            several = pa.list_(pa.field("element", each.type))
            kind = each.type if pa.types.is_struct(field.type) else several
            fields.append(pa.field(flat_name(field.name, each.name), kind))
        if event is None:
            fields.append(field)
    return pa.schema(fields)


def _event_of(kind: pa.DataType) -> pa.StructType | None:
    """Return the type of an event in a column of events or of sets; None: it has neither."""
    inner = kind.value_type if pa.types.is_list(kind) else kind
    return inner if pa.types.is_struct(inner) else None


def flat_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return matches with flat columns; those of a set are lists."""
    columns: list[pa.Array] = []
    for column in batch.columns:
        if _event_of(column.type) is None:
            columns.append(column)
        else:
            columns += column.flatten() if pa.types.is_struct(column.type) else _lists(column)
    return pa.RecordBatch.from_arrays(columns, schema=flat_schema(batch.schema))


def _lists(sets: pa.ListArray) -> list[pa.Array]:
    """Return for each attribute of the events in lists a list of its values."""
    sizes = pc.fill_null(pc.list_value_length(sets), 0).to_numpy()
    starts = pa.array(np.append(0, np.cumsum(sizes)).astype(np.int32))
    mask = sets.is_null() if sets.null_count else None
    return [
        pa.ListArray.from_arrays(
            starts, values, pa.list_(pa.field("element", values.type)), mask=mask
        )
        for values in sets.flatten().flatten()
    ]


def flat_frame(
    columns: dict[str, pa.ChunkedArray], may_lack: Collection[str] | None
) -> pd.DataFrame:
    """Return flat columns as a DataFrame.

    Args:
        columns: The columns by name; each is released once converted to a series.
        may_lack: Columns that may have missing values; None: those that do have some.
    """
    series = {}
    for name in list(columns):
        column = columns.pop(name)
        lacks = bool(column.null_count) if may_lack is None else name in may_lack
        size = column.nbytes
        series[name] = series_of(column, lacks=lacks)
        del column
        if size > _LARGE:  # memory that Arrow keeps is not available to NumPy
            pa.default_memory_pool().release_unused()
    return pd.DataFrame(series, copy=False)


def series_of(column: pa.ChunkedArray, *, lacks: bool) -> pd.Series[Any]:
    """Return a column in NumPy if that can hold its values, else in Arrow."""
    if not is_numpy(column.type, lacks=lacks):
        if not _is_known(column.type):
            return pd.Series(column.to_pylist(), dtype=object)
        if column.num_chunks > 1 and column.nbytes < _JOINED:
            column = column.combine_chunks()
        return pd.Series(pd.arrays.ArrowExtensionArray(column))
    series: pd.Series[Any] = in_known_zone(column).to_pandas()
    # A view belongs to Arrow and is not writable.
    return series if column.num_chunks > 1 else series.copy()


def is_numpy(kind: pa.DataType, *, lacks: bool) -> bool:
    """Return whether NumPy, or a category of pandas, holds all values of a type."""
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return not lacks
    return bool(
        pa.types.is_floating(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_dictionary(kind)
    )


def _is_known(kind: pa.DataType) -> bool:
    """Return whether pandas can show a type; it cannot show months and UUIDs."""
    try:
        return pd.ArrowDtype(kind).type is not None
    except NotImplementedError:
        return False


def nested_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return matches with a column of events for each variable, whether or not they are flat.

    Args:
        frame: The result of `to_pandas`, flat or nested, or Spark's. From a flat one only columns
            of events, start and end are kept.
    """
    columns: dict[str, Any] = {}
    events: dict[str, dict[str, list[Any]]] = {}
    whole = {START, END}
    for name in map(str, frame.columns):
        parts = None
        if _holds_events(frame[name]):
            whole.add(name)
        else:
            parts = parts_of(name)
        if parts is None:
            columns[name] = frame[name].reset_index(drop=True)
            continue
        variable, attribute = parts
        values = frame[name]
        columns[variable] = None
        events.setdefault(variable, {})[attribute] = [
            None if missing else value for value, missing in zip(values, values.isna(), strict=True)
        ]
    for variable, attributes in events.items():
        columns[variable] = pd.Series(_bound(attributes), dtype=object)
    if events:
        columns = {name: columns[name] for name in columns if name in events or name in whole}
    return pd.DataFrame(columns)


def _holds_events(values: pd.Series[Any]) -> bool:
    """Return whether a column holds whole events instead of an attribute."""
    there = values.dropna() if values.dtype == object else values[:0]
    first = there.iloc[0] if len(there) else None
    if isinstance(first, _SEVERAL) and len(first):
        first = first[0]
    return isinstance(first, Mapping) or hasattr(first, "asDict")


def _bound(attributes: Mapping[str, list[Any]]) -> list[Any]:
    """Return the binding of a variable in each match: an event, a set of events, or None."""
    rows = [
        dict(zip(attributes, values, strict=True))
        for values in zip(*attributes.values(), strict=True)
    ]
    filled = [row for row in rows if any(value is not None for value in row.values())]
    # The time of an event is never a list, so if all attributes are lists it is a set.
    if filled and all(
        value is None or isinstance(value, _SEVERAL) for row in filled for value in row.values()
    ):
        return [_members(row) for row in rows]
    return [row if any(value is not None for value in row.values()) else None for row in rows]


def _members(lists: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    there = {name: values for name, values in lists.items() if values is not None}
    if not there:
        return None
    return [dict(zip(there, member, strict=True)) for member in zip(*there.values(), strict=True)]
