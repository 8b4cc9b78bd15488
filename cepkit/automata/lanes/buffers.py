"""Input buffers, and the clock that drops their expired events.

Every event is stored and dropped once, so a window costs O(1) for each event in it; instances
expire by a heap. No later match can have an expired event.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cepkit.automata.events import Event
from cepkit.automata.lanes.journal import Instance, Journal

_COMPACT = 1024
"""A buffer carries at most this many dropped events, or as many as live ones."""


@dataclass(slots=True, eq=False)
class Buffer:
    """The input buffer of one variable: its events in stream order, from `begin` on."""

    variable: str
    events: list[Event] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    begin: int = 0

    def __len__(self) -> int:
        return len(self.events) - self.begin

    def append(self, event: Event) -> None:
        """Add an event after all others."""
        self.events.append(event)
        self.times.append(event.ts)
        self.orders.append(event.order)

    def drop_first(self) -> Event:
        """Take the first event out and return it."""
        event = self.events[self.begin]
        self.begin += 1
        if self.begin >= _COMPACT and self.begin * 2 >= len(self.events):
            del self.events[: self.begin], self.times[: self.begin], self.orders[: self.begin]
            self.begin = 0
        return event


class Clock:
    """The clock of a window: it expires instances and drops stored events.

    Args:
        limit: The greatest distance of two events of a match. None without a window, or where its
            clock may go back; then nothing expires before the stream ends.
    """

    def __init__(self, limit: int | None, journal: Journal) -> None:
        self._limit = limit
        self._journal = journal
        self._deadlines: list[tuple[int, int, int, Instance, Callable[[Instance], None]]] = []
        self._views = 0
        self._stored: deque[tuple[int, Buffer]] = deque()

    def keep(self, event: Event, buffer: Buffer) -> None:
        """Store an event in a buffer until its window has passed."""
        buffer.append(event)
        self._journal.store(event, buffer.variable)
        self._stored.append((event.clock, buffer))

    def wait(self, instance: Instance, expire: Callable[[Instance], None]) -> None:
        """Call `expire` when the window of an instance closes, if the instance is still alive."""
        if self._limit is not None:
            deadline = instance.low + self._limit
            # A view has the number of its instance and must expire before it.
            rank = 1
            if instance.base is not None:
                self._views -= 1
                rank = self._views
            heapq.heappush(self._deadlines, (deadline, instance.number, rank, instance, expire))

    def advance(self, now: int) -> None:
        """Drop the instances and events that can be in no match with an event at `now` or later."""
        if self._limit is None:
            return
        while self._deadlines and self._deadlines[0][0] < now:
            *_, instance, expire = heapq.heappop(self._deadlines)
            if instance.alive:
                expire(instance)
        while self._stored and self._stored[0][0] < now - self._limit:
            _, buffer = self._stored.popleft()
            self._journal.forget(buffer.drop_first(), buffer.variable)

    def end(self) -> None:
        """Drop all events at the end of the stream."""
        for _, buffer in self._stored:
            self._journal.forget(buffer.drop_first(), buffer.variable)
        self._stored.clear()
