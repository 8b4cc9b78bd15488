"""The events that a question is about, as a table of times, partitions and values.

An event is its number in stream order. A combination is one event for each variable; many of them
are a mapping of variables to arrays of one length, a row for each combination.
Functions of sets of events, as `avg(b.price)`, become attributes with names that no column has, so
that a condition with them is evaluated like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from cepkit.indexing import repeated
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.columns import Read
from cepkit.pattern.evaluation.set_functions import set_function
from cepkit.pattern.numbers import has_next, with_numbers_as_attributes
from cepkit.pattern.policies import Clock
from cepkit.pattern.query import Query
from cepkit.pattern.rewrite import replaced
from cepkit.statistics.slice_events import has_type, partition_of
from cepkit.stream.columns import Column, EventColumns

Ints = npt.NDArray[np.int64]
Combinations = Mapping[str, Ints]

BLOCK = 1 << 16
"""The number of pairs that are made at a time."""

_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_MARK = "\0"


@dataclass(frozen=True)
class EventTable:
    """The events of a stream in stream order, with the columns that a question reads.

    Attributes:
        columns: With all attributes that the pattern reads.
        partition_by: The attributes of the partition.
    """

    columns: EventColumns
    partition_by: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: EventColumns, query: Query) -> EventTable:
        """Return the events that a query is about, with the numbers that NEXT reads."""
        table = cls(columns, query.partition_by)
        if not has_next(query.structure):
            return table
        numbers = table.place if query.partition_by else table.arrival
        return cls(with_numbers_as_attributes(columns, numbers), query.partition_by)

    @property
    def ts(self) -> Ints:
        """The time of each event in microseconds."""
        return self.columns.ts

    @cached_property
    def order(self) -> Ints:
        """A number for each event that increases from each event to those after it."""
        return self.columns.order()

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

    def codes(self, name: str | None) -> Ints:
        """Return a number for each event: events with equal values of an attribute share it.

        Args:
            name: The attribute; a missing value is equal to nothing and gets -1. None for the
                partition, where missing values are equal to each other.
        """
        if name is None:
            return self.partition
        missing = self.columns.attributes[name].missing()
        return np.where(missing, -1, partition_of(self.columns, (name,)))

    def at_place(self, partners: Ints, places: Ints) -> Ints:
        """Return the event at a place of each partner's partition.

        Events must have come in order. A place before the first gives event 0, one after the last
        the number of all events.
        """
        codes = self.partition[partners]
        begin, end = (np.searchsorted(self._ordered_codes, codes, side=side) for side in _SIDES)
        at = begin + np.maximum(places, 0)
        inside = at < end
        events = self._by_partition[np.where(inside, at, 0)] if len(self._by_partition) else at
        return np.where(inside, np.where(places < 0, 0, events), len(self.columns))

    @cached_property
    def _by_partition(self) -> Ints:
        return np.argsort(self.partition, kind="stable")

    @cached_property
    def _ordered_codes(self) -> Ints:
        return self.partition[self._by_partition]

    def clock(self, clock: Clock) -> Ints:
        """Return the reading of a clock, which a window is measured in, at each event."""
        match clock:
            case "time":
                return self.ts
            case "arrival":
                return self.arrival
            case "place":
                return self.place

    def of_types(self, types: frozenset[str] | None) -> Ints:
        """Return the events that have one of some types (None: all), in stream order."""
        if types not in self._by_types:
            self._by_types[types] = np.flatnonzero(has_type(self.columns, types))
        return self._by_types[types]

    @cached_property
    def _by_types(self) -> dict[frozenset[str] | None, Ints]:
        return {}

    def reader(self, rows: Combinations, sets: Mapping[str, Sequence[int]] | None = None) -> Read:
        """Return the function by which `evaluation` reads the values of combinations.

        Args:
            sets: The events of Kleene variables, for functions of sets; without them a set is
                the one event that its variable has in `rows`. If a function is about earlier
                members, the members in `rows` must have such.
        """

        def read(variable: str, attribute: str) -> Column:
            function = set_function_of(attribute)
            if function is None:
                return self.columns.attributes[attribute].take(rows[variable])
            of, name = function
            members = np.sort(np.asarray((sets or rows)[variable], dtype=np.int64))
            plain, places = c.plain_function(of), np.searchsorted(members, rows[variable])
            starts = np.array([0, len(members)])
            if of.startswith("prev") and name is not None:
                return self.columns.attributes[name].take(members[places - c.distance_of(of)])
            if sets is None:
                members, starts = rows[variable], np.arange(len(members) + 1)
            elif of != plain:
                sizes = places + 1 - c.distance_of(of)
                starts = np.concatenate(([0], np.cumsum(sizes)))
                members = members[np.arange(starts[-1]) - repeated(starts[:-1], sizes)]
            column = None if name is None else self.columns.attributes[name].take(members)
            return set_function(c.Aggregate(plain), column, starts)

        return read


def spans(clock: Ints, rows: Combinations) -> Ints:
    """Return the distance from the first to the last event of each combination."""
    distances: Ints = np.ptp(np.stack([clock[events] for events in rows.values()]), axis=0)
    return distances


def scope(
    table: EventTable,
    rows: Combinations,
    size: int,
    *,
    after: Iterable[str] = (),
    before: Iterable[str] = (),
    windows: Iterable[tuple[Clock, Ints | int]] = (),
) -> tuple[Ints, Ints]:
    """Return for each combination the range of events in which a further one must be.

    If the stream came out of order, the caller must check windows in events. If a window counts
    places inside a partition, the events of a combination must be in one partition.

    Args:
        rows: The combinations, with at least one variable.
        after: Bound variables that the new event is strictly later than.
        before: Bound variables that it is strictly earlier than.
        windows: For each clock how far it may be from any bound event.

    Returns:
        The first event of each range, and the one after the last.
    """
    ts, order = table.ts, table.order
    low, high = np.zeros(size, dtype=np.int64), np.full(size, len(ts), dtype=np.int64)
    for variable in after:
        low = np.maximum(low, np.searchsorted(order, order[rows[variable]], side="right"))
    for variable in before:
        high = np.minimum(high, np.searchsorted(order, order[rows[variable]]))
    for clock, length in windows:
        if clock != "time" and not table.came_in_order:
            continue
        times = np.stack([table.clock(clock)[events] for events in rows.values()])
        earliest, latest = times.max(axis=0) - length, times.min(axis=0) + length
        if clock == "time":
            earliest = np.searchsorted(ts, earliest)
            latest = np.searchsorted(ts, latest, side="right") - 1
        if clock == "place":
            partners = next(iter(rows.values()))
            earliest, latest = (table.at_place(partners, end) for end in (earliest, latest))
        low, high = np.maximum(low, earliest), np.minimum(high, latest + 1)
    return low, np.maximum(low, high)


def pairs(
    begin: Ints, end: Ints, groups: npt.NDArray[np.int64] | None = None, most: int = BLOCK
) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs of a row and a number in its range, some at a time.

    Args:
        groups: The group of each row, ascending; the rows of a group stay together. None: each
            row is a group.
        most: The number of pairs at a time, more if one group has more.
    """
    ends = np.cumsum(end - begin, dtype=np.int64)
    start, done = 0, 0
    while start < len(begin):
        stop = max(start + 1, int(np.searchsorted(ends, done + most, side="right")))
        if groups is not None:
            stop = int(np.searchsorted(groups, groups[stop - 1], side="right"))
        counts = (end - begin)[start:stop]
        rows = repeated(np.arange(start, stop), counts)
        offsets = repeated(ends[start:stop] - counts, counts)
        yield rows, np.arange(done, int(ends[stop - 1])) - offsets + begin[rows]
        start, done = stop, int(ends[stop - 1])


def without_set_functions(expression: c.Expression) -> c.Expression:
    """Return the expression with attributes in place of set functions, as a `reader` reads them."""

    def new(node: c.Attribute | c.Aggregate) -> c.Expression:
        if isinstance(node, c.Attribute):
            return node
        name = f"{_MARK}{node.function}{_MARK}{node.attribute or ''}"
        return c.Attribute(node.variable or "", name, node.span)

    return replaced(expression, new)


def set_function_of(attribute: str) -> tuple[str, str | None] | None:
    """Return the set function and the attribute of a name; None for a column."""
    if not attribute.startswith(_MARK):
        return None
    _, function, name = attribute.split(_MARK, 2)
    return function, name or None
