"""A stream that is read piece by piece: slices of Parquet files that need not fit into memory.

A piece is what a slice of a stream in memory is: it owns the matches that end in it and sees a
window before it, with NOT also after it. It is cut by the same rules, as soon as the parts of the
files that have been read hold all of its events. What later pieces need of these parts, the events
of a window and those that no piece owns yet, is kept; all else is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Program
from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.slices.cutting import (
    SLICE_ROWS,
    WINDOWS_PER_SLICE,
    Owned,
    cutting_clock,
    looks_ahead,
    numbered,
    readings,
    slices,
)
from cepkit.lazy import pa
from cepkit.memory import free_memory
from cepkit.pattern.policies import Clock
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.planners.choose import plan_in_pieces
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import Dropped, EventColumns, LazyRows, decoded
from cepkit.stream.reading.file_parts import FileParts, sampled_events
from cepkit.stream.reading.ingest import event_columns
from cepkit.stream.stream import Stream
from cepkit.threads import number_of_threads

Taken = npt.NDArray[np.bool_]

_COPIES = 3
"""A piece is in memory as rows, as columns, and as what its search makes of them."""
_LONGER = 1.5
"""By this factor more events are read before the next try to cut a piece of them."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a stream is cut into pieces.

    Attributes:
        window: The most between two events of a match, by the clock.
        reach: How far a piece sees beyond the events that it owns.
        counting: The branches that count events; empty if none does.
        least: The least events of a piece; None: as many as of a slice in memory.
        types: The types of the events that are read; None for any.
        rows: The most rows that a piece takes, about.
    """

    window: int
    reach: int = 0
    clock: Clock = "time"
    counting: tuple[Program, ...] = ()
    least: int | None = None
    types: frozenset[str] | None = None
    rows: int = 0


def cut_of(query: CompiledQuery, slice_rows: int | None = None) -> Cut | None:
    """Return how a stream is cut for a query; None if it has to be seen as a whole."""
    programs = query.programs
    clock, window = cutting_clock(programs)
    clocks = {clock for program in programs for clock in program.clocks}
    if window is None or "place" in clocks or (clock != "time" and query.chooses):
        return None
    windows = looks_ahead(programs, clock) + (query.after_match is not None)
    counting = programs if clocks - {"time"} else ()
    types = None if counting else types_in(query)
    return Cut(window, windows * window, clock, counting, slice_rows, types)


def large_parts(
    stream: Stream, query: CompiledQuery, attributes: Iterable[str]
) -> tuple[FileParts, Cut] | None:
    """Return the files of a stream and how they are cut, if it is better read in pieces."""
    parts, cut = stream.parts(attributes), cut_of(query)
    if parts is None or cut is None:
        return None
    if cut.counting and (stream.schema.arrival is not None or not parts.are_ascending()):
        return None
    longest = WINDOWS_PER_SLICE * cut.window + cut.reach
    rows = parts.rows_at_once(longest if cut.clock == "time" else 0)
    rows += longest if cut.clock == "arrival" else 0
    fits = _COPIES * parts.size(attributes, rows) <= free_memory()
    return (parts, replace(cut, rows=rows)) if fits else None


def plan_of_parts(stream: Stream, query: Query) -> Plan | None:
    """Return the plan for a query over a stream that is better read in pieces; None if it is not.

    Args:
        query: The query, whose evaluation depends on an order.
    """
    sampled = sample_of(stream, query)
    if sampled is None:
        return None
    sample, parts = sampled
    return plan_in_pieces(query, sample, parts.rows, parts.ends)


def is_large(stream: Stream, query: Query) -> bool:
    """Return whether a stream is better read in pieces for a query."""
    return _large(stream, query, attributes_read(query)) is not None


def _large(stream: Stream, query: Query, attributes: Iterable[str]) -> tuple[FileParts, Cut] | None:
    if stream.parts(attributes) is None:
        return None
    return large_parts(stream, compile_query(query, as_plan(None, query)), attributes)


def sample_of(stream: Stream, query: Query) -> tuple[EventColumns, FileParts] | None:
    """Return events from all over a stream that is better read in pieces; None if it is not."""
    attributes = sorted({*attributes_read(query), *query.computed_from})
    large = _large(stream, query, attributes)
    if large is None:
        return None
    parts, cut = large
    window = cut.window if cut.clock == "time" else 0
    return sampled_events(parts, attributes, window), parts


def types_in(query: CompiledQuery) -> frozenset[str] | None:
    """Return the types of events that a query looks at; None for any."""
    types = set[str]()
    for branch in query.branches:
        for event in branch.positive + branch.negated:
            if event.types is None:
                return None
            types |= event.types
    return frozenset(types)


@dataclass(frozen=True, eq=False, slots=True)
class Piece:
    """A slice of a stream.

    Attributes:
        columns: The events that it sees.
        owned: The matches that are its own.
        taken: For each event whether an earlier match has taken it; matches of the piece add some.
        rows: How many rows of the stream have been read.
    """

    columns: EventColumns
    owned: Owned
    taken: Taken
    rows: int


class Pieces:
    """The pieces of a stream.

    Args:
        attributes: The columns that conditions read.
        carried: The columns of the output; the time at least.

    Attributes:
        dropped: The rows read so far that are no events.
        type_names: The types of the events read so far.
        nothing: The stream without events.
    """

    def __init__(
        self, parts: FileParts, cut: Cut, attributes: Sequence[str], carried: Sequence[str]
    ) -> None:
        self.parts, self.cut = parts.with_types(cut.types), cut
        self.dropped, self.type_names = Dropped(), set[str]()
        self._attributes, self._carried = tuple(attributes), tuple(carried)
        needed = {*attributes, *carried, *parts.schema.roles}
        self._columns = tuple(name for name in parts.stored.names if name in needed)
        self.nothing = self._events(parts.empty(self._columns))

    def __call__(self, threads: int) -> Iterator[Piece]:
        """Yield the pieces in the order of time.

        Args:
            threads: The most threads that read.
        """
        self.dropped, self.type_names = Dropped(), set()
        cut, held = self.cut, _ReadRows()
        since: int | None = None
        least = cut.least or SLICE_ROWS
        rows = before = unowned = enough = 0
        for part in self.parts.read(self._columns, threads):
            held.add(part.place, part.table)
            rows, unowned = rows + len(part.table), unowned + len(part.table)
            if part.complete is not None and unowned < max(least, enough):
                continue
            columns = self._numbered(self._events(held.table()), before)
            self.dropped += columns.dropped
            self.type_names.update(columns.type_names)
            values, taken = readings(columns, cut.clock), held.taken(columns)
            done = 0 if since is None else int(np.searchsorted(values, since))
            for begin, end, ahead in self._slices(columns, values, done, part.complete):
                until = int(values[end]) if end < len(columns) else None
                owned = Owned(since, until, cut.clock)
                yield Piece(columns.slice(begin, ahead), owned, taken[begin:ahead], rows)
                since, done = until, end
            unowned = len(columns) - done
            enough = round(_LONGER * unowned)
            begin = 0 if since is None else int(np.searchsorted(values, since - cut.window))
            held.keep(columns, begin, taken)
            before += begin

    def threads(self) -> int:
        """Return how many pieces to search at a time: no more than fit into half of the memory."""
        size = _COPIES * self.parts.size(self._attributes, max(self.cut.rows, SLICE_ROWS))
        return min(number_of_threads(), max(1, free_memory() // (2 * size)))

    def seen(self, last: EventColumns) -> EventColumns:
        """Return the last piece, with the type names and dropped events of all pieces."""
        types = tuple(sorted(self.type_names))
        return replace(last, dropped=self.dropped, type_names=types)

    def _events(self, table: pa.Table) -> EventColumns:
        carried = table.select(list(self._carried))
        rows = LazyRows(partial(decoded, carried), coded=carried)
        return event_columns(table, self.parts.schema, self._attributes, source=rows)

    def _numbered(self, columns: EventColumns, before: int) -> EventColumns:
        """Number events if windows count them; then they came in the order of time."""
        if self.cut.counting:
            columns = replace(columns, arrivals=np.arange(before, before + len(columns)))
        for program in self.cut.counting:
            columns = numbered(program, columns)
        return columns

    def _slices(
        self, columns: EventColumns, values: npt.NDArray[np.int64], done: int, complete: int | None
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the first event that a piece sees, the end of those that it owns and of all.

        Args:
            columns: The events that have been read and are still needed.
            values: The readings of the clock at these.
            done: The first one that no piece owns yet.
            complete: The time before which there are no others; None if there are none at all.
        """
        cut, known = self.cut, len(values)
        if complete is not None and cut.clock == "time":
            known = int(np.searchsorted(columns.ts, complete))
        if done >= known:
            return
        horizon = complete if cut.clock == "time" else int(values[-1]) + 1
        for begin, _, end in slices(values[:known], cut.window, cut.least, done):
            seen = int(values[end - 1]) + cut.reach
            if complete is not None and horizon is not None and (end == known or seen >= horizon):
                return
            yield begin, end, int(np.searchsorted(values, seen, "right")) if cut.reach else end


