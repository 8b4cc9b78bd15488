"""The layout of cells: a stream cut by clock, key or both into cells that fit a worker.

A time slice owns the matches whose last event lies in it. It also gets copies of the events up to a
window before it (the halo). Events of equal time are never separated. Windows in events are cut in
the same way by the numbers that they count: arrival numbers, or places inside the partition. If all
events of a match share a key, buckets of keys need no copies. Buckets are cut by the clock as well
if the heaviest key alone is too much for a worker, or if its task would run long after all others:
the halos then cost less than waiting. The halo of a slice of ten windows costs a tenth; fewer than
some 50,000 events do not pay for a task, unless searching them takes as long as transferring that
many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import assert_never

from cepkit.columnar.slices.cutting import WINDOWS_PER_SLICE, Owned
from cepkit.errors import StreamError
from cepkit.pattern.policies import Clock
from cepkit.spark.cells.keys import Key

LEAST_EVENTS = 50_000
"""The least relevant events of a cell, or as much work as they bring, if the stream has them."""

USUAL_EVENTS = 1_000_000
"""The most relevant events of a cell, unless ten windows hold more."""

MOST_BYTES = 128 * 2**20
"""The most Arrow bytes of a cell's events; the engine needs about as much again."""

NO_WINDOW = "there is no window to cut by"
IN_TURN = "what is taken depends on what was taken before"
"""Why there are no slices without a window and under skip-till-next-match."""

MOST_TASKS = 4000
MOST_COPIES = 1000

_SECONDS_AN_EVENT = 4e-7
"""The time to transfer an event to a worker; measured."""

_LONG = 1e9
"""Seconds that stand for an infinite expectation."""

_WORTH = 0.9
"""Slices replace buckets if they take less than this share of the time."""

_FAR = 2**60
"""Some 36,000 years in microseconds; sums of a few of these are still int64."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a stream: its time span, events and keys.

    Attributes:
        events: The events of types in the query.
        first: The approximate clock value of the first: a time in microseconds, or a number.
        last: The clock value of the last.
        heaviest: An upper bound on the events of the most frequent key.
        seconds: The expected search time of one core, without the transfer.
        share: The part of that time for the most frequent key.
    """

    events: int
    first: int
    last: int
    heaviest: int
    seconds: float = 0.0
    share: float = 0.0

    @property
    def searching(self) -> float:
        """The cost of the search, in transferred events."""
        return min(self.seconds, _LONG) / _SECONDS_AN_EVENT


@dataclass(frozen=True, slots=True)
class Cut:
    """How a stream may be cut for a query.

    Attributes:
        window: How far before its own events a cell must see, by the clock; None if there are no
            slices.
        clock: By what slices are cut.
        ahead: Whether a slice must see as much after it.
        key: Columns that can be hashed into buckets.
        uncut: Why there are no slices, if there are none.
        length: The requested length of a slice, in seconds or in events; None: any.
    """

    window: int | None = None
    clock: Clock = "time"
    ahead: bool = False
    key: Key | None = None
    uncut: str = NO_WINDOW
    length: float | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The assignment of events to cells.

    Attributes:
        cut: How the stream may be cut.
        slice: The length of a slice by the clock; None for no slices.
        origin: Where slice 0 begins.
        buckets: The number of buckets that keys are hashed into; 1 for no hashing.
        cells: The approximate number of cells; None if unknown.
        sample: The sampled slices; None for all.
    """

    cut: Cut = Cut()
    slice: int | None = None
    origin: int = 0
    buckets: int = 1
    cells: int | None = 1
    sample: tuple[int, ...] | None = None

    @property
    def halo(self) -> int:
        """How far before its beginning a slice sees."""
        return self.cut.window or 0

    @property
    def ahead(self) -> int:
        """How far after its end a slice sees."""
        return self.halo if self.cut.ahead else 0

    def owned(self, cell: int) -> Owned:
        """Return the range of matches that a cell owns."""
        if self.slice is None:
            return Owned(clock=self.cut.clock)
        begin = self.origin + (cell // self.buckets) * self.slice
        return Owned(begin, begin + self.slice, self.cut.clock)

    def tasks(self, cores: int) -> int:
        """Return the number of tasks for the cells."""
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
    """Choose cells that fit a worker and keep all cores busy.

    Args:
        extent: The size of the stream; None only if the length of a slice is given.
        cores: How many tasks run at once.
        row_bytes: The approximate bytes of an event.

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
            # If there are fewer slices than cores, each gets its own task.
            buckets = max(buckets, math.ceil(min(cores, events / usual) / slices))
            fits = extent.heaviest <= most
            if fits and not _ends_earlier(extent, cut, length, slices * buckets, cores):
                return _buckets(extent, cut, cores, usual, most)
    origin = max(-_FAR, min(extent.first, _FAR))
    return Layout(cut, length, origin, buckets, slices * buckets)


def _buckets(extent: Extent | None, cut: Cut, cores: int, usual: int, most: int) -> Layout:
    """Return the number of buckets; one without a key."""
    if cut.key is None:
        return Layout(cut)
    events, heaviest = (0, 0) if extent is None else (extent.events, extent.heaviest)
    shares = _shares(events, usual, max(1, most - heaviest))
    buckets = max(2 * cores if extent is None else 1, *shares)
    return Layout(cut, buckets=buckets, cells=buckets)


def _ends_earlier(extent: Extent, cut: Cut, length: int, cells: int, cores: int) -> bool:
    """Return whether slices of keys finish earlier than buckets without halos.

    The busiest core decides: its share of all work, or the heaviest key (a single task), or a slice
    of it. Events are transferred to each slice that sees them, but searched once.
    """
    halos = 1 + (cut.window or 0) * (2 if cut.ahead else 1) / length
    slices = (extent.last - extent.first) // length + 1

    def busiest(brought: float, parts_of_key: float, parts: float) -> float:
        of_all = extent.events * brought + extent.searching
        of_key = extent.heaviest * brought + extent.searching * extent.share
        return max(of_all / cores, of_key / parts_of_key, of_all / parts)

    return busiest(halos, slices, cells) < _WORTH * busiest(1.0, 1, math.inf)


def _given_length(window: int, cut: Cut) -> int | None:
    """Return the requested length of a slice by the clock.

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
    # By place, all keys share slice numbers: the heaviest key has all slices.
    events = extent.heaviest if cut.clock == "place" else extent.events
    window, span = cut.window or 0, max(extent.last - extent.first, 1)
    each = span / max(events, 1)
    length = max(WINDOWS_PER_SLICE * window, math.ceil(usual * each), 1)
    if length > most * each:
        length = max(window, int(most * each), 1)
    return min(length, _FAR)
