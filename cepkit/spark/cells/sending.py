"""The columns and arrival numbers of a stream that are sent to workers.

If windows count events, numbers come with the rows: only Spark sees the whole stream.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.columnar.compile.program import Program
from cepkit.errors import StreamError
from cepkit.pattern.conditions import Call, walk
from cepkit.pattern.evaluation.functions import FUNCTIONS
from cepkit.pattern.evaluation.functions.registered import (
    UserFunction,
    register_function,
    registered_function,
)
from cepkit.pattern.kinds import check_no_type_is_a_kind, kinds_of
from cepkit.pattern.nodes import Kind, events_of
from cepkit.pattern.policies import Clock
from cepkit.pattern.query import Query
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import MISSING_INTEGER, Dropped, EventColumns
from cepkit.stream.reading.arrow import is_text, nulls, raw, single
from cepkit.stream.reading.ingest import event_columns, type_codes
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream

Integers = npt.NDArray[np.int64]

NUMBERS: dict[Clock, str] = {"arrival": "\0arrival", "place": "\0place"}
"""Temporary names of the number columns; no stream has such names."""


@dataclass(frozen=True, slots=True)
class Sending:
    """The columns of a stream that are sent to workers.

    Attributes:
        columns: The columns that are sent, in Arrow.
        attributes: Those that conditions, keys and aggregates read.
        types: The event types to send; None for any.
        functions: The user's functions that conditions call.
        numbers: The clocks besides time whose numbers are sent with the rows, after the columns.
        arrival: The arrival column; None for row order.
        kinds: Those that patterns define; no type may have the name of one.
    """

    schema: Schema
    columns: pa.Schema
    attributes: tuple[str, ...]
    types: frozenset[str] | None
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    numbers: tuple[Clock, ...] = ()
    arrival: str | None = None
    kinds: tuple[Kind, ...] = ()

    @property
    def fields(self) -> pa.Schema:
        """The columns and the numbers."""
        numbers = [pa.field(NUMBERS[clock], pa.int64()) for clock in self.numbers]
        return pa.schema([*self.columns, *numbers])

    @property
    def nothing(self) -> EventColumns:
        """A stream without events."""
        return event_columns(self.columns.empty_table(), self.schema, self.attributes)

    def with_those_of(self, other: Sending) -> Sending:
        """Return the columns and types of both."""
        fields = {field.name: field for field in (*self.columns, *other.columns)}
        types = None if self.types is None or other.types is None else self.types | other.types
        attributes = tuple(sorted({*self.attributes, *other.attributes}))
        return replace(self, columns=pa.schema(fields.values()), attributes=attributes, types=types)

    def events(self, table: pa.Table) -> EventColumns:
        """Return the rows of a cell as events.

        Raises:
            PatternError: A kind that a pattern defines is called like one of their types.
        """
        numbers = {clock: numbers_of(table, clock) for clock in self.numbers}
        events = event_columns(
            table.select(self.columns.names),
            self.schema,
            self.attributes,
            arrivals=numbers.get("arrival"),
            places=numbers.get("place"),
        )
        check_no_type_is_a_kind(self.kinds, events.type_names)
        return events

    def times(self, table: pa.Table) -> Integers:
        """Return the times of rows in microseconds.

        Raises:
            StreamError: A time is no time.
        """
        column, schema = table.column(self.schema.time), self.schema
        try:
            return microseconds(column, schema.time, unit=schema.unit, timezone=schema.timezone)
        except StreamError as error:
            # The number of the row in its batch means nothing to the user.
            error.found = re.sub(r" in row \d+ \(rows count from 0\)", "", error.found)
            raise

    def wanted_rows(
        self, table: pa.Table, ts: Integers
    ) -> tuple[npt.NDArray[np.bool_] | None, Dropped]:
        """Return which rows are events of the types (None: all), and how many are no events."""
        without_time = ts == MISSING_INTEGER
        column = table.column(self.schema.typed_by)
        other = None
        if is_text(column.type):
            without_type = np.zeros(len(ts), np.bool_)
            if column.null_count:
                without_type = np.asarray(nulls(column.combine_chunks()))
        else:
            codes, names = type_codes(column, self.schema.type)
            without_type = codes < 0
            if self.types is not None:
                other = ~np.isin(codes, [i for i, name in enumerate(names) if name in self.types])
        null_time = int(np.count_nonzero(without_time))
        null_type = int(np.count_nonzero(without_type & ~without_time))
        unwanted = without_time | without_type
        if other is not None:
            unwanted |= other
        return (~unwanted if unwanted.any() else None), Dropped(null_time, null_type)

    def check_numbers(self, table: pa.Table) -> None:
        """Refuse rows that Spark could not number.

        Raises:
            StreamError: The arrival column has duplicates, or rows moved after counting.
        """
        for clock in self.numbers:
            unknown = table.column(NUMBERS[clock]).null_count
            if unknown and self.arrival is None:
                raise StreamError(
                    "the rows of the DataFrame were not in the same order when they were counted"
                    " and when they were read",
                    hint="events(..., arrival=column) says in which order they came",
                )
            if unknown:
                raise StreamError(
                    f"the arrival column '{self.arrival}' holds values more than once: in one part"
                    f" of the stream {unknown:,} events have the value of another",
                    expected="a value of its own for each event",
                )

    def register(self) -> None:
        """Register the user's functions in this process."""
        for name, function in self.functions.items():
            register_function(name, function)


