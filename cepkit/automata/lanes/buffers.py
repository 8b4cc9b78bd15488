"""Input buffers, and the clock that says when their events have expired.

Every event is stored and dropped once, so a window costs O(1) for each event in it; instances
leave by a heap. What is dropped can be in no later match: the window has passed it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import field

from cepkit.automata.events import Event
from cepkit.automata.lanes.journal import Instance, Journal
from cepkit.values import dataclass

_COMPACT = 1024
"""Dropped events that a buffer carries along at most, unless there are more live ones."""


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
        """Add an event that comes after all others."""
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
    """Tells which stored events the window has passed.

    Args:
        limit: How far apart two events of a match may be; None where there is no window, or where
            what it counts may go back: then nothing expires before the stream ends.
        journal: Where it is counted.
    """

    def __init__(self, limit: int | None, journal: Journal) -> None:
        self._limit = limit
        self._journal = journal
        self._deadlines: list[tuple[int, int, int, Instance, Callable[[Instance], None]]] = []
        self._views = 0
        self._stored: deque[tuple[int, Buffer]] = deque()

    def keep(self, event: Event, buffer: Buffer) -> None:
        """Store an event in a buffer for as long as the window allows."""
        buffer.append(event)
        self._journal.store(event, buffer.variable)
        self._stored.append((event.clock, buffer))

    def wait(self, instance: Instance, expire: Callable[[Instance], None]) -> None:
        """Have `expire` called once the window of an instance has closed, if it lives then."""
        if self._limit is not None:
            deadline = instance.low + self._limit
            # A view, which has the number of its instance, goes before it: it would end with it.
            rank = 1
            if instance.base is not None:
                self._views -= 1
                rank = self._views
            heapq.heappush(self._deadlines, (deadline, instance.number, rank, instance, expire))

    def advance(self, now: int) -> None:
        """Drop what can be in no match with an event at `now`, or later."""
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
        """Drop all events: the stream has ended."""
        for _, buffer in self._stored:
            self._journal.forget(buffer.drop_first(), buffer.variable)
        self._stored.clear()
