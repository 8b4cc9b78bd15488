"""Cuts a stream in memory into slices.

A slice owns the matches whose last event lies in it. It sees the events up to a window before it
(and after it, if an event there could break a match). Windows in time use slices of time; windows
in events and contiguity use slices of arrival numbers, which
events get here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import BoundClock, Program
from cepkit.columnar.kernels.loops import number_each
from cepkit.errors import UnsupportedError
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.numbers import with_numbers_as_attributes
from cepkit.pattern.policies import Clock
from cepkit.stream.columns import EventColumns

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Owned:
    """The matches that a slice owns: those whose last event lies in a stretch of a clock.

    The last event has the latest time, or the greatest number, by that clock.

    Attributes:
        since: Its first microsecond or number; None: as early as may be.
        until: The first one after it; None: as late as may be.
        clock: The clock of both.
        free: Whether a match may have each event of the slice; None for all.
    """

    since: int | None = None
    until: int | None = None
    clock: Clock = "time"
    free: npt.NDArray[np.bool_] | None = None


EVERYTHING = Owned()
"""All matches."""


def numbered(program: Program, columns: EventColumns) -> EventColumns:
    """Add the numbers that a program's windows count in.

    Args:
        program: Defines which; numbers that the events have already stay.
        columns: The whole stream, or some of its events that have them.
    """
    columns = with_numbers(columns, program.clocks, program.partition_by)
    if program.next_clock is None:
        return columns
    return with_numbers_as_attributes(columns, readings(columns, program.next_clock))


def with_numbers(
    columns: EventColumns, clocks: Collection[Clock], partition_by: Sequence[str]
) -> EventColumns:
    """Add the numbers of some clocks; see `numbered`.

    Args:
        columns: The whole stream, or some of its events that have them.
        partition_by: The attributes inside whose partitions places are counted.
    """
    if not {"arrival", "place"}.intersection(clocks):
        return columns
    arrivals, places = columns.arrivals, columns.places
    if arrivals is None and ("arrival" in clocks or ("place" in clocks and places is None)):
        arrivals = columns.arrival()
    if places is None and "place" in clocks and arrivals is not None:
        codes, count = partition_keys([columns.attributes[name] for name in partition_by])
        places = np.empty(len(columns), dtype=np.int64)
        if columns.in_order():
            number_each(codes, np.zeros(count, dtype=np.int64), places)
        else:
            came, numbers = np.argsort(arrivals), np.empty_like(places)
            number_each(codes[came], np.zeros(count, dtype=np.int64), numbers)
            places[came] = numbers
    return replace(columns, arrivals=arrivals, places=places)


def readings(columns: EventColumns, clock: BoundClock) -> Times:
    """Return the reading of a clock at each event: time, number, or a value that orders them."""
    if clock == "time":
        return columns.ts
    if clock == "order":
        return columns.order()
    numbers = columns.arrivals if clock == "arrival" else columns.places
    assert numbers is not None, "numbered before"
    return numbers


def came_in_order(program: Program, columns: EventColumns) -> bool:
    """Return whether numbers ascend with time (places inside each partition)."""
    if columns.arrivals is not None or columns.places is None:
        return columns.in_order()
    codes, _ = partition_keys([columns.attributes[name] for name in program.partition_by])
    order = np.argsort(codes, kind="stable")
    codes, places = codes[order], columns.places[order]
    return bool(((places[1:] > places[:-1]) | (codes[1:] != codes[:-1])).all())


def refuse_counted_runs(program: Program) -> None:
    """Refuse some runs in a window of events if rows did not arrive in time order.

    These are FIRST runs, and greedy ones that end before an event.
    """
    counted = any(clock != "time" for _, clock in program.windows)
    greedy = [
        absence.further for group in (program.absences, *program.otherwise) for absence in group
    ]
    ended = {each.variable for each in greedy if each is not None and each.end is not None}
    for one in program.sets:
        if counted and (one.repeated.run == "first" or one.repeated.variable in ended):
            raise UnsupportedError(
                f"the run '{one.repeated.variable}' in a window of events, over rows that are not "
                "in the order of time",
                hint="sort the rows by time, or give a window of time",
            )


def owners_of(program: Program, clock: Clock, *, in_order: bool) -> tuple[str, ...]:
    """Return the variables whose latest event, by a clock, decides who owns a match.

    If numbers do not ascend with time, that can be every variable except sets.

    Args:
        in_order: Whether numbers ascend with time.
    """
    if clock == "time" or in_order:
        return program.owners
    single = tuple(s.variable for s in program.single if s.variable not in program.ends)
    return single or program.owners


SLICE_ROWS, MANY_SLICES = 1 << 19, 8
"""The events of a slice, twice as many where that still leaves so many slices, unless the window
is so long that the overlap would cost too much. With fewer, Python's work for each slice would
count, and a thread that waits for another's is woken in vain whenever that runs a short loop."""


