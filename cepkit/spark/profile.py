"""Statistics of a Spark stream for a pattern: the whole counted, selectivities from a sample.

One job counts the events of each type and the rows that are none, and finds the first and the
last time; with PARTITION BY a second one counts the keys. For the selectivities some time slices
are drawn, each with the window before and after it, and measured by the workers, who send back a
few numbers. A pattern without a time window has no slices: there events are drawn by a hash of
their row, which leaves every combination the same chance.

The same seed gives the same statistics, however the rows lie: slices are drawn by number, and
events of one time are brought into an order of their own before they are drawn from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
from pyspark.sql import types as t

from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.progress import Progress
from cepkit.spark import worker
from cepkit.spark.batch import batch_frame, dealt_out, functions_of, splitting
from cepkit.spark.extent import (
    has_type,
    positional,
    seconds_of,
    types_of,
    without_time,
    without_type,
)
from cepkit.spark.layout import Layout
from cepkit.spark.progress import run_with_progress
from cepkit.spark.schemas import arrow_columns
from cepkit.statistics.estimate import SAMPLE, Census, attributes_read, combine, tally_slice
from cepkit.statistics.model import Statistics
from cepkit.statistics.sampling import Tally
from cepkit.stream.columns import MISSING_INTEGER, Dropped
from cepkit.stream.ingest import event_columns
from cepkit.stream.stream import Stream
from cepkit.stream.texts import type_codes
from cepkit.stream.time_zones import is_utc
from cepkit.stream.times import microseconds

SAMPLE_EVENTS = 400_000
"""Relevant events to measure; a stream with fewer is measured whole."""

_SLICES = 20
_SHARES = 1 << 30
_TALLIES = (
    "cell long, variables array<string>, combinations double, drawn long, exact boolean, "
    "weight double, held double, squares double"
)


def profile(
    stream: Stream,
    query: Query,
    *,
    seed: int = 0,
    sample_events: int = SAMPLE_EVENTS,
    progress: Progress = "auto",
) -> Statistics:
    """Measure a Spark stream.

    Args:
        stream: Events in a Spark DataFrame.
        query: The pattern.
        seed: Of the sample.
        sample_events: About how many events of the pattern's types to measure.
        progress: Whether to show a bar: see `run_with_progress`.

    Raises:
        StreamError: A missing column, a time that is no time, a column that cannot be read.
        PatternError: A condition compares what cannot be compared.
        UnsupportedError: The DataFrame is a stream, or one of Spark Connect.
    """
    frame = batch_frame(stream)
    names = stream.column_names
    wanted = (stream.schema.time, stream.schema.type, *sorted(attributes_read(query)))
    stream.schema.check(names, wanted)
    columns = arrow_columns(frame, names, wanted)
    schema = stream.schema.without_arrival()
    nothing = event_columns(columns.empty_table(), schema, attributes_read(query))
    measuring = _Measuring(stream, frame, query, columns, seed, sample_events)
    counted = run_with_progress(measuring.census, "counting events", progress=progress)
    if not counted.events:
        return combine(query, counted, [tally_slice(nothing, query, seed=seed)])
    tallies, partial = run_with_progress(
        lambda: measuring.tallies(counted), "measuring conditions", progress=progress
    )
    return combine(query, counted, [tallies], partial=partial)


@dataclass(frozen=True, slots=True)
class _Measuring:
    stream: Stream
    frame: DataFrame
    query: Query
    columns: pa.Schema
    seed: int
    sample_events: int

    def _column(self, rows: DataFrame, name: str) -> tuple[Column, t.DataType]:
        place = self.stream.column_names.index(name)
        return rows[f"c{place}"], self.frame.schema.fields[place].dataType

    def census(self) -> Census:
        """Count the whole stream."""
        schema = self.stream.schema
        rows = positional(self.frame)
        (time, time_kind), (kind, type_kind) = (
            self._column(rows, name) for name in (schema.time, schema.type)
        )
        no_time, no_type = without_time(time, time_kind), without_type(kind, type_kind)
        moment = F.when(~no_time, time)
        by_type = (
            rows.groupBy(F.when(~no_type, kind).alias("type"))
            .agg(
                F.count_if(~no_time).alias("events"),
                F.count_if(no_time).alias("null_time"),
                F.min(moment).alias("first"),
                F.max(moment).alias("last"),
            )
            .toArrow()
        )
        codes, texts = type_codes(by_type.column("type"), schema.type)
        events = by_type.column("events").to_pylist()
        counts: dict[str, int] = {}
        for code, number in zip(codes.tolist(), events, strict=True):
            if code >= 0 and number:
                counts[texts[code]] = counts.get(texts[code], 0) + number
        null_type = sum(n for code, n in zip(codes.tolist(), events, strict=True) if code < 0)
        dropped = Dropped(sum(by_type.column("null_time").to_pylist()), null_type)
        named = pa.array(codes >= 0)
        if isinstance(time_kind, t.StringType):
            first, last = self._ends_of_texts(rows.where(~no_time & ~no_type).select(time))
        else:
            ends = [by_type.filter(named).column(name) for name in ("first", "last")]
            first, last = _ends(self._microseconds(pa.concat_arrays(_parts(*ends))))
        return Census(counts, dropped, first, last, self._same_key(rows, ~no_time & ~no_type))

    def _microseconds(self, column: pa.Array) -> worker.Integers:
        schema = self.stream.schema
        return microseconds(column, schema.time, unit=schema.unit, timezone=schema.timezone)

    def _ends_of_texts(self, texts: DataFrame) -> tuple[int | None, int | None]:
        """Return the first and the last time of texts, whose own order is not that of times."""
        schema = self.stream.schema

        def ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                first, last = _ends(
                    microseconds(batch.column(0), schema.time, timezone=schema.timezone)
                )
                yield pa.RecordBatch.from_pydict(
                    {"first": pa.array([first], pa.int64()), "last": pa.array([last], pa.int64())}
                )

        found = texts.mapInArrow(ends, "first long, last long")
        row = found.agg(F.min("first"), F.max("last")).collect()[0]
        return row[0], row[1]

    def _same_key(self, rows: DataFrame, is_event: Column) -> float:
        """Return the share of pairs of events in one partition, from the counts of the keys."""
        if not self.query.partition_by:
            return 1.0
        keys = []
        for name in self.query.partition_by:
            column, kind = self._column(rows, name)
            floating = isinstance(kind, t.FloatType | t.DoubleType)
            keys.append(F.nanvl(column, F.lit(None)) if floating else column)
        of_key = rows.where(is_event).groupBy(*keys).agg(F.count("*").cast("double").alias("n"))
        # Doubles add up exactly, in whatever order, as long as no bits are lost: squares lose
        # them only beyond 2**53, and then in the last digits.
        both = of_key.agg(F.sum(F.col("n") * F.col("n")), F.sum("n")).collect()[0]
        return min(1.0, both[0] / both[1] ** 2) if both[1] else 1.0

    def tallies(self, counted: Census) -> tuple[list[Tally], bool]:
        """Measure a sample; also return whether it is less than everything."""
        types = types_of(self.query)
        relevant = sum(n for name, n in counted.counts.items() if types is None or name in types)
        rows = self._relevant(types)
        window = self.query.window
        share = min(1.0, self.sample_events / max(relevant, 1))
        if not isinstance(window, TimeWindow):
            layout, slices = Layout(None), 1
            if share < 1:
                drawn = F.pmod(F.xxhash64(F.lit(self.seed), *rows.columns), F.lit(_SHARES))
                rows = rows.where(drawn < int(share * _SHARES))
        else:
            layout, share = self._drawn(counted, relevant, min(window.microseconds, 2**60), share)
            slices = len(layout.chosen or (0,))
            if layout.chosen is not None:
                rows = rows.where(self._near(rows, layout))
        kept = rows.select(*(f"c{self.stream.column_names.index(n)}" for n in self.columns.names))
        schema = self.stream.schema.without_arrival()
        job = worker.Job(schema, self.columns, (), (), types, layout, functions_of(self.query))
        tasks = max(1, min(slices, 4 * _cores(self.frame)))
        packed = dealt_out(kept.mapInArrow(splitting(job), worker.PACKED), tasks)
        sample = SAMPLE if slices == 1 else max(1000, 2 * SAMPLE // slices)
        work = _tallying(job, self.query, self.seed, sample)
        found = packed.mapInArrow(work, _TALLIES).collect()
        ordered = sorted(found, key=lambda row: (row.cell, sorted(row.variables)))
        return [Tally(frozenset(row[1]), *row[2:]) for row in ordered], share < 1

    def _relevant(self, types: frozenset[str] | None) -> DataFrame:
        schema = self.stream.schema
        rows = positional(self.frame)
        fitting = has_type(*self._column(rows, schema.type), types)
        rows = rows.where(~without_time(*self._column(rows, schema.time)))
        return rows if fitting is None else rows.where(fitting)

    def _drawn(
        self, counted: Census, relevant: int, window: int, share: float
    ) -> tuple[Layout, float]:
        """Return the slices of the sample; all of the stream as one where it is small."""
        assert counted.first is not None
        assert counted.last is not None
        span = counted.last - counted.first + 1
        each = span / max(relevant, 1)
        length = max(4 * window, min(math.ceil(self.sample_events / _SLICES * each), span))
        there = -(-span // length)
        wanted = max(1, min(there, round(share * there)))
        if share >= 1 or wanted >= there:
            return Layout(window), 1.0
        rng = np.random.default_rng(self.seed)
        chosen = sorted(rng.choice(there, size=wanted, replace=False).tolist())
        layout = Layout(
            window, length, counted.first, cells=wanted, ahead=window, chosen=tuple(chosen)
        )
        return layout, wanted / there

    def _near(self, rows: DataFrame, layout: Layout) -> Column:
        """Return whether a row may lie in a chosen slice: the workers look more closely."""
        column, kind = self._column(rows, self.stream.schema.time)
        seconds = seconds_of(column, kind, self.stream.schema.unit)
        naive = isinstance(kind, t.TimestampNTZType | t.DateType | t.StringType)
        margin = 2.0 if not naive else 100_000.0  # a day, and the widest difference of zones
        if isinstance(kind, t.DateType) and is_utc(self.stream.schema.timezone):
            margin = 2.0
        inside = F.lit(False)
        for number in layout.chosen or ():
            begin = (layout.origin + number * (layout.slice or 0)) / 1e6
            wide = (layout.window or 0) / 1e6 + margin
            inside |= seconds.between(begin - wide, begin + (layout.slice or 0) / 1e6 + wide)
        # What Spark cannot read as a time, the workers must see.
        return inside | seconds.isNull()


def _tallying(
    job: worker.Job, query: Query, seed: int, sample: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job.register()
        for item in worker.unpacked(job, batches):
            if isinstance(item, Dropped):
                continue
            cell, table = item
            columns = event_columns(_in_one_order(table), job.schema, attributes_read(query))
            begin = job.layout.begin(cell)
            owned = None
            if begin is not None and job.layout.slice is not None:
                owned = (begin, begin + job.layout.slice - 1)
            found = tally_slice(columns, query, seed=seed, sample=sample, owned=owned)
            yield _as_batch(cell, found)

    return run


def _as_batch(cell: int, tallies: tuple[Tally, ...]) -> pa.RecordBatch:
    rows: list[list[Any]] = [
        [cell, sorted(y.variables), y.combinations, y.drawn, y.exact, y.weight, y.held, y.squares]
        for y in tallies
    ]
    kinds = [pa.int64(), pa.list_(pa.string()), pa.float64(), pa.int64(), pa.bool_()]
    kinds += [pa.float64()] * 3
    names = [part.split()[0] for part in _TALLIES.split(", ")]
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _in_one_order(table: pa.Table) -> pa.Table:
    """Return the rows in an order that depends on nothing but the rows."""
    keys = pa.table(
        [
            pa.array([repr(value) for value in column.to_pylist()])
            if pa.types.is_nested(column.type)
            else column
            for column in table.columns
        ],
        names=[str(i) for i in range(table.num_columns)],
    )
    order = keys.append_column("row", pa.array(np.arange(len(keys))))
    return table.take(order.sort_by([(n, "ascending") for n in keys.column_names])["row"])


def _ends(ts: worker.Integers) -> tuple[int | None, int | None]:
    known = ts[ts != MISSING_INTEGER]
    return (int(known.min()), int(known.max())) if len(known) else (None, None)


def _parts(*columns: pa.ChunkedArray) -> list[pa.Array]:
    return [chunk for column in columns for chunk in column.chunks] or [
        pa.array([], columns[0].type)
    ]


def _cores(frame: DataFrame) -> int:
    return frame.sparkSession.sparkContext.defaultParallelism
