"""Stream counts from one pass: events by type, times, keys, missing values, lateness.

Plans need only the counts of types; the rest is for people. All counts are exact. O(n log n) for n
events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from cepkit.indexing import bin_counts
from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.query import Query
from cepkit.statistics.lateness import LateCounts, Lateness
from cepkit.statistics.over_time import Buckets
from cepkit.statistics.parts import Details, StreamCounter
from cepkit.stream.columns import Dropped, EventColumns
from cepkit.threads import together

Beside = TypeVar("Beside")

_FEW = 1 << 16
"""Fewer events are counted by one thread."""


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """The counts of one pass over a whole stream.

    Attributes:
        by_type: The events of each type.
        dropped: The rows that are no events.
        first: The time of the first event in microseconds, None without events.
        last: The time of the last event.
        same_key: The share of pairs of events that are in one partition.
        details: Counts that plans do not need; None if not counted.
    """

    by_type: Mapping[str, int]
    dropped: Dropped = field(default_factory=Dropped)
    first: int | None = None
    last: int | None = None
    same_key: float = 1.0
    details: Details = field(default_factory=Details)

    @property
    def events(self) -> int:
        """The events of all types."""
        return sum(self.by_type.values())


def attributes_read(query: Query) -> frozenset[str]:
    """Return the columns that a measurement of `query` needs besides time and type."""
    return frozenset((*(name for _, name in attributes_of(query.where)), *query.partition_by))


def count_stream(columns: EventColumns, query: Query, *, details: bool = True) -> StreamCounts:
    """Count a stream in memory.

    Args:
        details: Whether to count more than plans need.
    """
    return count_beside(columns, query, lambda: None, details=details)[0]


def count_beside(
    columns: EventColumns, query: Query, beside: Callable[[], Beside], *, details: bool
) -> tuple[StreamCounts, Beside]:
    """Count a stream in memory while something else is done with it.

    Args:
        beside: Does the other thing.
        details: Whether to count more than plans need.

    Returns:
        The counts, and the result of `beside`.
    """
    counts = count_types(columns)
    if not (details or query.partition_by):
        return counts, beside()
    buckets = None
    if counts.first is not None and counts.last is not None:
        buckets = Buckets.of(counts.first, counts.last, len(columns))
    counter = StreamCounter.of(query, columns.kinds, buckets)
    if not details:
        same_key = counter.same_key(counter.pairs(columns), len(columns))
        return replace(counts, same_key=same_key), beside()
    calls: tuple[Callable[[], Any], ...] = (
        beside,
        partial(counter.key_part, columns),
        partial(counter.part, columns),
        partial(_lateness, columns),
    )
    few = len(columns) < _FEW
    other, keys, part, late = (call() for call in calls) if few else together(*calls)
    same_key = counter.same_key(keys.pairs, len(columns))
    details_of_all = counter.details([part], [keys], late)
    return replace(counts, same_key=same_key, details=details_of_all), other


def count_types(columns: EventColumns) -> StreamCounts:
    """Return the counts of a stream in memory that need no pattern."""
    counts = bin_counts(columns.types, minlength=len(columns.type_names)).tolist()
    first, last = (int(columns.ts[0]), int(columns.ts[-1])) if len(columns) else (None, None)
    by_type = dict(zip(columns.type_names, counts, strict=True))
    return StreamCounts(by_type, columns.dropped, first, last)


def _lateness(columns: EventColumns) -> Lateness:
    counts = LateCounts(len(columns)) if columns.in_order() else LateCounts()
    if not columns.in_order():
        counts.count(columns.ts[np.argsort(columns.arrival(), kind="stable")], None)
    return counts.result()