def rows_of_slices(events: int) -> int:
    """Return the events of a slice of so many events in memory: of one, or of an even number."""
    most = 2 * SLICE_ROWS if events >= 2 * MANY_SLICES * SLICE_ROWS else SLICE_ROWS
    number = 2 * -(-events // (2 * most)) if events > most else 1
    return max(1, -(-events // number))


HEAVY = 16.0
"""With more candidates for each event the joins of a slice take far longer than its other work."""

HEAVY_CANDIDATES, HEAVY_ROWS, HEAVY_WINDOWS = 1 << 24, 1 << 16, 3
"""Then a slice has about so many candidates, but at least so many events and windows: threads have
more slices to share, and the last one keeps nobody waiting for long."""

ADAPTED_ROWS = 20_000
"""The same if each slice has its own plan: long enough for counting, short enough to be
homogeneous."""

WINDOWS_PER_SLICE = 10
"""The least length of a slice in windows: the overlap then costs at most a tenth."""


def cut(programs: Sequence[Program], columns: EventColumns) -> tuple[Clock, int | None]:
    """Return the clock that can cut rows in stream order into slices, and its window.

    Rows are in time order; arrival numbers ascend only if events came in that order, places inside
    partitions hardly ever. Without a window there is one slice.
    """
    clock, window = cutting_clock(programs)
    ascends = clock == "time" or (clock == "arrival" and came_in_order(programs[0], columns))
    return (clock, window) if ascends else ("time", None)


def cutting_clock(programs: Sequence[Program]) -> tuple[Clock, int | None]:
    """Return a clock in which every match, with events that can break it, spans at most a window.

    Contiguity alone sets no window for events under NOT, nor for sets of any size, so there may be
    no such clock.

    Returns:
        The clock (time before arrival before place) and the window; None if there is no clock.
    """
    steps = [step for program in programs for step in program.everything]
    clocks: tuple[Clock, ...] = ("time", "arrival", "place")
    for clock in clocks:
        lengths = [length for step in steps for length, c in step.windows if c == clock]
        if len(lengths) == len(steps):
            return clock, max(lengths)
    return "time", None


def looks_ahead(programs: Sequence[Program], clock: Clock) -> bool:
    """Return whether a slice needs the events of up to one window after its own."""
    # Only with time as the clock it is known which events come last.
    return any(p.looks_ahead or (clock != "time" and (p.sets or p.negated)) for p in programs)


def slices(
    values: np.ndarray[tuple[int], np.dtype[np.int64]],
    window: int | None,
    slice_rows: int | None,
    first: int = 0,
    last: int | None = None,
    least: int = SLICE_ROWS,
    windows: int | None = None,
) -> Iterator[tuple[int, int, int]]:
    """Yield for each slice the first event it sees, the first it owns, and its end.

    Events of equal time are never separated. Without a window there is one slice.

    Args:
        values: The clock's reading at each event, ascending.
        window: The greatest distance of two events of a match by that clock; None for any.
        slice_rows: Events of a slice; None: chosen from the window.
        last: The end of those that slices own; None: that of the stream.
        least: The least events of a slice, if `slice_rows` is None.
        windows: The same in windows; None: `WINDOWS_PER_SLICE`.
    """
    windows = WINDOWS_PER_SLICE if windows is None else windows
    n = len(values) if last is None else last
    if window is None or n == first:
        yield 0, first, n
        return
    while first < n:
        begin = int(np.searchsorted(values, values[first] - window))
        if slice_rows is None:
            in_windows = int(np.searchsorted(values, values[first] + windows * window))
            end = max(first + least, in_windows)
        else:
            end = first + max(1, slice_rows)
        if end < n:
            end = int(np.searchsorted(values, values[end - 1], side="right"))
        end = min(end, n)
        yield begin, first, end
        first = end
