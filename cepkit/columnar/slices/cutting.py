"""Cuts a stream in memory into slices.

A slice owns the matches whose last event lies in it and sees the events up to a window before it
(and after it, where an event there could break a match). What is a slice of time for a window in
time is one of arrival numbers for a window in events, and for events side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepkit.columnar.compile.program import Clock, Program
from cepkit.columnar.slices.clocks import came_in_order
from cepkit.stream.columns import EventColumns

SLICE_ROWS = 1 << 20
"""Events of a slice, unless the window holds so many that the overlap would cost too much."""

ADAPTED_ROWS = 20_000
"""The same where each slice has a plan of its own: long enough to be counted, short enough to be
alike from begin to end."""

WINDOWS_PER_SLICE = 10
"""A slice is at least so many windows long: the overlap then costs at most a tenth."""


def cut(programs: Sequence[Program], columns: EventColumns) -> tuple[Clock, int | None]:
    """Return the clock by which rows in stream order can be cut into slices, and its window.

    Rows are in the order of time; of arrival numbers only where the events came in that order,
    of numbers inside partitions hardly ever. No window: there is one slice.
    """
    clock, window = cutting_clock(programs)
    ascends = clock == "time" or (clock == "arrival" and came_in_order(programs[0], columns))
    return (clock, window) if ascends else ("time", None)


def cutting_clock(programs: Sequence[Program]) -> tuple[Clock, int | None]:
    """Return a clock in which no match, and nothing that breaks one, spans more than a window.

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


def looks_ahead(programs: Sequence[Program], clock: Clock) -> bool:
    """Return whether a slice needs the events of up to one window after its own."""
    # Only where the clock is time it is known which events come last.
    return any(p.looks_ahead or (clock != "time" and (p.sets or p.negated)) for p in programs)


def slices(
    values: np.ndarray[tuple[int], np.dtype[np.int64]],
    window: int | None,
    slice_rows: int | None,
    first: int = 0,
    last: int | None = None,
    least: int = SLICE_ROWS,
) -> Iterator[tuple[int, int, int]]:
    """Yield for each slice the first event it sees, the first it owns, and its end.

    Events of one time are never parted. Without a window there is one slice.

    Args:
        values: What the clock says at each event, ascending.
        window: How far apart two events of a match may be by that clock, None for any.
        slice_rows: Events of a slice; None: chosen from the window.
        first: The first event that a slice owns.
        last: The end of those that slices own; None: that of the stream.
        least: The least events of a slice where `slice_rows` does not say.
    """
    n = len(values) if last is None else last
    if window is None or n == first:
        yield 0, first, n
        return
    while first < n:
        begin = int(np.searchsorted(values, values[first] - window))
        if slice_rows is None:
            in_windows = int(np.searchsorted(values, values[first] + WINDOWS_PER_SLICE * window))
            end = max(first + least, in_windows)
        else:
            end = first + max(1, slice_rows)
        if end < n:
            end = int(np.searchsorted(values, values[end - 1], side="right"))
        end = min(end, n)
        yield begin, first, end
        first = end
