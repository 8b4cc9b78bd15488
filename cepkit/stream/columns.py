"""Events as time-sorted NumPy columns.

Null and NaN are both missing. Each kind marks a missing value in one way: NaN in floats,
`MISSING_INTEGER` in integers, times and durations, -1 in codes of texts and in truth values, an
all-NaN row in arrays. So no column needs a validity mask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.indexing import taken
from cepkit.lazy import pa

Kind: TypeAlias = Literal[
    "float", "integer", "boolean", "text", "timestamp", "duration", "array", "null"
]

MISSING_INTEGER = np.iinfo(np.int64).min
"""Stands for null in columns of integers, times and durations."""

TIME = "\x01time"
"""The attribute name of an event's time, independent of the stream's column name."""

_MARK = {b"texts": b"as codes"}
_MOST_BYTES = (1 << 31) - 1

NO_TEXTS: npt.NDArray[np.object_] = np.empty(0, dtype=object)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Column:
    """One attribute of all events, in stream order.

    Attributes:
        kind: The kind of the values.
        values: float: float64; integer, timestamp (microseconds since 1970) and duration
            (microseconds): int64;
            boolean: int8 (1, 0); text: int32 codes into `dictionary`; array: float64 with
            a row for each event, all of one length; null (no values, so the kind is unknown): NaN.
        dictionary: The distinct texts in ascending order (object array of str), so that codes
            compare as the texts do; empty for other kinds.
        has_missing: Whether any value is missing.
        origin: For an array column made by `pick`, the source column and the rows; so costly
            derivations are computed once for each event.
    """

    kind: Kind
    values: npt.NDArray[np.generic]
    dictionary: npt.NDArray[np.object_] = field(default_factory=lambda: NO_TEXTS)
    has_missing: bool = False
    origin: tuple[Column, npt.NDArray[np.integer]] | None = None

    def take(self, rows: npt.NDArray[np.integer]) -> Column:
        """Return the column of the events at `rows`."""
        return Column(self.kind, taken(self.values, rows), self.dictionary, self.has_missing)

    def pick(self, rows: npt.NDArray[np.integer]) -> Column:
        """Return the column of the events at `rows`, many of which repeat."""
        origin = (self, rows) if self.kind == "array" else None
        values = self.values.take(rows, axis=0)
        return Column(self.kind, values, self.dictionary, self.has_missing, origin)

    def slice(self, begin: int, end: int) -> Column:
        """Return the column of the events from `begin` up to, not including, `end` (a view)."""
        return Column(self.kind, self.values[begin:end], self.dictionary, self.has_missing)

    def where(self, present: npt.NDArray[np.bool_]) -> Column:
        """Return the column with missing values where `there` is false."""
        if present.all():
            return self
        values: npt.NDArray[Any] = self.values.copy()
        match self.kind:
            case "float" | "null" | "array":
                values[~present] = np.nan
            case "integer" | "timestamp" | "duration":
                values[~present] = MISSING_INTEGER
            case _:
                values[~present] = -1
        return Column(self.kind, values, self.dictionary, has_missing=True)

    def missing(self) -> npt.NDArray[np.bool_]:
        """Return, for each event, whether its value is missing."""
        match self.kind:
            case "float" | "null":
                return np.asarray(np.isnan(self.values))
            case "array":
                return np.asarray(np.isnan(self.values).all(axis=1))
            case "integer" | "timestamp" | "duration":
                return np.asarray(self.values == MISSING_INTEGER)
            case _:
                return np.asarray(self.values.astype(np.int32, copy=False) < 0)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows that are no events, counted so that they can be reported."""

    null_time: int = 0
    null_type: int = 0

    def __bool__(self) -> bool:
        return bool(self.null_time or self.null_type)

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(self.null_time + other.null_time, self.null_type + other.null_type)


@dataclass(eq=False, slots=True)
class LazyRows:
    """Rows that are read on demand.

    Attributes:
        read: The function that reads them.
        coded: The same rows with some texts as codes (see `coded_field`); None if these
            are not in memory.
    """

    read: Callable[[], pa.Table]
    coded: pa.Table | None = None
    _table: pa.Table | None = None

    def table(self) -> pa.Table:
        """Return the rows."""
        if self._table is None:
            self._table = self.read()
        return self._table


class _Attributes(dict[str, Column]):
    """Columns by name, with the time of the events under the reserved name `TIME`."""

    __slots__ = ("_ts",)

    def __init__(self, columns: Mapping[str, Column], ts: npt.NDArray[np.int64]) -> None:
        super().__init__(columns)
        self._ts = ts

    def __missing__(self, name: str) -> Column:
        if name != TIME:
            raise KeyError(name)
        return Column("timestamp", self._ts)

    def __reduce__(self) -> tuple[type[_Attributes], tuple[dict[str, Column], object]]:
        return type(self), (dict(self), self._ts)


