"""Scopes: the events that an instance can take by order and window.

Bisection on times finds the events of a buffer: O(log buffer + events in scope).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from cepkit.automata.compile.demands import Absence, Sought, Stage
from cepkit.automata.events import Event
from cepkit.automata.lanes.buffers import Buffer
from cepkit.automata.lanes.journal import Instance


class Scopes:
    """The scopes of a branch.

    Args:
        limit: The greatest distance of two events of a match, None for any distance.
        timed: Whether the window is one of time, so that times alone decide.
    """

    def __init__(self, limit: int | None, *, timed: bool) -> None:
        self._limit = limit
        self._timed = timed

    def candidates(self, buffer: Buffer, stage: Stage, instance: Instance) -> list[Event]:
        """Return the buffered events in the scope of an instance, in stream order."""
        first, last = self._range(buffer, stage.after, stage.before, instance, windowed=True)
        events = buffer.events[first:last]
        if not self._timed and self._limit is not None and instance.bound:
            events = [event for event in events if self.in_window(instance, event)]
        if stage.rivals:
            events = [event for event in events if not own(event, instance, stage.rivals)]
        return events

    def in_scope(self, stage: Stage, instance: Instance, event: Event) -> bool:
        """Return whether the newest event is in the scope of an instance."""
        binding, order = instance.binding, event.order
        for slot in stage.after:
            if end_of(binding[slot]) >= order:
                return False
        if stage.rivals and own(event, instance, stage.rivals):
            return False
        return not instance.bound or self.in_window(instance, event)

    def in_window(self, instance: Instance, event: Event) -> bool:
        """Return whether an event is in one window with those of an instance."""
        low, high = min(instance.low, event.clock), max(instance.high, event.clock)
        return self._limit is None or high - low <= self._limit

    def between(
        self, buffer: Buffer, absence: Absence, sought: Sought, instance: Instance
    ) -> list[Event]:
        """Return the buffered events in the place of an absent event."""
        first, last = self._range(
            buffer, sought.after, sought.before, instance, windowed=absence.windowed
        )
        events = buffer.events[first:last]
        if absence.beside is None:
            return events
        return [event for event in events if is_beside(absence, instance, event)]

    def _range(
        self,
        buffer: Buffer,
        after: tuple[int, ...],
        before: tuple[int, ...],
        instance: Instance,
        *,
        windowed: bool,
    ) -> tuple[int, int]:
        """Return the range in a buffer of the events between some places of an instance."""
        times, orders, binding = buffer.times, buffer.orders, instance.binding
        first, last = buffer.begin, len(times)
        if after:
            first = bisect_right(orders, max(end_of(binding[slot]) for slot in after), first)
        if before:
            last = bisect_left(orders, min(begin_of(binding[slot]) for slot in before), first)
        if windowed and self._limit is not None and self._timed and instance.bound:
            first = bisect_left(times, instance.high - self._limit, first)
            last = bisect_right(times, instance.low + self._limit, first, max(first, last))
        return first, last


def own(event: Event, instance: Instance, slots: Iterable[int]) -> bool:
    """Return whether an instance has an event at one of some places."""
    for slot in slots:
        place = instance.binding[slot]
        if place is event or (isinstance(place, tuple) and event in place):
            return True
    return False


def is_beside(absence: Absence, instance: Instance, event: Event) -> bool:
    """Return whether an event is in the forbidden place beside a set, in stream order."""
    members: Any = instance.binding[absence.slot]
    beside = absence.beside
    assert beside is not None
    low, high = beside.stretch(members[0].number, members[-1].number)
    if (low is not None and event.number < low) or (high is not None and event.number > high):
        return False
    return beside.maximum is None or len(members) < beside.maximum


def begin_of(place: Event | tuple[Event, ...] | None) -> int:
    """Return the order of the first event of a place."""
    assert place is not None
    return place[0].order if isinstance(place, tuple) else place.order


def end_of(place: Event | tuple[Event, ...] | None) -> int:
    """Return the order of the last event of a place."""
    assert place is not None
    return place[-1].order if isinstance(place, tuple) else place.order