def table_of(fields: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return batches as one table of these columns, ignoring Spark's names."""
    table = pa.Table.from_batches([batch.rename_columns(fields.names) for batch in batches])
    return table if table.schema.equals(fields) else table.cast(fields)


def numbers_of(table: pa.Table, clock: Clock) -> Integers:
    """Return the numbers sent with the rows."""
    return np.asarray(raw(single(table.column(NUMBERS[clock])), np.int64), dtype=np.int64)


def sending_for(
    stream: Stream,
    queries: Sequence[Query],
    attributes: Collection[str],
    *,
    numbers: tuple[Clock, ...] = (),
    every_type: bool = False,
) -> Sending:
    """Return the part of a Spark stream to send to workers for some queries.

    Args:
        stream: The stream; its schema defines the output columns.
        numbers: The clocks besides time whose numbers workers need.
        every_type: Whether workers need the events of all types, in arrival order.

    Raises:
        StreamError: There is no such column, or Spark cannot hand it to Python.
    """
    names, schema = stream.column_names, stream.schema.without_arrival()
    stream.schema.check(names, attributes)
    types = [types_of(query) for query in queries]
    type_sets = [each for each in types if each is not None]
    return Sending(
        schema,
        arrow_columns(stream.source, names, schema.needed(names, attributes)),
        tuple(sorted(attributes)),
        None if every_type or len(type_sets) < len(types) else frozenset().union(*type_sets),
        functions_of(*queries),
        numbers,
        stream.schema.arrival,
        tuple(kind for query in queries for kind in kinds_of(query.written)),
    )


def measuring(stream: Stream, query: Query) -> Sending:
    """Return the part of a Spark stream that measurements of a query read.

    Raises:
        StreamError: There is no such column, or Spark cannot hand it to Python.
    """
    names, read = stream.column_names, sorted(attributes_read(query))
    schema = stream.schema.without_output()
    needed = (*schema.roles, *read)
    schema.check(names, needed)
    columns = arrow_columns(stream.source, names, needed)
    functions, kinds = functions_of(query), kinds_of(query.written)
    return Sending(schema, columns, tuple(read), types_of(query), functions, kinds=kinds)


def types_of(query: Query) -> frozenset[str] | None:
    """Return the types in a query; None if an event of it may have any type."""
    events = events_of(query.structure)
    if any(event.types is None for event in events):
        return None
    return frozenset(name for event in events for name in event.types or ())


def functions_of(*queries: Query) -> dict[str, UserFunction]:
    """Return the user's functions that the conditions of queries call."""
    conditions = [query.where for query in queries if query.where]
    calls = [n for where in conditions for n in walk(where) if isinstance(n, Call)]
    names = {call.function for call in calls} - set(FUNCTIONS)
    return {name: registered_function(name) for name in names}


def numbers_for(programs: Sequence[Program], *, ordered: bool) -> tuple[Clock, ...]:
    """Return the clocks besides time that windows count in, or that order.

    Args:
        ordered: Whether arrival decides between matches, or between events of equal time.
    """
    read = {clock for program in programs for clock in program.clocks}
    if ordered:
        read.add("arrival")
    clocks: tuple[Clock, ...] = ("arrival", "place")
    return tuple(clock for clock in clocks if clock in read)
