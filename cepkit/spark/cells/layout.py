"""How a stream is cut into cells, each of which one worker can hold: by a clock, by key, by both.

A slice of time owns the matches whose last event lies in it and sees the events up to a window
before it (the halo), which are copied to it. Events of one time are never parted. A window in
events is cut in the same way by the numbers that it counts: those of arrival, or those inside the
partition. Where all events of a match agree on a key, buckets of keys need no copies; they are cut
by the clock as well where the heaviest key alone is too much for a worker. The halo of a slice of
ten windows costs a tenth; fewer than some 50,000 events do not pay for a task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from cepkit.columnar.compile.program import RUN, Clock, Program
from cepkit.columnar.slices.candidates import Owned
from cepkit.columnar.slices.cutting import WINDOWS_PER_SLICE
from cepkit.errors import StreamError

LEAST_EVENTS = 50_000
"""Relevant events of a cell, at least, where there are so many."""

USUAL_EVENTS = 1_000_000
"""Relevant events of a cell, at most, unless ten windows hold more."""

MOST_BYTES = 128 * 2**20
"""Of the events of a cell, as Arrow holds them; the engine needs about as much again."""

MOST_TASKS = 4000
MOST_COPIES = 1000

_FAR = 2**60
"""Some 36,000 years in microseconds; sums of a few of these are still int64."""


@dataclass(frozen=True, slots=True)
class Key:
    """Columns on which all events of a match agree.

    Attributes:
        columns: Their names.
        missing_agree: Whether events without a value agree with each other, as in PARTITION BY;
            where not, they are in no match.
    """

    columns: tuple[str, ...]
    missing_agree: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to cut.

    Attributes:
        events: Those of types that the query names.
        first: What the clock says at the first, about: a time in microseconds, or a number.
        last: What it says at the last.
        heaviest: The events of the most frequent key, at most.
    """

    events: int
    first: int
    last: int
    heaviest: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How events are dealt out to cells.

    Attributes:
        window: What lies between the first and the last event of a match by the clock, at most;
            None for any.
        slice: The length of a slice by the clock, None for all of it.
        origin: Where slice 0 begins.
        buckets: Into how many the keys are hashed; 1: they are not.
        key: What is hashed.
        cells: How many there are, about; None where nothing is known.
        ahead: How much after its end a slice sees too.
        chosen: The slices that are wanted, None for all.
        clock: By what slices are cut.
        uncut: Why there are no slices where there are none.
    """

    window: int | None
    slice: int | None = None
    origin: int = 0
    buckets: int = 1
    key: Key | None = None
    cells: int | None = 1
    ahead: int = 0
    chosen: tuple[int, ...] | None = None
    clock: Clock = "time"
    uncut: str = "there is no window to cut by"

    def begin(self, cell: int) -> int | None:
        """Return where what is a cell's own begins; None: with the first event."""
        return None if self.slice is None else self.origin + (cell // self.buckets) * self.slice

    def owned(self, cell: int) -> Owned:
        """Return which matches are a cell's own."""
        begin = self.begin(cell)
        end = None if begin is None or self.slice is None else begin + self.slice
        return Owned(begin, end, self.clock)

    def looking_ahead(self) -> Layout:
        """Return the same cells, which see a window after their end too: with NOT."""
        return replace(self, ahead=self.window or 0) if self.slice is not None else self

    def tasks(self, cores: int) -> int:
        """Return among how many tasks the cells are dealt out."""
        return max(1, min(4 * cores if self.cells is None else self.cells, MOST_TASKS))

    def __str__(self) -> str:
        parts = []
        if self.buckets > 1 and self.key is not None:
            parts.append(f"{self.buckets:,} buckets of {', '.join(self.key.columns)}")
        if self.slice is not None:
            match self.clock:
                case "time":
                    parts.append(f"time slices of {self.slice / 1e6:,.6g} s")
                case "arrival":
                    parts.append(f"slices of {self.slice:,} events in the order of arrival")
                case "place":
                    parts.append(f"slices of {self.slice:,} events of each partition")
                case _:
                    assert_never(self.clock)
        elif not parts:
            return f"one slice: {self.uncut if self.window is None else 'the events are few'}"
        return " x ".join(parts)


def common_key(programs: Sequence[Program]) -> Key | None:
    """Return what all events of every match agree on: PARTITION BY, or a chain of equalities.

    `a.k = b.k AND b.k = c.k` is a key in fact, where all variables are linked by the same
    attribute in every branch - those under NOT as well, or an event that breaks a match could
    be in another bucket.
    """
    if programs[0].partition_by:
        return Key(programs[0].partition_by, missing_agree=True)
    linked = [
        {
            name
            for members in program.classes[: program.linked]
            for _, name in members
            if all((variable, name) in members for variable in program.variables)
            and all(_is_linked(program, step.variable, name) for step in program.negated)
        }
        for program in programs
    ]
    names = set.intersection(*linked) - {None, RUN}
    return Key((min(str(name) for name in names),), missing_agree=False) if names else None


def _is_linked(program: Program, negated: str, name: str | None) -> bool:
    """Whether a negated variable must agree in an attribute with a variable of the match."""
    return any(
        (negated, name) in members
        and any((variable, name) in members for variable in program.variables)
        for members in program.classes[program.linked :]
    )


def choose_layout(
    extent: Extent | None,
    window: int | None,
    key: Key | None,
    *,
    cores: int,
    row_bytes: float,
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    clock: Clock = "time",
) -> Layout:
    """Return cells that fit a worker, enough of them for all cores.

    Args:
        extent: How much there is; None only where the length of a slice is given.
        window: What lies between the first and the last event of a match by the clock, at most;
            None for any.
        key: What all events of a match agree on, if anything.
        cores: How many tasks run at once.
        row_bytes: Of an event, about.
        slice_seconds: The length of a time slice; None: chosen.
        slice_events: That of a slice by another clock, in events.
        clock: By what slices are cut.

    Raises:
        StreamError: A given length is so small that the halos would be most of the work.
    """
    most = max(LEAST_EVENTS, int(MOST_BYTES / row_bytes))
    events = 0 if extent is None else extent.events
    usual = min(USUAL_EVENTS, most, max(LEAST_EVENTS, events // (8 * cores)))
    window = None if window is None else min(max(window, 0), _FAR)
    given = None
    if window is not None:
        given = _given_length(window, slice_seconds if clock == "time" else slice_events, clock)
    if window is None or (key is not None and given is None and extent and extent.heaviest <= most):
        buckets = 1
        if key is not None:
            room = max(1, most - (extent.heaviest if extent else 0))
            buckets = max(2 * cores if extent is None else 1, *_shares(events, usual, room))
        return Layout(window, buckets=buckets, key=key, cells=buckets, clock=clock)
    if extent is None:
        assert given is not None
        return Layout(window, given, 0, 2 if key else 1, key, None, clock=clock)
    # By place, the slices of all keys are numbered alike: the heaviest key has all of them.
    sliced = replace(extent, events=extent.heaviest) if clock == "place" else extent
    length = _length(sliced, window, usual, most) if given is None else given
    slices = (extent.last - extent.first) // length + 1
    buckets = max(1, *_shares(events // slices, most, most)) if key is not None else 1
    origin = max(-_FAR, min(extent.first, _FAR))
    return Layout(window, length, origin, buckets, key, slices * buckets, clock=clock)


def _given_length(window: int, wanted: float | None, clock: Clock) -> int | None:
    """Return the length of a slice that was asked for by the clock.

    Raises:
        StreamError: It is so small that the halos would be most of the work.
    """
    if wanted is None:
        return None
    unit, name = (1_000_000, " s") if clock == "time" else (1, " events")
    length = max(1, round(min(wanted * unit, _FAR)))
    if window // length > MOST_COPIES:
        raise StreamError(
            f"slices of {wanted:g}{name} are too short for a window of {window / unit:g}{name}:"
            f" every event would be copied {window // length:,} times",
            expected=f"at least {window / unit / MOST_COPIES:g}{name}, better ten windows",
        )
    return length


def _shares(events: int, *sizes: int) -> tuple[int, ...]:
    return tuple(math.ceil(events / size) for size in sizes)


def _length(extent: Extent, window: int, usual: int, most: int) -> int:
    span = max(extent.last - extent.first, 1)
    each = span / max(extent.events, 1)
    length = max(WINDOWS_PER_SLICE * window, math.ceil(usual * each), 1)
    if length > most * each:
        length = max(window, int(most * each), 1)
    return min(length, _FAR)
