"""Matches as a flat DataFrame: first which events they have, then one column after the other.

A column of numbers or times is one look-up of all its values in those of the stream, into the
memory of the frame. Beside the frame this takes a number for each event of each match, so 4 to 8
bytes for each variable and, for one column at a time, 8 more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.columnar.results.flat import is_numpy, series_of
from cepkit.columnar.results.frames import ended
from cepkit.columnar.results.output import ROWS, MatchedEvents, Writer
from cepkit.lazy import pa, pd
from cepkit.memory import Room
from cepkit.pattern.conditions import Attribute
from cepkit.pattern.query import RESULT_ENDS
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.arrow import filled, raw
from cepkit.stream.values import in_known_zone

_OTHER = 16.0
"""The assumed bytes of a computed value whose type does not tell."""
_SOME = 1000
"""The values of a column to measure for its bytes, if they are not of one width."""
_START = 4
"""The bytes of a list's start."""


def gathered(
    writer: Writer, matches: Iterable[MatchedEvents], room: Room, may_lack: Collection[str]
) -> pd.DataFrame:
    """Return matches as a DataFrame.

    Args:
        writer: Has the columns, one for each attribute.

    Raises:
        LimitError: They do not fit.
    """
    held: list[MatchedEvents] = []
    frame: dict[str, pd.Series[Any]] = {}
    columns = _Columns(writer, held)
    try:
        weights = _Weights(writer)
        planned = np.zeros(len(writer.schema))
        with ended(matches):
            for bound in matches:
                own = weights.of(bound)
                room.plan(bound.size, int(own.sum()))
                planned += own
                held.append(bound)
        for place, name in enumerate(writer.schema.names):
            frame[name] = columns.series(place, lacks=name in may_lack)
            room.fill(int(planned[place]), int(frame[name].memory_usage(index=False)))
        return pd.DataFrame(frame, copy=False)
    except MemoryError:
        raise room.full() from None
    finally:
        # A stored traceback would keep them alive.
        held.clear()
        frame.clear()
        columns.forget()


class _Weights:
    """How many bytes the columns of some matches will take."""

    def __init__(self, writer: Writer) -> None:
        sources = [_source(writer, place) for place in range(len(writer.schema))]
        self._bytes = np.array(
            [
                _of_kind(field.type) if source is None else _width(writer, source.name)
                for source, field in zip(sources, writer.schema, strict=True)
            ]
        )
        self._lists = [
            (place, source.variable)
            for place, source in enumerate(sources)
            if source is not None and pa.types.is_list(writer.schema.field(place).type)
        ]

    def of(self, bound: MatchedEvents) -> npt.NDArray[np.float64]:
        """Return the bytes of each column."""
        weights = self._bytes * bound.size
        for place, variable in self._lists:
            members = len(bound.sets[variable].rows) if variable in bound.sets else 0
            weights[place] = self._bytes[place] * members + _START * bound.size
        return np.asarray(weights)


def _source(writer: Writer, place: int) -> Attribute | None:
    result = writer.columns.result(place)
    return None if result is None else result.source


def _width(writer: Writer, name: str) -> float:
    """Return about how many bytes a value of an attribute takes."""
    kind, number = writer.events.schema.field(name).type, len(writer.source(name))
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    if pa.types.is_primitive(kind) or not number:
        return _of_kind(kind)
    some = writer.take(name, pa.array(np.linspace(0, number - 1, _SOME).astype(np.int64)))
    return float(some.nbytes / _SOME)


def _of_kind(kind: pa.DataType) -> float:
    return float(max(1.0, kind.bit_width / 8)) if pa.types.is_primitive(kind) else _OTHER


class _Columns:
    """The columns of matches, each made on demand."""

    def __init__(self, writer: Writer, matches: Sequence[MatchedEvents]) -> None:
        self._writer, self._matches = writer, matches
        self._rows: tuple[str, npt.NDArray[np.int64], npt.NDArray[np.bool_] | None] | None = None
        self._values: dict[str, npt.NDArray[Any]] = {}
        self._dtypes: dict[pa.DataType, Any] = {}

    def forget(self) -> None:
        """Drop the rows and values kept for the next column."""
        self._rows = None
        self._values.clear()

    def series(self, place: int, *, lacks: bool) -> pd.Series[Any]:
        """Return the column at a place of the schema."""
        field = self._writer.schema.field(place)
        kind, event = field.type, self._event(place)
        if event is None or not is_numpy(kind, lacks=lacks) or not pa.types.is_primitive(kind):
            return series_of(pa.chunked_array(self._arrays(place), kind), lacks=lacks)
        variable, name = event
        rows, absent = self._of_variable(variable)
        values = self._stored(name).take(np.asarray(rows, np.intp))
        if absent is not None:
            values[absent] = np.nan if values.dtype.kind == "f" else MISSING_INTEGER
        zoned = getattr(kind, "tz", None) is not None
        if zoned:
            there = pa.array(values, mask=values == MISSING_INTEGER).cast(kind)
            kind = in_known_zone(pa.chunked_array([there])).type
        if kind not in self._dtypes:
            self._dtypes[kind] = pa.array([], kind).to_pandas().dtype
        dtype: Any = self._dtypes[kind]
        if zoned:  # stored in UTC, as pandas has it
            return pd.Series(pd.array(values, dtype=dtype, copy=False))
        return pd.Series(values.view(dtype), copy=False)

    def _event(self, place: int) -> tuple[str, str] | None:
        """Return the variable, or `START` or `END`, and the attribute that a column has values of.

        None for what is computed and for sets; boolean values are bits in Arrow.
        """
        schema = self._writer.schema
        if pa.types.is_boolean(schema.field(place).type):
            return None
        if place >= len(schema) - len(RESULT_ENDS):
            return schema.names[place], self._writer.columns.stream.time
        source = _source(self._writer, place)
        if source is None or source.variable in self._writer.columns.repeated:
            return None
        return source.variable, source.name

    def _arrays(self, place: int) -> Iterator[pa.Array]:
        for bound in self._matches:
            for part in bound.parts(ROWS):
                yield self._writer.array(place, part)

    def _of_variable(
        self, variable: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
        """Return the row of a variable's event in each match, and where there is none."""
        if self._rows is None or self._rows[0] != variable:
            self._rows = None  # frees the memory first
            self._rows = variable, *self._gathered(variable)
        return self._rows[1:]

    def _gathered(
        self, variable: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
        rows = np.empty(sum(bound.size for bound in self._matches), np.int64)
        lacking = []
        begin = 0
        for bound in self._matches:
            end = begin + bound.size
            if variable in RESULT_ENDS:
                rows[begin:end] = bound.ends(variable)
            elif variable in bound.events:
                rows[begin:end] = bound.events[variable]
            else:
                rows[begin:end] = 0
                lacking.append(slice(begin, end))
            begin = end
        absent = None
        if lacking:
            absent = np.zeros(len(rows), np.bool_)
            for part in lacking:
                absent[part] = True
        return self._writer.events.source_rows(rows).astype(np.int64, copy=False), absent

    def _stored(self, name: str) -> npt.NDArray[Any]:
        """Return the values of a column of the stream, of NaN and NaT where they are missing."""
        if name not in self._values:
            source = self._writer.source(name)
            number = pa.types.is_floating(source.type) or pa.types.is_integer(source.type)
            dtype = source.type.to_pandas_dtype() if number else np.int64
            stored = raw(source, dtype)
            if source.null_count:
                stored = filled(source, dtype, np.nan if number else MISSING_INTEGER)
            self._values[name] = stored
        return self._values[name]