class _ReadRows:
    """The rows that have been read and are still needed, in their order in the files."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[pa.Table, Taken]] = {}

    def add(self, place: int, table: pa.Table) -> None:
        """Add the rows of a part."""
        self._parts[place] = table, np.zeros(len(table), np.bool_)

    def table(self) -> pa.Table:
        """Return the rows."""
        return pa.concat_tables([self._parts[place][0] for place in sorted(self._parts)])

    def taken(self, columns: EventColumns) -> Taken:
        """Return for each event of the rows whether a match has taken it."""
        taken = np.concatenate([self._parts[place][1] for place in sorted(self._parts)])
        return taken if columns.rows is None else taken[columns.rows]

    def keep(self, columns: EventColumns, begin: int, taken: Taken) -> None:
        """Keep the events of the rows from one on."""
        events = np.arange(begin, len(columns))
        rows = columns.source_rows(events)
        order = np.argsort(rows, kind="stable")
        rows, taken = rows[order], taken[events[order]]
        end = 0
        for place in sorted(self._parts):
            table, _ = self._parts.pop(place)
            first, end = end, end + len(table)
            own = slice(*np.searchsorted(rows, (first, end)).tolist())
            left = rows[own] - first
            if not len(left):
                continue
            side_by_side = left[-1] - left[0] + 1 == len(left)
            some = table.slice(int(left[0]), len(left)) if side_by_side else table.take(left)
            self._parts[place] = some, taken[own]
