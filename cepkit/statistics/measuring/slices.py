"""Statistics from a few random slices of a stream.

The slices are concatenated to a stream of their own, too far apart for a window to span two of
them; it has only the events that the pattern can take and is measured like any other stream. A
slice owns the events within its length and also holds one more window of events, so that no partial
match that begins inside it is cut off: numbers of partial matches are unbiased, including bursts.
Events are counted by type over the whole stream. Cost: O(n) to count the types of n events, else
O(size log size).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cepkit.indexing import bin_counts
from cepkit.pattern.canonical import CanonicalEvent, canonical_event
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.nodes import events_of
from cepkit.pattern.normal_form import written_branches
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.statistics.measuring.estimate import combine, estimate, joins_of, tally_slice
from cepkit.statistics.measuring.joins import Part
from cepkit.statistics.model import Statistics
from cepkit.statistics.parts import types_of_variables
from cepkit.statistics.slice_events import Events, Held, Rows, has_type, partition_of
from cepkit.statistics.stream_counts import StreamCounts, count_types
from cepkit.stream.columns import EventColumns

SIZE = 32_000
"""The total events of the slices if the window is short: measuring takes milliseconds."""
_SLICES = 64
_LEAST_SLICES = 2
_LEAST_EVENTS = 20
"""The events that slices need of each variable. If they have fewer although the stream has more,
they are lengthened once: an order that begins with a rarer type has little work in any case."""
_LONGER = 4
_KEYED = 20_000
"""Events used to count the share of one partition."""


def estimate_by_slices(
    columns: EventColumns, query: Query, *, seed: int = 0, size: int = SIZE, joins: bool = True
) -> Statistics:
    """Return statistics for plans from slices of a stream in memory, or from all of a short one.

    Args:
        query: The pattern. Without a window in time the whole stream is measured.
        seed: The seed of the choice of slices and of the draws.
        size: About the number of events of all slices; more if windows are long.
        joins: Whether to sample joins, which takes longer than all the rest.

    Raises:
        PatternError: A condition compares values of different kinds.
    """
    check_kinds(query, columns.kinds)
    counts = count_types(columns)
    slices = Slices.of(columns, query, seed, size)
    if slices is None:
        return estimate(columns, query, seed=seed, details=False, joins=joins)
    if not slices.has_all_types(query, counts.by_type):
        slices = Slices.of(columns, query, seed, _LONGER * size) or slices
    counts = replace(counts, same_key=_same_key(columns, query))
    return measured_slices(slices, query, counts, seed=seed, joins=joins)


def measured_slices(
    slices: Slices, query: Query, counts: StreamCounts, *, seed: int, joins: bool
) -> Statistics:
    """Return statistics from the slices of a stream."""
    tallies = tally_slice(slices.columns, query, seed=seed)
    statistics = combine(query, counts, [tallies], partial=True)
    statistics = replace(statistics, measured_events=slices.events)
    if not joins:
        return statistics
    part = Part(slices.owned, slices.share, _sizes(slices.columns, query, counts.by_type))
    return replace(statistics, joins=joins_of(slices.columns, query, statistics, seed, part))


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of a stream, concatenated to a stream.

    Attributes:
        columns: The events of the slices that have types of the pattern.
        owned: For each of these events whether a slice owns it.
        share: The share of the stream's events that they own.
        events: The number of events of all types in the slices.
    """

    columns: EventColumns
    owned: Held
    share: float
    events: int

    @classmethod
    def of(cls, columns: EventColumns, query: Query, seed: int, size: int) -> Slices | None:
        """Return slices of about `size` events; None if the whole stream is not much longer.

        Args:
            seed: The seed of their places.
            size: The number of their events together; more if windows are long.
        """
        number = len(columns)
        if not isinstance(query.window, TimeWindow) or number < 2 * size:
            return None
        window = query.window.microseconds
        span = int(columns.ts[-1]) - int(columns.ts[0])
        in_window = number * window // max(span, 1)
        length = max(size // _SLICES, in_window // 2)
        slices = max(size // (length + in_window), _LEAST_SLICES)
        if 2 * slices * (length + in_window) > number:
            return None
        rng = np.random.default_rng([seed, slices])
        part = number / slices
        places = np.arange(slices) * part + rng.random(slices) * (part - length)
        begins = places.astype(np.int64)
        last = columns.ts[begins + length - 1]
        ends = np.searchsorted(columns.ts, last + window, side="right")
        if 2 * int((ends - begins).sum(dtype=np.int64)) > number:
            return None
        share = length * slices / number
        return cls.joined(columns, query, begins, begins + length, ends, share)

    @classmethod
    def joined(
        cls,
        columns: EventColumns,
        query: Query,
        begins: Rows,
        own: Rows,
        ends: Rows,
        share: float,
    ) -> Slices:
        """Return some slices of a stream, concatenated.

        Args:
            begins: The first row of each slice.
            own: The row after the last that the slice owns.
            ends: The row after the last one.
            share: The share of the stream's events that the slices own.
        """
        assert isinstance(query.window, TimeWindow)
        types = types_of_variables(query, (e.variable for e in events_of(query.structure)))
        rows, ts, owned = [], [], []
        now = 0
        bounds = zip(begins.tolist(), own.tolist(), ends.tolist(), strict=True)
        for begin, after, end in bounds:
            has_types = has_type(columns.slice(begin, end), types)
            places = np.flatnonzero(has_types)
            first = int(columns.ts[begin])
            rows.append(places + begin)
            ts.append(columns.ts[begin:end][places] - first + now)
            owned.append(places < after - begin)
            now += int(columns.ts[end - 1]) - first + query.window.microseconds + 1
        all_rows = np.concatenate(rows)
        slices = EventColumns(
            np.concatenate(ts),
            columns.types[all_rows],
            columns.type_names,
            {name: column.take(all_rows) for name, column in columns.attributes.items()},
            columns.carried,
        )
        return cls(slices, np.concatenate(owned), share, int((ends - begins).sum(dtype=np.int64)))

    def has_all_types(self, query: Query, by_type: Mapping[str, int]) -> bool:
        """Return whether the slices have enough events of each variable that the stream has."""
        own = count_types(self.columns).by_type
        for event in events_of(query.structure):
            here = sum(own[name] for name in own if event.types is None or name in event.types)
            if here < min(_LEAST_EVENTS, _of_types(by_type, event.types)):
                return False
        return True


def _of_types(by_type: Mapping[str, int], types: frozenset[str] | None) -> int:
    return sum(by_type.values() if types is None else (by_type.get(name, 0) for name in types))


def _sizes(
    columns: EventColumns, query: Query, by_type: Mapping[str, int]
) -> dict[CanonicalEvent, float]:
    """Return for each event of a pattern the number of events that pass its own conditions."""
    events = Events(columns)
    sizes = {}
    for branch in written_branches(query):
        for event in branch.positive + branch.negated:
            filtered = canonical_event(branch, event.variable)
            of_types = len(events.rows(CanonicalEvent(event.types)))
            share = len(events.rows(filtered)) / max(1, of_types)
            sizes[filtered] = _of_types(by_type, event.types) * share
    return sizes


def _same_key(columns: EventColumns, query: Query) -> float:
    """Return the share of pairs of events in one partition, from events all over the stream."""
    if not query.partition_by or not len(columns):
        return 1.0
    rows = np.arange(0, len(columns), max(1, len(columns) // _KEYED))
    sample = EventColumns(
        columns.ts[rows],
        columns.types[rows],
        columns.type_names,
        {name: columns.attributes[name].take(rows) for name in query.partition_by},
        columns.carried,
    )
    of_key = bin_counts(partition_of(sample, query.partition_by)).astype(np.float64)
    number = len(rows)
    # Scale up for the events left out, which share keys as well; no event pairs with itself.
    pairs = float((of_key * (of_key - 1)).sum()) / max(1.0, number * (number - 1.0))
    return pairs + (1 - pairs) / len(columns)
