"""The layout of cells: a stream cut by clock, by key or by both, so that workers can hold each.

A slice of time owns the matches whose last event lies in it and sees the events up to a window
before it (the halo), which are copied to it. Events of one time are never parted. A window in
events is cut in the same way by the numbers that it counts: those of arrival, or those inside the
partition. Where all events of a match agree on a key, buckets of keys need no copies; they are cut
by the clock as well where the heaviest key alone is too much for a worker, or where its task would
go on long after all others: the halos then cost less than waiting for it. The halo of a slice of
ten windows costs a tenth; fewer than some 50,000 events do not pay for a task, unless searching
them takes as long as bringing so many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import assert_never

from cepkit.columnar.compile.program import Clock
from cepkit.columnar.slices.candidates import Owned
from cepkit.columnar.slices.cutting import WINDOWS_PER_SLICE
from cepkit.errors import StreamError
from cepkit.spark.cells.keys import Key

LEAST_EVENTS = 50_000
"""Relevant events of a cell, at least, where there are so many, or as much work as they bring."""

USUAL_EVENTS = 1_000_000
"""Relevant events of a cell, at most, unless ten windows hold more."""

MOST_BYTES = 128 * 2**20
"""Of the events of a cell, as Arrow holds them; the engine needs about as much again."""

NO_WINDOW = "there is no window to cut by"
IN_TURN = "what is taken depends on what was taken before"
"""Why there are no slices: where there is no window, and under skip-till-next-match."""

MOST_TASKS = 4000
MOST_COPIES = 1000

_SECONDS_AN_EVENT = 4e-7
"""What bringing an event to a worker takes; measured."""

_LONG = 1e9
"""Seconds: what is expected to be infinite takes at least as long."""

_WORTH = 0.9
"""Slices replace buckets where they take less than this share of the time."""

_FAR = 2**60
"""Some 36,000 years in microseconds; sums of a few of these are still int64."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a stream: what is known of its time span, events and keys.

    Attributes:
        events: Those of types that the query names.
        first: What the clock says at the first, about: a time in microseconds, or a number.
        last: What it says at the last.
        heaviest: The events of the most frequent key, at most.
        seconds: How long one core is expected to search them, beside bringing them.
        share: The part of that in which the most frequent key is searched.
    """

    events: int
    first: int
    last: int
    heaviest: int
    seconds: float = 0.0
    share: float = 0.0

    @property
    def searching(self) -> float:
        """The cost of the search, in events that are brought to a worker for as much."""
        return min(self.seconds, _LONG) / _SECONDS_AN_EVENT


@dataclass(frozen=True, slots=True)
class Cut:
    """How a stream may be cut for a query.

    Attributes:
        window: What a cell must see before what is its own, by the clock; None: there are no
            slices.
        clock: By what slices are cut.
        ahead: Whether a slice must see as much after it.
        key: Columns that can be hashed into buckets.
        uncut: Why there are no slices where there are none.
        length: The length of a slice that is wanted, in seconds or in events; None: any.
    """

    window: int | None = None
    clock: Clock = "time"
    ahead: bool = False
    key: Key | None = None
    uncut: str = NO_WINDOW
    length: float | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """How events are dealt out to cells.

    Attributes:
        cut: How the stream may be cut.
        slice: The length of a slice by the clock, None for all of it.
        origin: Where slice 0 begins.
        buckets: Into how many the keys are hashed; 1: they are not.
        cells: How many there are, about; None where nothing is known.
        sample: The slices that are wanted, None for all.
    """

    cut: Cut = Cut()
    slice: int | None = None
    origin: int = 0
    buckets: int = 1
    cells: int | None = 1
    sample: tuple[int, ...] | None = None

    @property
    def halo(self) -> int:
        """How much before its beginning a slice sees too."""
        return self.cut.window or 0

    @property
    def ahead(self) -> int:
        """How much after its end a slice sees too."""
        return self.halo if self.cut.ahead else 0

    def owned(self, cell: int) -> Owned:
        """Return which matches are a cell's own."""
        if self.slice is None:
            return Owned(clock=self.cut.clock)
        begin = self.origin + (cell // self.buckets) * self.slice
        return Owned(begin, begin + self.slice, self.cut.clock)

    def tasks(self, cores: int) -> int:
        """Return among how many tasks the cells are dealt out."""
        return max(1, min(4 * cores if self.cells is None else self.cells, MOST_TASKS))

    def __str__(self) -> str:
        parts = []
        if self.buckets > 1 and self.cut.key is not None:
            parts.append(f"{self.buckets:,} buckets of {', '.join(self.cut.key.columns)}")
        if self.slice is not None:
            match self.cut.clock:
                case "time":
                    parts.append(f"time slices of {self.slice / 1e6:,.6g} s")
                case "arrival":
                    parts.append(f"slices of {self.slice:,} events in the order of arrival")
                case "place":
                    parts.append(f"slices of {self.slice:,} events of each partition")
                case _:
                    assert_never(self.cut.clock)
        elif not parts:
            return (
                f"one slice: {self.cut.uncut if self.cut.window is None else 'the events are few'}"
            )
        return " x ".join(parts)


def choose_layout(extent: Extent | None, cut: Cut, *, cores: int, row_bytes: float) -> Layout:
    """Return cells that fit a worker, enough of them for all cores.

    Args:
        extent: How much there is; None only where the length of a slice is given.
        cut: How the stream may be cut.
        cores: How many tasks run at once.
        row_bytes: Of an event, about.

    Raises:
        StreamError: A given length is so small that the halos would be most of the work.
    """
    most = max(LEAST_EVENTS, int(MOST_BYTES / row_bytes))
    events = 0 if extent is None else extent.events
    least = LEAST_EVENTS
    if extent is not None and events:
        least = max(1, int(LEAST_EVENTS * events / (events + extent.searching)))
    usual = min(USUAL_EVENTS, most, max(least, events // (8 * cores)))
    if cut.window is None:
        return _buckets(extent, cut, cores, usual, most)
    cut = replace(cut, window=min(max(cut.window, 0), _FAR))
    given = _given_length(cut.window or 0, cut)
    if extent is None:
        assert given is not None
        return Layout(cut, given, 0, 2 if cut.key else 1, None)
    length = given or _length(extent, cut, usual, most)
    slices = (extent.last - extent.first) // length + 1
    buckets = 1
    if cut.key is not None:
        buckets = max(1, *_shares(events // slices, most, most))
        if given is None:
            # Of slices that are fewer than the cores each is dealt out.
            buckets = max(buckets, math.ceil(min(cores, events / usual) / slices))
            fits = extent.heaviest <= most
            if fits and not _ends_earlier(extent, cut, length, slices * buckets, cores):
                return _buckets(extent, cut, cores, usual, most)
    origin = max(-_FAR, min(extent.first, _FAR))
    return Layout(cut, length, origin, buckets, slices * buckets)


def _buckets(extent: Extent | None, cut: Cut, cores: int, usual: int, most: int) -> Layout:
    """Return buckets of keys; one for all without a key."""
    if cut.key is None:
        return Layout(cut)
    events, heaviest = (0, 0) if extent is None else (extent.events, extent.heaviest)
    shares = _shares(events, usual, max(1, most - heaviest))
    buckets = max(2 * cores if extent is None else 1, *shares)
    return Layout(cut, buckets=buckets, cells=buckets)


def _ends_earlier(extent: Extent, cut: Cut, length: int, cells: int, cores: int) -> bool:
    """Return whether slices of the keys are done earlier than buckets without halos.

    By the work of the busiest core: its share of all, or that of the heaviest key, which is one
    task's, or of a slice of it. Events are brought to each slice that sees them, but searched once.
    """
    halos = 1 + (cut.window or 0) * (2 if cut.ahead else 1) / length
    slices = (extent.last - extent.first) // length + 1

    def busiest(brought: float, parts_of_key: float, parts: float) -> float:
        of_all = extent.events * brought + extent.searching
        of_key = extent.heaviest * brought + extent.searching * extent.share
        return max(of_all / cores, of_key / parts_of_key, of_all / parts)

    return busiest(halos, slices, cells) < _WORTH * busiest(1.0, 1, math.inf)


def _given_length(window: int, cut: Cut) -> int | None:
    """Return the length of a slice that was asked for by the clock.

    Raises:
        StreamError: It is so small that the halos would be most of the work.
    """
    if cut.length is None:
        return None
    unit, name = (1_000_000, " s") if cut.clock == "time" else (1, " events")
    length = max(1, round(min(cut.length * unit, _FAR)))
    if window // length > MOST_COPIES:
        raise StreamError(
            f"slices of {cut.length:g}{name} are too short for a window of {window / unit:g}{name}:"
            f" every event would be copied {window // length:,} times",
            expected=f"at least {window / unit / MOST_COPIES:g}{name}, better ten windows",
        )
    return length


def _shares(events: int, *sizes: int) -> tuple[int, ...]:
    return tuple(math.ceil(events / size) for size in sizes)


def _length(extent: Extent, cut: Cut, usual: int, most: int) -> int:
    # By place, the slices of all keys are numbered alike: the heaviest key has all of them.
    events = extent.heaviest if cut.clock == "place" else extent.events
    window, span = cut.window or 0, max(extent.last - extent.first, 1)
    each = span / max(events, 1)
    length = max(WINDOWS_PER_SLICE * window, math.ceil(usual * each), 1)
    if length > most * each:
        length = max(window, int(most * each), 1)
    return min(length, _FAR)
