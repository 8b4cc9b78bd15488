"""Exact counts of a Spark stream's events: each task counts its rows as a local stream is counted.

What concerns single events adds up. For keys each task sends representatives of equal events with
their numbers; those whose keys may be equal come together in one bucket, where they are counted.

Rates, to plan shared counters, come from a sample. One job counts the rows, unless file footers
have the number; a second one fetches a random sample. This process then counts the events that pass
the queries' filters, and those that agree in their keys.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from cepkit.aggregation.sequence.definition import EventSequence
from cepkit.aggregation.sharing import together as shared
from cepkit.aggregation.sharing.planner import Rates
from cepkit.pattern.evaluation.kinds import as_floats
from cepkit.routes.sharing import RatesOf
from cepkit.spark.cells.dealing import tables_of
from cepkit.spark.cells.keys import key_hashes
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.cells.sending import Sending
from cepkit.spark.passes.extent import measured_extent
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.passes.scanned import rows_in_files
from cepkit.spark.session.progress import run_with_progress
from cepkit.spark.session.tasks import Batches, pickled
from cepkit.statistics.parts import KeyPart, PartCounts, StreamCounter, Weighted
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.stream import Stream

SAMPLE = 100_000
"""The approximate size of the sample: a rate of one event in a hundred is accurate to 3 %."""


def unknown_rates(sequences: Sequence[EventSequence]) -> Rates:
    """Return unmeasured rates, all NaN."""
    return Rates(
        dict.fromkeys(shared.kinds_of(sequences), math.nan), shared.longest_window(sequences)
    )


def sampled_rates(stream: Stream, frame: DataFrame) -> RatesOf:
    """Return a function for the rates of events."""

    def rates_of(sequences: Sequence[EventSequence]) -> Rates:
        kinds, names = shared.kinds_of(sequences), stream.column_names
        read = {name for sequence in sequences for name in sequence.attributes}
        types = [kind.types for kind in kinds if kind.types is not None]
        all_types = frozenset().union(*types) if len(types) == len(kinds) else None
        size = rows_in_files(frame)
        if size is None:
            size = measured_extent(stream, all_types, None)[0].events
        fraction = min(1.0, SAMPLE / max(1, size))
        schema = replace(stream.schema, arrival=None, columns=tuple(sorted(read)))
        needed = schema.needed(names, ())
        source = StreamRows(stream)
        rows = source.rows.where(source.may_have(all_types)).select(*map(source.place, needed))
        rows = rows if fraction == 1 else rows.sample(fraction=fraction, seed=0)
        table = run_with_progress(rows.toArrow, "measuring rates").rename_columns(list(needed))
        local = Stream(table.cast(arrow_columns(frame, names, needed)), schema, needed)
        rates = shared.rates_of(sequences, local.columns(sorted(read)))
        return replace(rates, events={kind: n / fraction for kind, n in rates.events.items()})

    return rates_of


_COUNTED = "bucket int, counted binary"
_PART, _KEYS = -1, -2
"""In place of a bucket: the counts of some events, or of some keys."""
_OF, _NUMBER = "\0key", "\0number"
"""The columns of representatives besides those of events; no stream has such names."""


@dataclass(frozen=True, slots=True)
class SparkCounter:
    """Counts the events of a Spark stream.

    Attributes:
        rows: The stream.
        sending: The columns and types to count.
        counter: Counts in a task.
        every_part: Whether to count more than keys.
    """

    rows: StreamRows
    sending: Sending
    counter: StreamCounter
    every_part: bool

    @property
    def frame(self) -> DataFrame:
        """The DataFrame to run."""
        sending, counter, every_part = self.sending, self.counter, self.every_part
        source, buckets = self.rows, 4 * self.rows.cores
        # All events count for the share of pairs in one partition.
        types = None if counter.query.partition_by else sending.types

        def count(batches: Batches) -> Batches:
            for table in tables_of(sending.fields, batches):
                columns = sending.events(table)
                if every_part:
                    yield _batch(_PART, counter.part(columns))
                for bucket, some in _representatives(table, columns, counter, buckets):
                    yield _batch(bucket, some)

        def merge(batches: Batches) -> Batches:
            tables: dict[int, list[pa.Table]] = {}
            for batch in batches:
                for bucket, counted in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    counts = _loaded(counted)
                    if bucket == _PART:
                        yield _batch(_PART, counts)
                    else:
                        tables.setdefault(bucket, []).append(counts)
            for some in tables.values():
                yield _batch(_KEYS, _key_part(pa.concat_tables(some), sending, counter))

        events = source.rows.where(source.is_event & source.may_have(types))
        counted = events.select(*map(source.place, sending.columns.names))
        counted = counted.mapInArrow(count, _COUNTED)
        if not counter.keys:
            return counted
        return counted.repartition(buckets, "bucket").mapInArrow(merge, _COUNTED)

    def found(self, table: pa.Table) -> tuple[list[PartCounts], list[KeyPart]]:
        """Return the counts of all parts, given the result of `frame`."""
        found = [_loaded(counted) for counted in table.column("counted").to_pylist()]
        parts = [one for one in found if isinstance(one, PartCounts)]
        return parts, [one for one in found if isinstance(one, KeyPart)]


def _representatives(
    table: pa.Table, columns: EventColumns, counter: StreamCounter, buckets: int
) -> Iterator[tuple[int, pa.Table]]:
    """Yield for each bucket an event of each key and type, with the number of such events."""
    rows, of, numbers, where = [], [], [], []
    for i, first, counts in counter.representatives(columns):
        names = counter.keys[i].attributes
        values = [_comparable(columns.attributes[name].take(first)) for name in names]
        rows.append(first)
        of.append(np.full(len(first), i, np.int32))
        numbers.append(counts)
        where.append((key_hashes(values) % np.uint64(buckets)).astype(np.int64))
    if not rows:
        return
    table = table.take(pa.array(columns.source_rows(np.concatenate(rows))))
    table = table.append_column(_OF, pa.array(np.concatenate(of)))
    table = table.append_column(_NUMBER, pa.array(np.concatenate(numbers)))
    bucket_of = np.concatenate(where)
    for bucket in np.unique(bucket_of).tolist():
        yield bucket, table.filter(pa.array(bucket_of == bucket))


def _comparable(column: Column) -> Column:
    """Return whole numbers as floats, to which they may be equal."""
    if column.kind != "integer":
        return column
    return Column("float", as_floats(column), has_missing=column.has_missing)


def _key_part(table: pa.Table, sending: Sending, counter: StreamCounter) -> KeyPart:
    columns = sending.events(table)
    rows = columns.source_rows(np.arange(len(columns)))
    of, numbers = (np.asarray(table.column(name)) for name in (_OF, _NUMBER))
    return counter.key_part(columns, Weighted(of[rows], numbers[rows]))


def _batch(bucket: int, counted: PartCounts | KeyPart | pa.Table) -> pa.RecordBatch:
    arrays = [pa.array([bucket], pa.int32()), pa.array([pickled(counted)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["bucket", "counted"])


def _loaded(counted: bytes) -> Any:
    return pickle.loads(counted)  # noqa: S301 - what a worker has written
