"""Statistics of files that need not fit into memory: counted part by part, sampled in stretches.

Counts are exact, as of a stream in memory. Selectivities and joins are measured on stretches from
all over the files. O(n log n) for n events.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import numpy as np

from cepkit.lazy import pa
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.statistics.lateness import LateCounts
from cepkit.statistics.measuring.estimate import combine, joins_of, tally_slice
from cepkit.statistics.model import Statistics
from cepkit.statistics.over_time import Buckets
from cepkit.statistics.parts import PartCounts, StreamCounter, Weighted
from cepkit.statistics.stream_counts import StreamCounts, attributes_read, count_types
from cepkit.stream.columns import Dropped, EventColumns
from cepkit.stream.reading.file_parts import FileParts, sampled_events
from cepkit.stream.reading.ingest import event_columns
from cepkit.threads import number_of_threads

_OF, _NUMBER = "\0key", "\0number"
"""The columns of representatives besides those of events; no stream has such names."""
_MERGED = 1 << 20
"""So many representatives are merged."""


def estimate_in_parts(
    parts: FileParts, query: Query, *, seed: int = 0, details: bool = True, joins: bool = True
) -> Statistics:
    """Measure files; see `estimate`."""
    attributes = sorted(attributes_read(query))
    window = query.window.microseconds if isinstance(query.window, TimeWindow) else 0
    sample = sampled_events(parts, attributes, window)
    check_kinds(query, sample.kinds)
    counts = _counts(parts, query, attributes, details=details)
    tallies = tally_slice(sample, query, seed=seed)
    statistics = combine(query, counts, [tallies], partial=True)
    statistics = replace(statistics, measured_events=len(sample))
    if not joins or not len(sample):
        return statistics
    brief = combine(query, count_types(sample), [tallies], partial=True)
    sampled = replace(brief, joins=joins_of(sample, query, brief, seed))
    return replace(statistics, joins=of_whole(sampled, counts.events, parts.ends).joins)


def of_whole(statistics: Statistics, events: int, ends: tuple[int, int]) -> Statistics:
    """Return statistics of a part of a stream as those of all of it.

    Args:
        events: How many events it has.
        ends: Its first and its last time.
    """
    longer = events / max(1, statistics.events)
    span = max(1, ends[1] - ends[0]) / 1e6
    slower = longer * max(1e-6, statistics.span_seconds) / span
    # Of combinations of n events, those in one window grow only like the stream.
    joins = {
        names: replace(
            joined,
            in_scope=joined.in_scope * longer ** (1 - len(names)),
            each=joined.each * longer ** (1 - len(names)),
        )
        for names, joined in statistics.joins.items()
    }
    rates = {variable: rate * slower for variable, rate in statistics.rates.items()}
    return replace(statistics, events=events, first=ends[0], last=ends[1], rates=rates, joins=joins)


def _counts(
    parts: FileParts, query: Query, attributes: list[str], *, details: bool
) -> StreamCounts:
    schema = parts.schema
    needed = {*attributes, *schema.roles}
    names = [name for name in parts.stored.names if name in needed]
    nothing = event_columns(parts.empty(names), schema, attributes)
    counter = StreamCounter.of(query, nothing.kinds, Buckets.of(*parts.ends, parts.rows))
    by_type, dropped, ends = Counter[str](), Dropped(), list[int]()
    part_counts, late = list[PartCounts](), LateCounts()
    keys = _Keys(counter, parts, nothing)
    latest: int | None = None
    for part in parts.read(names, number_of_threads(), by_time=False):
        columns = event_columns(part.table, schema, attributes)
        counts = count_types(columns)
        by_type.update(counts.by_type)
        dropped += counts.dropped
        ends += [end for end in (counts.first, counts.last) if end is not None]
        keys.add(part.table, columns)
        if details:
            part_counts.append(counter.part(columns))
            order = np.argsort(columns.arrival(), kind="stable")
            latest = late.count(columns.ts[order], latest)
    key_part = counter.key_part(*keys.merged())
    events = sum(by_type.values())
    same_key = counter.same_key(key_part.pairs, events)
    whole = StreamCounts(
        by_type, dropped, min(ends, default=None), max(ends, default=None), same_key
    )
    if not details:
        return whole
    return replace(whole, details=counter.details(part_counts, [key_part], late.result()))


class _Keys:
    """The keys of the events counted so far, as representatives."""

    def __init__(self, counter: StreamCounter, parts: FileParts, nothing: EventColumns) -> None:
        self._counter, self._parts, self._nothing = counter, parts, nothing
        self._tables: list[pa.Table] = []
        self._least = _MERGED

    def add(self, table: pa.Table, columns: EventColumns, weighted: Weighted | None = None) -> None:
        """Count events; with `weighted` each counts for those that it represents."""
        for i, first, numbers in self._counter.representatives(columns, weighted):
            some = table.take(pa.array(columns.source_rows(first)))
            some = some.append_column(_OF, pa.array(np.full(len(first), i)))
            self._tables.append(some.append_column(_NUMBER, pa.array(numbers)))
        if sum(map(len, self._tables)) > self._least:
            together, (merged, weights) = pa.concat_tables(self._tables), self.merged()
            self._tables, self._least = [], sys.maxsize
            self.add(together.drop_columns([_OF, _NUMBER]), merged, weights)
            self._least = max(_MERGED, 2 * len(self._tables[0]))

    def merged(self) -> tuple[EventColumns, Weighted]:
        """Return the representatives, and the number of events that each stands for."""
        if not self._tables:
            return self._nothing, Weighted(*np.empty((2, 0), np.int64))
        together = pa.concat_tables(self._tables)
        columns = event_columns(
            together.drop_columns([_OF, _NUMBER]), self._parts.schema, self._nothing.attributes
        )
        rows = columns.source_rows(np.arange(len(columns)))
        of, numbers = (np.asarray(together.column(name))[rows] for name in (_OF, _NUMBER))
        return columns, Weighted(of, numbers)
