"""Stream counts from one pass: events by type, times, keys, missing values, lateness.

Plans need only the counts of types; the rest is for people. All counts are exact. O(n log n) for n
events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from cepkit.pattern.conditions import attributes_of
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.pattern.repetitions import in_first
from cepkit.statistics.keys import KeyCounts, key_counts, most_frequent
from cepkit.statistics.lateness import LateCounts, Lateness
from cepkit.statistics.links import KeySource, Link, key_sources, link_codes, links_in
from cepkit.statistics.over_time import Buckets, OverTime
from cepkit.statistics.slice_events import has_type, partition_of
from cepkit.stream.columns import Dropped, EventColumns


@dataclass(frozen=True, slots=True)
class Details:
    """Counts for people rather than for plans, as in `Statistics`.

    Attributes:
        missing: The share of missing values of each attribute.
        over_time: The events in buckets of time.
        keys: The counts of keys.
        by_frequency: For each link the share of pairs of events with equal keys.
        lateness: The events that came out of order.
    """

    missing: Mapping[str, float] = field(default_factory=dict)
    over_time: OverTime | None = None
    keys: tuple[KeyCounts, ...] = ()
    by_frequency: Mapping[frozenset[str], float] = field(default_factory=dict)
    lateness: Lateness | None = None


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
    pairs = attributes_of(query.where) if query.where is not None else ()
    return frozenset(name for _, name in pairs) | frozenset(query.partition_by)


def readers(query: Query) -> dict[str, frozenset[str]]:
    """Return, for each attribute that a query reads, the variables that read it."""
    variables: dict[str, set[str]] = {}
    once = in_first(query.groups)
    for variable, name in attributes_of(query.where) if query.where is not None else ():
        variables.setdefault(name, set()).add(once.get(variable, variable))
    for name in query.partition_by:
        variables[name] = {event.variable for event in events_of(query.structure)}
    return {name: frozenset(variables[name]) for name in sorted(variables)}


def types_of_variables(query: Query, variables: Iterable[str]) -> frozenset[str] | None:
    """Return the types that some variables of a query take; None for any."""
    variable_set = set(variables)
    types: set[str] = set()
    for event in events_of(query.structure):
        if event.variable in variable_set:
            if event.types is None:
                return None
            types |= event.types
    return frozenset(types)


def count_stream(columns: EventColumns, query: Query, *, details: bool = True) -> StreamCounts:
    """Count a stream in memory.

    Args:
        columns: The events, with the attributes of `attributes_read`.
        query: The pattern.
        details: Whether to count more than plans need.
    """
    counts = count_types(columns)
    same_key = 1.0
    if query.partition_by and len(columns):
        of_key = np.bincount(partition_of(columns, query.partition_by)).astype(np.float64)
        same_key = float((of_key * of_key).sum()) / float(len(columns)) ** 2
    details_of_stream = _details(columns, query) if details else Details()
    return replace(counts, same_key=same_key, details=details_of_stream)


def count_types(columns: EventColumns) -> StreamCounts:
    """Return the counts of a stream in memory that need no pattern."""
    counts = np.bincount(columns.types, minlength=len(columns.type_names)).tolist()
    first, last = (int(columns.ts[0]), int(columns.ts[-1])) if len(columns) else (None, None)
    by_type = dict(zip(columns.type_names, counts, strict=True))
    return StreamCounts(by_type, columns.dropped, first, last)


def _details(columns: EventColumns, query: Query) -> Details:
    links = links_in(query, columns.kinds)
    missing = {}
    for name, variables in readers(query).items():
        fitting = has_type(columns, types_of_variables(query, variables))
        absent = int(np.count_nonzero(columns.attributes[name].missing() & fitting))
        missing[name] = absent / max(1, int(np.count_nonzero(fitting)))
    return Details(
        missing,
        _over_time(columns, query),
        tuple(_keys(columns, query, source) for source in key_sources(query, links.values())),
        {names: _by_frequency(columns, query, link) for names, link in links.items()},
        _lateness(columns),
    )


def _over_time(columns: EventColumns, query: Query) -> OverTime | None:
    if not len(columns):
        return None
    buckets = Buckets.of(int(columns.ts[0]), int(columns.ts[-1]), len(columns))
    counts = buckets.counts(columns.ts, columns.types, len(columns.type_names))
    return buckets.over_time(query, dict(zip(columns.type_names, counts, strict=True)))


def _lateness(columns: EventColumns) -> Lateness:
    counts = LateCounts(len(columns)) if columns.in_order() else LateCounts()
    if not columns.in_order():
        counts.count(columns.ts[np.argsort(columns.arrival(), kind="stable")], None)
    return counts.result()


def _keys(columns: EventColumns, query: Query, source: KeySource) -> KeyCounts:
    columns_of_key = [columns.attributes[name] for name in source.attributes]
    has_key = has_type(columns, types_of_variables(query, source.variables))
    if not source.missing_agree:
        for column in columns_of_key:
            has_key &= ~column.missing()
    rows = np.flatnonzero(has_key)
    codes = partition_of(columns, source.attributes)[rows]
    _, places, numbers = np.unique(codes, return_index=True, return_counts=True)
    best = most_frequent([column.take(rows[places]) for column in columns_of_key], numbers)
    return key_counts(source.attributes, len(rows), len(places), best)


def _by_frequency(columns: EventColumns, query: Query, link: Link) -> float:
    one, other = (
        has_type(columns, types_of_variables(query, (v,))) for v in (link.first, link.second)
    )
    first, second = link_codes(columns.attributes, link)
    size = max(first.max(initial=-1), second.max(initial=-1)) + 1
    both = one & other
    equal = int(
        np.dot(
            np.bincount(first[one & (first >= 0)], minlength=size),
            np.bincount(second[other & (second >= 0)], minlength=size),
        )
    )
    # An event of both types makes no pair with itself.
    itself = int(np.count_nonzero(both & (first == second) & (first >= 0)))
    pairs = int(np.count_nonzero(one)) * int(np.count_nonzero(other))
    return share_of_pairs(equal - itself, pairs - int(np.count_nonzero(both)))


def share_of_pairs(equal: int, pairs: int) -> float:
    """Return the share of pairs that are equal; 1 if there are no pairs."""
    return equal / pairs if pairs else 1.0
