"""The events that a question is about: their times, their partitions, and values to be read.

An event is its number in stream order. A combination is one event for each variable; many of them
are a mapping of variables to arrays of one length, a row for each combination.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import Clock
from cepkit.diagnosis.sets import function_named, of_members, of_single
from cepkit.pattern.evaluation import Read
from cepkit.statistics.sampling import partition_of
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int64]
Combinations = Mapping[str, Ints]

_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True)
class Scene:
    """Events in stream order.

    Attributes:
        columns: With all attributes that the pattern reads.
        partition_by: The attributes of the partition.
    """

    columns: EventColumns
    partition_by: tuple[str, ...] = ()

    @property
    def ts(self) -> Ints:
        """The time of each event in microseconds."""
        return self.columns.ts

    @cached_property
    def arrival(self) -> Ints:
        """The arrival number of each event."""
        return self.columns.arrival()

    @cached_property
    def came_in_order(self) -> bool:
        """Whether events arrived in the order of their times: arrival is the event's number."""
        return bool((self.arrival == np.arange(len(self.columns))).all())

    @cached_property
    def partition(self) -> Ints:
        """The number of the partition of each event."""
        return partition_of(self.columns, self.partition_by)

    @cached_property
    def place(self) -> Ints:
        """The arrival number of each event among those of its partition."""
        order = np.lexsort((self.arrival, self.partition))
        codes = self.partition[order]
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.searchsorted(codes, codes)
        return place

    def alike(self, name: str | None) -> Ints:
        """Return a number for each event: events with equal values of an attribute share it.

        Args:
            name: The attribute, where missing is equal to nothing and -1; None for the partition,
                where missing agrees with missing.
        """
        if name is None:
            return self.partition
        missing = self.columns.attributes[name].missing()
        return np.where(missing, -1, partition_of(self.columns, (name,)))

    def at_place(self, partners: Ints, places: Ints) -> Ints:
        """Return the events at some places of the partitions that other events are in.

        Events must have come in order. Before the first place is event 0, behind the last one the
        number of all events.
        """
        codes = self.partition[partners]
        begin, end = (np.searchsorted(self._ordered_codes, codes, side=side) for side in _SIDES)
        at = begin + np.maximum(places, 0)
        inside = at < end
        found = self._by_partition[np.where(inside, at, 0)] if len(self._by_partition) else at
        return np.where(inside, np.where(places < 0, 0, found), len(self.columns))

    @cached_property
    def _by_partition(self) -> Ints:
        return np.argsort(self.partition, kind="stable")

    @cached_property
    def _ordered_codes(self) -> Ints:
        return self.partition[self._by_partition]

    def clock(self, clock: Clock) -> Ints:
        """Return what a window counts in, for each event."""
        match clock:
            case "time":
                return self.ts
            case "arrival":
                return self.arrival
            case "place":
                return self.place

    def of_types(self, types: frozenset[str] | None) -> Ints:
        """Return the events that have one of some types (None: all), in stream order."""
        if types is None:
            return np.arange(len(self.columns))
        wanted = np.array([name in types for name in self.columns.type_names], dtype=np.bool_)
        if not wanted.any():
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(wanted[self.columns.types])

    def reader(self, rows: Combinations, sets: Mapping[str, Sequence[int]] | None = None) -> Read:
        """Return what gives `evaluation` the values of combinations.

        Args:
            rows: The events.
            sets: The events of Kleene variables, for functions of sets; without them a set is
                the one event that its variable has in `rows`.
        """

        def read(variable: str, attribute: str) -> Column:
            function = function_named(attribute)
            if function is None:
                return self.columns.attributes[attribute].take(rows[variable])
            events = np.sort(np.asarray((sets or rows)[variable], dtype=np.int64))
            if sets is None:
                events = rows[variable]
            name = function[1]
            column = None if name is None else self.columns.attributes[name].take(events)
            make = of_single if sets is None else of_members
            return make(function[0], column, len(events))

        return read


def spans(clock: Ints, rows: Combinations) -> Ints:
    """Return for each combination how far its last event is from its first."""
    stacked = np.stack([clock[events] for events in rows.values()])
    found: Ints = np.ptp(stacked, axis=0)
    return found


def scope(
    scene: Scene,
    rows: Combinations,
    size: int,
    *,
    after: Iterable[str] = (),
    before: Iterable[str] = (),
    windows: Iterable[tuple[Clock, Ints | int]] = (),
) -> tuple[Ints, Ints]:
    """Return for each combination between which events a further one must be.

    What arrival says of a stream that came out of order is left to who asks. Where places inside
    a partition count, all events must be in one.

    Args:
        scene: The events.
        rows: The combinations, with at least one variable.
        size: How many.
        after: Bound variables that the new event is strictly later than.
        before: Those that it is strictly earlier than.
        windows: How far it may be from any bound event, for each clock.

    Returns:
        The first event and the one after the last.
    """
    ts = scene.ts
    low, high = np.zeros(size, dtype=np.int64), np.full(size, len(ts), dtype=np.int64)
    for variable in after:
        low = np.maximum(low, np.searchsorted(ts, ts[rows[variable]], side="right"))
    for variable in before:
        high = np.minimum(high, np.searchsorted(ts, ts[rows[variable]]))
    for clock, length in windows:
        if clock != "time" and not scene.came_in_order:
            continue
        times = np.stack([scene.clock(clock)[events] for events in rows.values()])
        earliest, latest = times.max(axis=0) - length, times.min(axis=0) + length
        if clock == "time":
            earliest = np.searchsorted(ts, earliest)
            latest = np.searchsorted(ts, latest, side="right") - 1
        if clock == "place":
            partners = next(iter(rows.values()))
            earliest, latest = (scene.at_place(partners, end) for end in (earliest, latest))
        low, high = np.maximum(low, earliest), np.minimum(high, latest + 1)
    return low, np.maximum(low, high)
