"""Detection over a whole stream in memory: one slice after the other, one branch after the other.

A slice owns the matches whose last event lies in it and sees the events up to a window before it
(and after it, where an event there could break a match). So the memory that detection needs is
bounded by the slice, and nothing is found twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepkit.columnar.backend import Backend, loops
from cepkit.columnar.binding import bind
from cepkit.columnar.blocks import Block
from cepkit.columnar.candidates import Owned
from cepkit.columnar.counters import StepCounters
from cepkit.columnar.program import Program
from cepkit.columnar.run import Run
from cepkit.columnar.sets import SetChoice
from cepkit.stream.columns import EventColumns

SLICE_ROWS = 1 << 20
"""Events of a slice, unless the window holds so many that the overlap would cost too much."""

WINDOWS_PER_SLICE = 10
"""A slice is at least so many windows long: the overlap then costs at most a tenth."""


def counters_for(program: Program) -> tuple[StepCounters, ...]:
    """Return counters at zero, one for each step of `program`."""
    return tuple(StepCounters(step.name) for step in (*program.work, *program.listed))


def detect_slice(
    program: Program,
    columns: EventColumns,
    counters: Sequence[StepCounters],
    *,
    owned_from: int | None = None,
    owned_until: int | None = None,
    backend: Backend | None = None,
    choice: SetChoice = "every",
) -> Iterator[Block]:
    """Yield the matches of one branch among the events of one slice, some at a time.

    Args:
        program: The branch and its plan.
        columns: The events of the slice and those up to a window before it; with NOT, also those
            up to a window after it.
        counters: The work of each step is added to them.
        owned_from: Where the slice begins, in microseconds; None: with the first event.
        owned_until: Where the next one begins; None: this is the last.
        backend: The inner loops; None: the fastest there are.
        choice: Which sets of each Kleene variable are wanted.
    """
    chosen = loops(backend)
    owned = Owned(owned_from, owned_until)
    bound = bind(program, columns, chosen.kernels, owned)
    yield from Run(bound, chosen, counters, choice).blocks()


def detect_columns(
    program: Program,
    columns: EventColumns,
    counters: Sequence[StepCounters],
    *,
    slice_rows: int | None = None,
    backend: Backend | None = None,
    choice: SetChoice = "every",
) -> Iterator[Block]:
    """Yield the matches of one branch in a stream, some at a time.

    The rows in the blocks are those of `columns`.

    Args:
        program: The branch and its plan.
        columns: The stream.
        counters: The work of each step is added to them.
        slice_rows: Events of a slice; None: chosen from the window.
        backend: The inner loops; None: the fastest there are.
        choice: Which sets of each Kleene variable are wanted.
    """
    ts, n = columns.ts, len(columns)
    # Arrival numbers are those of the whole stream, so it is not cut where they matter.
    whole = program.side_by_side or any(clock != "time" for _, clock in program.windows)
    for begin, first, end in slices(ts, None if whole else program.window, slice_rows):
        # What must not be there may come up to a window after the slice's own events.
        ahead = end
        if end < n and program.looks_ahead:
            ahead = int(np.searchsorted(ts, ts[end - 1] + (program.window or 0), side="right"))
        part = columns if ahead - begin == n else columns.slice(begin, ahead)
        blocks = detect_slice(
            program,
            part,
            counters,
            owned_from=None if first == 0 else int(ts[first]),
            owned_until=None if end == n else int(ts[end]),
            backend=backend,
            choice=choice,
        )
        for block in blocks:
            yield block if begin == 0 else block.shifted(begin)


def slices(
    ts: np.ndarray[tuple[int], np.dtype[np.int64]], window: int | None, slice_rows: int | None
) -> Iterator[tuple[int, int, int]]:
    """Yield for each slice the first event it sees, the first it owns, and its end.

    Events of one time are never parted. Without a window there is one slice.
    """
    n = len(ts)
    if window is None or n == 0:
        yield 0, 0, n
        return
    first = 0
    while first < n:
        begin = int(np.searchsorted(ts, ts[first] - window))
        if slice_rows is None:
            in_windows = int(np.searchsorted(ts, ts[first] + WINDOWS_PER_SLICE * window))
            end = max(first + SLICE_ROWS, in_windows)
        else:
            end = first + max(1, slice_rows)
        if end < n:
            end = int(np.searchsorted(ts, ts[end - 1], side="right"))
        end = min(end, n)
        yield begin, first, end
        first = end
