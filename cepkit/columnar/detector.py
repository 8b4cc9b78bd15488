"""Detection over a whole stream in memory: one slice after the other, all branches on each.

A slice owns the matches whose last event lies in it and sees the events up to a window before it
(and after it, where an event there could break a match). So the memory that detection needs is
bounded by the slice, and nothing is found twice. What is a slice of time for a window in time is
one of arrival numbers for a window in events, and for events side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepkit.columnar.branches import bind_branches, run_branches
from cepkit.columnar.compile.program import Clock, Program
from cepkit.columnar.kleene.limits import SetChoice
from cepkit.columnar.slices.blocks import Block
from cepkit.columnar.slices.candidates import EVERYTHING, Owned
from cepkit.columnar.slices.clocks import came_in_order, numbered, readings
from cepkit.columnar.slices.counters import StepCounters
from cepkit.stream.columns import EventColumns

SLICE_ROWS = 1 << 20
"""Events of a slice, unless the window holds so many that the overlap would cost too much."""

WINDOWS_PER_SLICE = 10
"""A slice is at least so many windows long: the overlap then costs at most a tenth."""


def counters_for(program: Program) -> tuple[StepCounters, ...]:
    """Return counters at zero, one for each step of `program`."""
    return tuple(StepCounters(step.name) for step in (*program.work, *program.listed))


def detect_slice(
    programs: Sequence[Program],
    columns: EventColumns,
    counters: Sequence[Sequence[StepCounters]],
    *,
    owned: Owned = EVERYTHING,
    choice: SetChoice = "every",
) -> Iterator[tuple[int, Block]]:
    """Yield branch and matches among the events of one slice, some at a time.

    Args:
        programs: The branches and their plans.
        columns: The events of the slice and those up to a window before it; with NOT, also those
            up to a window after it. Where windows count events, with their numbers in the stream.
        counters: For each branch those of its steps; the work is added to them.
        owned: The matches that are the slice's own.
        choice: Which sets of each Kleene variable are wanted.
    """
    bound = bind_branches(programs, columns, owned)
    yield from run_branches(bound, counters, choice)


def detect_columns(
    programs: Sequence[Program],
    columns: EventColumns,
    counters: Sequence[Sequence[StepCounters]],
    *,
    slice_rows: int | None = None,
    choice: SetChoice = "every",
) -> Iterator[tuple[int, Block]]:
    """Yield branch and matches in a stream, some at a time.

    The rows in the blocks are those of `columns`.

    Args:
        programs: The branches and their plans.
        columns: The stream.
        counters: For each branch those of its steps; the work is added to them.
        slice_rows: Events of a slice; None: chosen from the window.
        choice: Which sets of each Kleene variable are wanted.
    """
    n = len(columns)
    for program in programs:
        columns = numbered(program, columns)
    clock, window = cut(programs, columns)
    values = readings(columns, clock)
    looks_ahead = any(program.looks_ahead for program in programs)
    for begin, first, end in slices(values, window, slice_rows):
        # What must not be there, and members of sets, may come up to a window after the slice.
        ahead = end
        if end < n and looks_ahead:
            ahead = int(np.searchsorted(values, values[end - 1] + (window or 0), side="right"))
        part = columns if ahead - begin == n else columns.slice(begin, ahead)
        since = None if first == 0 else int(values[first])
        until = None if end == n else int(values[end])
        blocks = detect_slice(
            programs,
            part,
            counters,
            owned=Owned(since, until, clock),
            choice=choice,
        )
        for number, block in blocks:
            yield number, block if begin == 0 else block.shifted(begin)


def cut(programs: Sequence[Program], columns: EventColumns) -> tuple[Clock, int | None]:
    """Return the clock by which rows in stream order can be cut into slices, and its window.

    Rows are in the order of time; of arrival numbers only where the events came in that order,
    of numbers inside partitions hardly ever. No window: there is one slice.
    """
    clock, window = cutting_clock(programs)
    ascends = clock == "time" or (clock == "arrival" and came_in_order(programs[0], columns))
    return (clock, window) if ascends else ("time", None)


def cutting_clock(programs: Sequence[Program]) -> tuple[Clock, int | None]:
    """Return a clock in which no match, and nothing that breaks one, is longer than a window.

    Contiguity alone sets no window for what must be absent, nor for sets of any size: there may be
    no such clock.

    Args:
        programs: The branches of a query.

    Returns:
        The clock, time before arrival before place, and the window; None where there is no clock.
    """
    steps = [step for program in programs for step in program.everything]
    clocks: tuple[Clock, ...] = ("time", "arrival", "place")
    for clock in clocks:
        lengths = [length for step in steps for length, c in step.windows if c == clock]
        if len(lengths) == len(steps):
            return clock, max(lengths)
    return "time", None


def slices(
    values: np.ndarray[tuple[int], np.dtype[np.int64]], window: int | None, slice_rows: int | None
) -> Iterator[tuple[int, int, int]]:
    """Yield for each slice the first event it sees, the first it owns, and its end.

    Events of one time are never parted. Without a window there is one slice.

    Args:
        values: What the clock says at each event, ascending.
        window: How far apart two events of a match may be by that clock, None for any.
        slice_rows: Events of a slice; None: chosen from the window.
    """
    n = len(values)
    if window is None or n == 0:
        yield 0, 0, n
        return
    first = 0
    while first < n:
        begin = int(np.searchsorted(values, values[first] - window))
        if slice_rows is None:
            in_windows = int(np.searchsorted(values, values[first] + WINDOWS_PER_SLICE * window))
            end = max(first + SLICE_ROWS, in_windows)
        else:
            end = first + max(1, slice_rows)
        if end < n:
            end = int(np.searchsorted(values, values[end - 1], side="right"))
        end = min(end, n)
        yield begin, first, end
        first = end