@dataclass(frozen=True, eq=False, slots=True)
class EventColumns:
    """Events in stream order: by time, and by arrival where times are equal.

    Attributes:
        ts: int64 microseconds, ascending.
        types: Integer codes into `type_names`.
        type_names: The distinct event types.
        attributes: The columns that conditions may read; also `TIME`, which is not listed.
        carried: The original rows for output, or `LazyRows`; their numbers are in `rows`.
        rows: The row of each event in `source`; None if they lie side by side.
        first_row: The row of the first event if they do.
        dropped: The number of rows of `source` that are no events.
        arrivals: The arrival number of each event in the whole stream, from 0; None if these are
            all events in row order.
        places: The arrival number inside the partition of the current query; None if not counted.
        by_arrival: Whether events of equal time are ordered by arrival; else they are unordered.
    """

    ts: npt.NDArray[np.int64]
    types: npt.NDArray[np.integer]
    type_names: tuple[str, ...]
    attributes: Mapping[str, Column]
    carried: pa.Table | LazyRows
    rows: npt.NDArray[np.integer] | None = None
    first_row: int = 0
    dropped: Dropped = Dropped()
    arrivals: npt.NDArray[np.int64] | None = None
    places: npt.NDArray[np.int64] | None = None
    by_arrival: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _Attributes(self.attributes, self.ts))

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def source(self) -> pa.Table:
        """The original rows."""
        return self.carried.table() if isinstance(self.carried, LazyRows) else self.carried

    @property
    def coded(self) -> pa.Table:
        """The original rows, with texts as codes if these are in memory."""
        rows = self.carried
        return rows.coded if isinstance(rows, LazyRows) and rows.coded is not None else self.source

    @property
    def schema(self) -> pa.Schema:
        """The columns of the original rows."""
        return decoded_schema(self.coded.schema)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of the attributes."""
        return {name: column.kind for name, column in self.attributes.items()}

    def lacks(self, name: str) -> bool:
        """Return whether a column has missing values."""
        if name in self.coded.column_names:
            return bool(self.coded.column(name).null_count)
        return self.attributes[name].has_missing

    def slice(self, begin: int, end: int) -> EventColumns:
        """Return the events from `begin` up to, not including, `end` (views)."""
        return EventColumns(
            self.ts[begin:end],
            self.types[begin:end],
            self.type_names,
            {name: column.slice(begin, end) for name, column in self.attributes.items()},
            self.carried,
            None if self.rows is None else self.rows[begin:end],
            self.first_row + begin,
            arrivals=None if self.arrivals is None else self.arrivals[begin:end],
            places=None if self.places is None else self.places[begin:end],
            by_arrival=self.by_arrival,
        )

    def take(self, events: npt.NDArray[np.integer]) -> EventColumns:
        """Return some events, in ascending order; of the same source."""
        return EventColumns(
            self.ts.take(events),
            self.types.take(events),
            self.type_names,
            {name: column.take(events) for name, column in self.attributes.items()},
            self.carried,
            self.source_rows(events),
            arrivals=None if self.arrivals is None else self.arrivals[events],
            places=None if self.places is None else self.places[events],
            by_arrival=self.by_arrival,
        )

    def arrival(self) -> npt.NDArray[np.int64]:
        """Return the arrival number of each event."""
        if self.arrivals is not None:
            return self.arrivals
        numbers = np.arange(len(self))
        if self.rows is None:
            return numbers
        arrival = np.empty(len(self), dtype=np.int64)
        arrival[np.argsort(self.rows, kind="stable")] = numbers
        return arrival

    def order(self) -> npt.NDArray[np.int64]:
        """Return a number for each event, greater for events after it."""
        return np.arange(len(self)) if self.by_arrival else self.ts

    def in_order(self) -> bool:
        """Return whether the events came in time order."""
        arrivals = self.rows if self.arrivals is None else self.arrivals
        return arrivals is None or bool((arrivals[1:] > arrivals[:-1]).all())

    def source_rows(self, events: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """Return the rows of the events in `source`."""
        moved = events + self.first_row if self.first_row else events
        return moved if self.rows is None else self.rows[events]


def coded_field(name: str, kind: pa.DataType) -> pa.Field:
    """Return the field of a column of codes into a dictionary that count as texts.

    A dictionary that the user made is a category and stays one; codes are a faster form of the same
    texts. A mark on the field tells the two apart.
    """
    return pa.field(name, kind, metadata=_MARK)


def is_coded(field: pa.Field) -> bool:
    """Return whether the column is codes that count as texts."""
    return bool(field.metadata == _MARK)


def decoded(table: pa.Table) -> pa.Table:
    """Return the table with texts instead of codes."""
    for place, each in enumerate(table.schema):
        if is_coded(each):
            texts = [chunk.dictionary_decode() for chunk in table.column(place).chunks]
            column = pa.chunked_array(texts, each.type.value_type)
            table = table.set_column(place, each.name, column)
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
