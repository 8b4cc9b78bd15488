"""The matches known so far: rows of event numbers, found on demand."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.output import START
from cepkit.columnar.slices.blocks import Members
from cepkit.errors import StreamError
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.query import Query
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.schema import Schema

Ints = npt.NDArray[np.int64]

MOST = 1_000_000
"""The most matches to hold: some eight bytes for each of their events."""
NONE = -1
"""Stands for no event: the variable belongs to another branch of an OR."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some matches as they were found.

    Attributes:
        begin: The number of the first.
        size: How many.
        rows: For each single variable its event in each match.
        members: For each repeated variable its events.
    """

    begin: int
    size: int
    rows: Mapping[str, Ints]
    members: Mapping[str, Members] = field(default_factory=dict)

    def first(self, variable: str) -> Ints:
        """Return for each match the first event of a variable, or `NONE`."""
        if variable in self.members:
            return np.asarray(self.members[variable].first, dtype=np.int64)
        return self.rows.get(variable, np.full(self.size, NONE, dtype=np.int64))

    def last(self, variable: str) -> Ints:
        """Return for each match the last event of a variable."""
        if variable in self.members:
            return np.asarray(self.members[variable].last, dtype=np.int64)
        return self.first(variable)

    def bound(self, variable: str, at: int) -> tuple[int, ...]:
        """Return the events of a variable in one match."""
        if variable in self.members:
            starts = self.members[variable].starts
            rows = self.members[variable].rows[starts[at] : starts[at + 1]]
            return tuple(map(int, rows))
        return (int(self.rows[variable][at]),) if variable in self.rows else ()


class Known(ABC):
    """Matches, numbered in the order in which they were found, and their events.

    Attributes:
        query: The pattern.
        columns: The events; matches refer to its rows.
        variables: In the pattern's order.
        repeated: Those of them that bind several events.
        size: How many matches are known.
        complete: Whether these are all.
        timed: Whether times are timestamps, or texts of them, instead of numbers.
        place: Where the other matches are, in words; empty if here.
        lacking: Which events of the stream are not here, in words; empty if all are.
    """

    timed: bool
    place = ""
    lacking = ""

    def __init__(self, query: Query, columns: EventColumns) -> None:
        self.query = query
        self.variables = tuple(event.variable for event in bound_events_of(query.written))
        self.repeated = frozenset(repeated_in(query.written))
        self.size = 0
        self.complete = False
        self._parts: list[Part] = []
        self._made: dict[tuple[str, str], Ints] = {}
        self._hold(columns)

    def _hold(self, columns: EventColumns) -> None:
        self.columns = columns
        self._attributes: dict[str, Column] = dict(columns.attributes)

    @abstractmethod
    def at_least(self, number: int) -> None:
        """Find more until there are so many, or all."""

    def looked_at(self, wanted: int) -> int:
        """Return how many matches to show if the user wants `wanted`."""
        return min(self.size, wanted)

    @property
    def most(self) -> int:
        """How many matches are held at most."""
        return MOST

    def first(self, variable: str) -> Ints:
        """Return for each known match the first event of a variable, or `NONE`."""
        return self._joined("first", variable)

    def last(self, variable: str) -> Ints:
        """Return for each known match the last event of a variable."""
        return self._joined("last", variable)

    def _joined(self, which: str, variable: str) -> Ints:
        key = which, variable
        if key not in self._made:
            parts = [
                part.first(variable) if which == "first" else part.last(variable)
                for part in self._parts
            ]
            self._made[key] = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        return self._made[key]

    def times(self) -> tuple[Ints, Ints]:
        """Return when each known match begins and ends, in microseconds."""
        ts = self.columns.ts
        begin = np.full(self.size, np.iinfo(np.int64).max)
        end = np.full(self.size, np.iinfo(np.int64).min)
        for variable in self.variables:
            first, last = self.first(variable), self.last(variable)
            there = first != NONE
            begin[there] = np.minimum(begin[there], ts[first[there]])
            end[there] = np.maximum(end[there], ts[last[there]])
        return begin, end

    def binding(self, number: int) -> dict[str, tuple[int, ...]]:
        """Return the events of each variable that a match binds."""
        starts = [part.begin for part in self._parts]
        part = self._parts[bisect_right(starts, number) - 1]
        bound = {v: part.bound(v, number - part.begin) for v in self.variables}
        return {variable: events for variable, events in bound.items() if events}

    def with_event(self, event: int) -> Ints:
        """Return the known matches that contain an event."""
        held = np.zeros(self.size, dtype=np.bool_)
        for part in self._parts:
            here = held[part.begin : part.begin + part.size]
            for rows in part.rows.values():
                here |= rows == event
            for members in part.members.values():
                of = np.repeat(np.arange(part.size), members.sizes)
                here[of[members.rows == event]] = True
        return np.flatnonzero(held)

    def events_of(self, number: int) -> tuple[int, ...]:
        """Return the events of a match, ascending."""
        return tuple(sorted({e for events in self.binding(number).values() for e in events}))

    def number_of(self, events: tuple[int, ...]) -> int | None:
        """Return the number of the first known match of exactly these events; None without one."""
        if not events:
            return None
        numbers = map(int, self.with_event(events[0]))
        return next((number for number in numbers if self.events_of(number) == events), None)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns of events, those that conditions read first."""
        return tuple(dict.fromkeys((*self.columns.attributes, *self.columns.source.column_names)))

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that conditions read."""
        return tuple(self.columns.attributes)

    def attribute(self, name: str) -> Column:
        """Return a column of all events, even if no condition reads it.

        Raises:
            StreamError: There is no such column, or its values cannot be compared.
        """
        if name not in self._attributes:
            source = self.columns.source
            if name not in source.column_names:
                raise StreamError.unknown(f"no column '{name}'", name, self.attributes)
            # The schema tells how to read the time, but not other columns.
            column = attribute(source.column(name), name, Schema("time", "type"))
            rows = self.columns.rows
            self._attributes[name] = column if rows is None else column.take(rows)
        return self._attributes[name]


class KnownMatches(Known):
    """The known matches of a local stream, numbered in the order in which they are found.

    Attributes:
        matches: The result of `detect` that finds them.
    """

    def __init__(self, matches: Matches) -> None:
        super().__init__(matches.query, matches.columns)
        self.matches = matches
        kind = matches.schema.field(START).type
        self.timed = not (pa.types.is_integer(kind) or pa.types.is_floating(kind))
        some = copy.copy(matches)
        some.limit = MOST if matches.limit is None else min(MOST, matches.limit)
        self._most = some.limit
        self._blocks = some.blocks()

    def at_least(self, number: int) -> None:
        """Find more until there are so many, or all."""
        while self.size < min(number, self._most) and not self.complete:
            found = next(self._blocks, None)
            if found is None:
                self.complete = True
                return
            program, block = found
            size = min(block.size, self._most - self.size)
            # A block is valid only until the next one is requested.
            rows: dict[str, Ints] = {}
            members: dict[str, Members] = {}
            for variable in program.variables:
                several = block.members(variable)
                if several is None:
                    rows[variable] = np.array(block.events(variable)[:size], dtype=np.int64)
                else:
                    members[variable] = several.in_stream_order().slice(0, size)
            if size:
                self._parts.append(Part(self.size, size, rows, members))
                self.size += size
                self._made.clear()
        if self.size >= self._most and self.matches.limit == self._most:
            self.complete = True

    @property
    def full(self) -> bool:
        """Whether the limit is reached, although there may be more matches."""
        return self.size >= MOST and not self.complete
