"""Late events of a Spark stream, in one pass over its times.

Each Spark partition is counted separately. Its first events are returned as they are, because they
may be late relative to earlier partitions. Only if later events may be late too, a second pass runs
with the latest time before each partition. Without an arrival column events came in row order; rows
from a shuffle have no meaningful order, and their lateness is not measured. With an arrival column
they are sorted by it once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.spark.cells.sending import Integers
from cepkit.spark.passes.numbering import fixed
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.session.access import access_to
from cepkit.spark.session.tasks import Batches, task_number
from cepkit.statistics.lateness import LateCounts, Lateness
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.times import microseconds

HEAD = 4096
"""The number of first events of each partition that are returned as they are."""

_SORTED_EVENTS = 500_000
_MOST_PARTITIONS = 1000

_COUNTED = (
    "number int, head array<long>, latest long, events long, longest long, "
    "places array<long>, late array<long>"
)


@dataclass(frozen=True)
class Arrivals:
    """Counts the late events of a Spark stream.

    Attributes:
        events: How many events it has.
    """

    source: StreamRows
    events: int

    @property
    def frames(self) -> dict[str, DataFrame]:
        """The DataFrame to run, if any; it must be first in a union, as it reads task numbers."""
        return {} if self._came is None else {"came": self._counted(self._came)}

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
            for part in _parts(self._counted(self._came, before).toArrow()):
                total.add(part.counts)
        return total.result()

    @cached_property
    def _came(self) -> DataFrame | None:
        """The times of the events in order of arrival; None if unknown."""
        source = self.source
        if source.schema.arrival is not None:
            return self._sorted()
        if access_to(source.stream.source).is_shuffled(source.stream.source):
            return None
        return source.rows.where(source.is_event).select(source.place(source.schema.time))

    def _sorted(self) -> DataFrame:
        """Return the times in order of arrival, sorted once for both passes."""
        source = self.source
        assert source.schema.arrival is not None
        time = source.place(source.schema.time)
        came, kind = source.column(source.schema.arrival), source.kind(source.schema.arrival)
        if isinstance(kind, t.FloatType | t.DoubleType):
            came = F.nanvl(came, F.lit(None))
        wanted = math.ceil(self.events / _SORTED_EVENTS)
        parts = max(2 * source.cores, min(wanted, _MOST_PARTITIONS))
        rows = source.rows.where(source.is_event).select(came.alias("came"), F.col(time))
        rows = rows.where("came is not null").repartitionByRange(parts, "came")
        return fixed(rows.sortWithinPartitions("came", time).select(time))

    def _counted(self, rows: DataFrame, before: Mapping[int, int] | None = None) -> DataFrame:
        """Return the late events of each partition.

        Args:
            before: The latest time before each partition; None if unknown: then the first events
                are returned.
        """
        schema = self.source.schema
        reached, most = before or {}, HEAD if before is None else 0

        def counting(batches: Batches) -> Batches:
            number = task_number()
            counts, latest, head = LateCounts(), reached.get(number), np.zeros(0, np.int64)
            ends: list[int] = []
            for batch in batches:
                ts = microseconds(
                    batch.column(0), schema.time, unit=schema.unit, timezone=schema.timezone
                )
                ts = ts[ts != MISSING_INTEGER]
                if not len(ts):
                    continue
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
            values += [places, counts.bins[places]]
            types = [pa.int32(), pa.list_(pa.int64()), *([pa.int64()] * 3)]
            types += [pa.list_(pa.int64())] * 2
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
    """

    number: int
    head: Integers
    latest: int
    counts: LateCounts


def _parts(table: pa.Table) -> list[_Part]:
    parts = []
    for row in table.to_pylist():
        counts = LateCounts(row["events"], row["longest"])
        counts.bins[row["places"]] = row["late"]
        head = np.array(row["head"], np.int64)
        parts.append(_Part(row["number"], head, row["latest"], counts))
    return sorted(parts, key=lambda part: part.number)
