"""Matches as Arrow rows: a struct column for each variable, and the start and end of the match.

The column of a Kleene variable is a list of structs, its members in stream order. A query with
RETURN has its columns instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from cepkit.columnar.results.returned import arrow_type, computed, in_arrow
from cepkit.columnar.slices.blocks import Block, Members, bound_in
from cepkit.errors import PatternError, UnsupportedError
from cepkit.lazy import pa, pq
from cepkit.pattern.conditions import Aggregate, Attribute, place_of
from cepkit.pattern.evaluation.set_functions import member_at
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.query import RESULT_ENDS, Query, ResultColumn
from cepkit.pattern.repetitions import Group
from cepkit.pattern.several import PATTERN
from cepkit.stream.columns import EventColumns, is_coded, texts_at
from cepkit.stream.reading.arrow import single
from cepkit.stream.schema import Schema

START, END = RESULT_ENDS
ROWS = 1 << 16
"""Matches of one record batch."""


@dataclass(frozen=True, slots=True)
class MatchColumns:
    """The columns of the rows of a query's matches.

    Attributes:
        variables: All variables of the query in pattern order; one that a branch of an OR does
            not have is null there.
        repeated: The Kleene variables among them.
        stream: The stream, with the name of the time column, which holds start and end of a match.
        returned: The columns of RETURN; empty for all columns of the events.
        groups: The groups that repeat, whose variables are sets.
    """

    variables: tuple[str, ...]
    repeated: frozenset[str]
    stream: Schema
    returned: tuple[ResultColumn, ...] = ()
    groups: tuple[Group, ...] = ()

    @classmethod
    def of(cls, query: Query, stream: Schema) -> MatchColumns:
        """Return the columns of the matches of a query in a stream."""
        variables = tuple(event.variable for event in bound_events_of(query.written))
        repeated = repeated_in(query.written)
        return cls(variables, repeated, stream, query.returned, query.groups)

    def named(self, bound: Collection[str]) -> frozenset[str]:
        """Return the variables of the columns that a match has which binds these."""
        return frozenset(bound).union(*(group.within(bound) for group in self.groups))

    @property
    def of_events(self) -> MatchColumns:
        """The columns of the same matches without RETURN."""
        return replace(self, returned=())

    def schema(self, events: EventColumns) -> pa.Schema:
        """Return the columns in Arrow.

        Args:
            events: Those that matches are of; there may be none of them.
        """
        source = self.source(events)
        moment = source.field(self.stream.time).type
        fields = self._returned(events) if self.returned else self._events(source)
        return pa.schema([*fields, pa.field(START, moment), pa.field(END, moment)])

    def source(self, events: EventColumns) -> pa.Schema:
        """Return the columns of events, with times that have a zone in that of the stream."""
        source = events.schema
        return pa.schema([field.with_type(self.zoned(field.type)) for field in source])

    def zoned(self, kind: pa.DataType) -> pa.DataType:
        """Return the type of a column in the output."""
        if self.stream.timezone is None or not pa.types.is_timestamp(kind) or kind.tz is None:
            return kind
        return pa.timestamp(kind.unit, self.stream.timezone)

    def result(self, place: int) -> ResultColumn | None:
        """Return the column of RETURN at a place; None where there is another."""
        return self.returned[place] if place < len(self.returned) else None

    def _events(self, source: pa.Schema) -> list[pa.Field]:
        event = pa.struct(list(source))
        return [pa.field(v, self._of_set(v, event)) for v in self.variables]

    def _returned(self, events: EventColumns) -> list[pa.Field]:
        source = self.source(events)
        fields = []
        for result in self.returned:
            attribute = result.source
            if attribute is None:
                kind = arrow_type(result.value, events, self.stream)
            else:
                kind = source.field(attribute.name).type
                if isinstance(result.value, Attribute):
                    kind = self._of_set(attribute.variable, kind)
            fields.append(pa.field(result.name, kind))
        return fields

    def _of_set(self, variable: str, kind: pa.DataType) -> pa.DataType:
        # The name of list items in Spark and Parquet.
        return pa.list_(pa.field("element", kind)) if variable in self.repeated else kind


def check_alike(schemas: Iterable[pa.Schema]) -> None:
    """Check that columns with the same name fit into one column for several queries.

    Raises:
        PatternError: Their types differ, or one has the name of the column of the pattern.
    """
    known: dict[str, pa.DataType] = {}
    for field in chain.from_iterable(schemas):
        kind = known.setdefault(field.name, field.type)
        if field.name == PATTERN:
            raise PatternError(
                f"RETURN has a column '{PATTERN}', where the name of the pattern stands",
                hint="another name: RETURN ... AS name",
            )
        if kind != field.type and not (_has_events(kind) and _has_events(field.type)):
            raise PatternError(
                f"the column '{field.name}' has the type {kind} in one pattern and {field.type}"
                " in another",
                expected="one type, to have the matches of all patterns in one table",
                hint="another name in one of them: RETURN ... AS name",
            )


def _has_events(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind.value_type if pa.types.is_list(kind) else kind))


def to_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> int:
    """Write rows as Parquet in batches; return their number.

    Raises:
        UnsupportedError: A column has a type that Parquet lacks, as intervals of DuckDB.
    """
    written = 0
    try:
        writer = pq.ParquetWriter(file, schema)
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(
            f"matches as Parquet: {error}", hint="events(..., columns=[...]) leaves columns out"
        ) from error
    with writer:
        for batch in batches:
            writer.write_batch(batch)
            written += len(batch)
    return written


@dataclass(frozen=True, eq=False, slots=True)
class MatchedEvents:
    """The events of some matches.

    Attributes:
        size: The number of matches.
        events: The row of the event of each single variable that they bind.
        sets: The members of each Kleene variable that they bind.
    """

    size: int
    events: Mapping[str, npt.NDArray[np.integer]]
    sets: Mapping[str, Members]

    @property
    def nbytes(self) -> int:
        """The bytes of their rows."""
        of_sets = sum(each.nbytes for each in self.sets.values())
        return of_sets + sum(each.nbytes for each in self.events.values())

    def slice(self, begin: int, end: int) -> MatchedEvents:
        """Return the events of the matches from `begin` up to, not including, `end`."""
        end = min(end, self.size)
        events = {v: rows[begin:end] for v, rows in self.events.items()}
        sets = {v: members.slice(begin, end) for v, members in self.sets.items()}
        return MatchedEvents(end - begin, events, sets)

    def parts(self, size: int) -> Iterator[MatchedEvents]:
        """Yield the matches in parts of at most `size`."""
        for begin in range(0, self.size, size):
            yield self if size >= self.size else self.slice(begin, begin + size)

    def ends(self, which: str) -> npt.NDArray[np.integer]:
        """Return the first event of each match for `START`, the last one for `END`."""
        # Rows are in time order, so the first event has the least row.
        if which == START:
            first = [*self.events.values(), *(members.first for members in self.sets.values())]
            return np.asarray(np.minimum.reduce(first))
        last = [*self.events.values(), *(members.last for members in self.sets.values())]
        return np.asarray(np.maximum.reduce(last))


class Writer:
    """Turns blocks of one slice into record batches.

    Attributes:
        schema: The columns in Arrow.
    """

    def __init__(self, events: EventColumns, columns: MatchColumns) -> None:
        self.events = events
        self.columns = columns
        self._source = events.coded
        self._columns: dict[str, pa.Array] = {}
        self.schema = columns.schema(events)

    def bound(self, block: Block, present: Sequence[str]) -> MatchedEvents:
        """Return the events of a block."""
        return MatchedEvents(block.size, *bound_in(block, present, self.columns.groups))

    def batches(self, block: Block, present: Sequence[str]) -> list[pa.RecordBatch]:
        """Return the matches of a block as record batches; as `bound` and `batches_of`."""
        return self.batches_of(self.bound(block, present))

    def batches_of(self, bound: MatchedEvents) -> list[pa.RecordBatch]:
        """Return matches as record batches of bounded size."""
        places = range(len(self.schema))
        return [
            pa.RecordBatch.from_arrays([self.array(p, part) for p in places], schema=self.schema)
            for part in bound.parts(ROWS)
        ]

    def array(self, place: int, bound: MatchedEvents) -> pa.Array:
        """Return the column at a place of the schema."""
        field = self.schema.field(place)
        result = self.columns.result(place)
        if place >= len(self.schema) - len(RESULT_ENDS):
            return self.take(self.columns.stream.time, self._at(bound.ends(field.name)))
        if result is None:
            return self._events_of(self.columns.variables[place], bound, field.type)
        return self._returned(result, bound, field.type)

    def _events_of(self, variable: str, bound: MatchedEvents, kind: pa.DataType) -> pa.Array:
        """Return the events that a variable is bound to."""
        if variable in bound.events:
            return self._struct(bound.events[variable])
        if variable in bound.sets:
            members = bound.sets[variable]
            return _lists(members, self._struct(members.rows), kind)
        return pa.nulls(bound.size, kind)

    def _returned(self, result: ResultColumn, bound: MatchedEvents, kind: pa.DataType) -> pa.Array:
        """Return a column of RETURN."""
        attribute = result.source
        if attribute is None:
            values = computed(result.value, self.events.attributes, bound.events, bound.sets)
            return in_arrow(values, kind, bound.size)
        variable, name = attribute.variable, attribute.name
        if variable in bound.events:
            return self.take(name, self._at(bound.events[variable]))
        if variable not in bound.sets:
            return pa.nulls(bound.size, kind)
        members = bound.sets[variable]
        match result.value:
            case Aggregate(function):
                at, there = member_at(members.starts, place_of(function) or 1)
                return self.take(name, self._at(members.rows[at], there))
            case _:
                return _lists(members, self.take(name, self._at(members.rows)), kind)

    def _struct(self, rows: npt.NDArray[np.integer]) -> pa.Array:
        fields = list(self.columns.source(self.events))
        at = self._at(rows)
        return pa.StructArray.from_arrays(
            [self.take(field.name, at) for field in fields], fields=fields
        )

    def _at(
        self, rows: npt.NDArray[np.integer], there: npt.NDArray[np.bool_] | None = None
    ) -> pa.Array:
        """Return where events are in the source; null where there are none."""
        mask = None if there is None or there.all() else ~there
        return pa.array(self.events.source_rows(rows), mask=mask)

    def take(self, name: str, at: pa.Array) -> pa.Array:
        """Return rows of a column of the stream, null where `at` is."""
        values = self.source(name)
        coded = is_coded(self._source.schema.field(name))
        return texts_at(values, at) if coded else values.take(at)

    def source(self, name: str) -> pa.Array:
        """Return a column of the stream's rows, of codes if that is how texts are at hand."""
        if name not in self._columns:
            # Taking rows from one chunk is far cheaper than from many.
            column = single(self._source.column(name))
            zoned = self.columns.zoned(column.type)
            self._columns[name] = column if zoned is column.type else column.cast(zoned)
        return self._columns[name]


def _lists(members: Members, values: pa.Array, kind: pa.DataType) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(members.starts.astype(np.int32)), values, type=kind)
