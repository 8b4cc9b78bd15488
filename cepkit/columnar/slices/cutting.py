"""Cuts a stream in memory into slices.

A slice owns the matches whose last event lies in it. It sees the events up to a window before it
(and after it, if an event there could break a match). Windows in time use slices of time; windows
in events and contiguity use slices of arrival numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepkit.columnar.compile.program import Program
from cepkit.columnar.slices.clocks import came_in_order
from cepkit.pattern.policies import Clock
from cepkit.stream.columns import EventColumns

SLICE_ROWS = 1 << 19
"""The events of a slice, unless the window is so long that the overlap would cost too much. With
fewer, Python's work for each slice would count, for which threads wait for each other."""

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
