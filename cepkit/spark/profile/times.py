"""Counts of a Spark stream's events over time and out of order, in one pass over their times.

Each Spark partition is counted separately. Its first events are returned as they are, because they
may be late relative to earlier partitions. Only if later events may be late too, a second pass runs
with the latest time before each partition. Without an arrival column events came in row order; rows
from a shuffle have no meaningful order, and their lateness is not measured. With an arrival column
they are sorted by it once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.pattern.nodes import events_of
from cepkit.spark.cells.sending import Integers, types_of
from cepkit.spark.passes.numbering import fixed
from cepkit.spark.profile.source import Source
from cepkit.spark.session.access import access_to
from cepkit.spark.session.tasks import Batches, task_number
from cepkit.statistics.lateness import LateCounts, Lateness
from cepkit.statistics.over_time import Buckets, OverTime
from cepkit.statistics.stream_counts import StreamCounts
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.times import microseconds

HEAD = 4096
"""The number of first events of each partition that are returned as they are."""

_SORTED_EVENTS = 500_000
_MOST_PARTITIONS = 1000

_COUNTED = (
    "number int, head array<long>, latest long, events long, longest long, "
    "places array<long>, late array<long>, kinds array<long>"
)


@dataclass(frozen=True)
class Times:
    """Counts the events of a stream over time, and their lateness.

    Attributes:
        counts: The counts of the first job.
        written: For each type the values that the type column has for it.
    """

    source: Source
    counts: StreamCounts
    written: Mapping[str, Sequence[Any]]

    @property
    def frames(self) -> dict[str, DataFrame]:
        """The DataFrames to run; the first must be first in a union, as it reads task numbers."""
        frames = {}
        if self._came is not None:
            frames["came"] = self._counted(self._came, self._buckets if self._by_rows else None)
        if self._buckets is not None and not self._by_rows:
            of_query = self.source.may_have(types_of(self.source.query))
            frames["kinds"] = self._counted(self._events(of_query), self._buckets)
        return frames

    def over_time(self, tables: Mapping[str, pa.Table]) -> OverTime | None:
        """Return the counts over time; None for an empty stream.

        Args:
            tables: The tables of `frames`.
        """
        buckets, kinds = self._buckets, [variables for variables, _ in self._kinds]
        if buckets is None:
            return None
        total = np.zeros((len(kinds), buckets.number), np.int64)
        for part in _parts(tables["came" if self._by_rows else "kinds"]):
            total += part.kinds.reshape(total.shape)
        events = events_of(self.source.query.structure)
        of_variables = {e.variable: total[[e.variable in kind for kind in kinds]] for e in events}
        return buckets.of_variables({v: counts.sum(axis=0) for v, counts in of_variables.items()})

    def lateness(self, tables: Mapping[str, pa.Table]) -> Lateness | None:
        """Return how far events come out of order; None if their arrival is unknown."""
        if self._came is None:
            return None
        total, before, all_known = LateCounts(), dict[int, int](), True
        reached: int | None = None
        for part in _parts(tables["came"]):
            if reached is not None:
                before[part.number] = reached
                all_known &= not part.counts.events or reached <= part.head.max()
            total.count(part.head, reached)
            total.add(part.counts)
            reached = part.latest if reached is None else max(reached, part.latest)
        if not all_known:
            total = LateCounts()
            for part in _parts(self._counted(self._came, None, before).toArrow()):
                total.add(part.counts)
        return total.result()

    @cached_property
    def _by_rows(self) -> bool:
        """Whether events came in row order."""
        frame = self.source.stream.source
        return self.source.schema.arrival is None and not access_to(frame).is_shuffled(frame)

    @cached_property
    def _came(self) -> DataFrame | None:
        """The events in order of arrival; None if unknown."""
        if self._by_rows:
            return self._events(F.lit(True))
        return None if self.source.schema.arrival is None else self._sorted()

    def _events(self, wanted: Column) -> DataFrame:
        """Return the times of some events, and the numbers of their kinds."""
        source, kind = self.source, F.lit(-1)
        for number, (_, types) in reversed(list(enumerate(self._kinds))):
            kind = F.when(source.has(types, self.written), number).otherwise(kind)
        rows = source.rows.where(source.is_event & wanted)
        return rows.select(source.place(source.schema.time), kind.alias("kind"))

    def _sorted(self) -> DataFrame:
        """Return the times in order of arrival, sorted once for both passes."""
        source = self.source
        assert source.schema.arrival is not None
        time = source.place(source.schema.time)
        came, kind = source.column(source.schema.arrival), source.kind(source.schema.arrival)
        if isinstance(kind, t.FloatType | t.DoubleType):
            came = F.nanvl(came, F.lit(None))
        wanted = math.ceil(self.counts.events / _SORTED_EVENTS)
        parts = max(2 * source.cores, min(wanted, _MOST_PARTITIONS))
        rows = source.rows.where(source.is_event).select(came.alias("came"), F.col(time))
        rows = rows.where("came is not null").repartitionByRange(parts, "came")
        return fixed(rows.sortWithinPartitions("came", time).select(time))

    @cached_property
    def _buckets(self) -> Buckets | None:
        counts = self.counts
        if counts.first is None or counts.last is None:
            return None
        return Buckets.of(counts.first, counts.last, counts.events)

    @cached_property
    def _kinds(self) -> list[tuple[frozenset[str], frozenset[str] | None]]:
        """Sets of variables that take the same types, and the types; None: all others."""
        events = list(events_of(self.source.query.structure))
        any_type = frozenset(event.variable for event in events if event.types is None)
        types: dict[frozenset[str], set[str]] = {}
        for name in frozenset().union(*(event.types or () for event in events)):
            takes = {event.variable for event in events if name in (event.types or ())}
            types.setdefault(any_type | takes, set()).add(name)
        kinds = [(variables, frozenset(names)) for variables, names in types.items()]
        return [*kinds, (any_type, None)] if any_type else list(kinds)

    def _counted(
        self, rows: DataFrame, buckets: Buckets | None, before: Mapping[int, int] | None = None
    ) -> DataFrame:
        """Return counts of each partition: late events, and kinds if there are buckets.

        Args:
            before: The latest time before each partition; None if unknown: then the first events
                are returned.
        """
        schema, kinds = self.source.schema, len(self._kinds)
        reached, most = before or {}, HEAD if before is None else 0

        def counting(batches: Batches) -> Batches:
            number = task_number()
            counts, latest, head = LateCounts(), reached.get(number), np.zeros(0, np.int64)
            of_kinds = np.zeros((kinds, buckets.number if buckets else 0), np.int64)
            ends: list[int] = []
            for batch in batches:
                ts = microseconds(
                    batch.column(0), schema.time, unit=schema.unit, timezone=schema.timezone
                )
                there = ts != MISSING_INTEGER
                ts = ts[there]
                if not len(ts):
                    continue
                if buckets is not None:
                    of_kinds += buckets.counts(ts, np.asarray(batch.column(1))[there], kinds)
                ends.append(int(ts.max()))
                room = most - len(head)
                if room > 0:
                    head = np.concatenate((head, ts[:room]))
                    latest = int(head.max())
                latest = counts.count(ts[room:], latest)
            if not ends:
                return
            places = np.flatnonzero(counts.bins)
            values: list[Any] = [number, head, max(ends), counts.events, counts.longest]
            values += [places, counts.bins[places], of_kinds.ravel()]
            types = [pa.int32(), pa.list_(pa.int64()), *([pa.int64()] * 3)]
            types += [pa.list_(pa.int64())] * 3
            arrays = [pa.array([value], kind) for value, kind in zip(values, types, strict=True)]
            names = [part.split()[0] for part in _COUNTED.split(", ")]
            yield pa.RecordBatch.from_arrays(arrays, names=names)

        return rows.mapInArrow(counting, _COUNTED)


@dataclass(frozen=True, slots=True)
class _Part:
    """The events of one Spark partition, if it has any.

    Attributes:
        number: Of its task.
        head: The times of the first.
        latest: The latest time of all.
        counts: Those after the head.
        kinds: How many events of each kind there are in each bucket.
    """

    number: int
    head: Integers
    latest: int
    counts: LateCounts
    kinds: Integers


def _parts(table: pa.Table) -> list[_Part]:
    parts = []
    for row in table.to_pylist():
        counts = LateCounts(row["events"], row["longest"])
        counts.bins[row["places"]] = row["late"]
        head, kinds = (np.array(row[name], np.int64) for name in ("head", "kinds"))
        parts.append(_Part(row["number"], head, row["latest"], counts, kinds))
    return sorted(parts, key=lambda part: part.number)
