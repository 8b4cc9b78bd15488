"""Statistics of a Spark stream for a pattern: exact counts, and selectivities from a sample.

Types take one action (stream_counts.py), and all other counts a part of a second one, for any
pattern (counting.py, lateness.py). For the selectivities, workers measure some random time slices,
each with a window before and after it, in that second action; they return a few numbers. A pattern
without a time window has no slices: there events are drawn by a hash of their row, which gives
every combination the same chance.

The same seed gives the same statistics for any order of rows: slices are drawn by number, and
events of equal time are sorted canonically before sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.kinds import check_no_type_is_a_kind
from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.spark.cells.dealing import Batches, dealt_out, unpacked
from cepkit.spark.cells.layout import Cut, Layout
from cepkit.spark.cells.sending import Sending, measuring
from cepkit.spark.passes.here import in_one_action
from cepkit.spark.passes.kept import kept_of
from cepkit.spark.passes.rows import StreamRows, batch_frame
from cepkit.spark.passes.sample import in_one_order
from cepkit.spark.passes.type_counts import count_types
from cepkit.spark.profile.counting import SparkCounter
from cepkit.spark.profile.lateness import Arrivals
from cepkit.spark.session.progress import run_with_progress
from cepkit.statistics.measuring.estimate import SAMPLE, combine, joins_of, tally_slice
from cepkit.statistics.measuring.sampling import Tally
from cepkit.statistics.model import Statistics
from cepkit.statistics.over_time import Buckets
from cepkit.statistics.parts import StreamCounter
from cepkit.statistics.selectivity import Joined
from cepkit.statistics.stream_counts import StreamCounts
from cepkit.stream.columns import Dropped
from cepkit.stream.reading.time_zones import is_utc
from cepkit.stream.stream import Stream

SAMPLE_EVENTS = 400_000
"""The number of relevant events to measure; a stream with fewer is measured completely."""

Joins: TypeAlias = Mapping[frozenset[str], Joined]

_SLICES = 20
_SHARES = 1 << 30
_MEASURED = (
    "cell long, variables array<string>, combinations double, drawn long, exact boolean, "
    "weight double, held double, squares double, equal double, "
    "in_scope double, hits double, each double"
)
_NUMBERS = ("combinations", "drawn", "exact", "weight", "held", "squares", "equal")
_OF_JOINS = ("in_scope", "hits", "each")


def profile(
    stream: Stream,
    query: Query,
    *,
    seed: int = 0,
    sample_events: int = SAMPLE_EVENTS,
    joins: bool = True,
) -> Statistics:
    """Measure a Spark stream.

    Args:
        seed: Seed of the sample.
        sample_events: About how many events of the pattern's types to measure.
        joins: Whether to sample joins, if the stream is small enough to measure completely.

    Raises:
        StreamError: A missing column, a time that is no time, a column that cannot be read.
        PatternError: A condition compares values that cannot be compared, or a kind is called like
            a type.
        UnsupportedError: The DataFrame is a stream.
    """
    batch_frame(stream)
    sending = measuring(stream, query)
    nothing = sending.nothing
    check_kinds(query, nothing.kinds)
    source = StreamRows(stream)
    known = kept_of(stream).counts = count_types(source)
    counts = known.counts
    check_no_type_is_a_kind(sending.kinds, counts.by_type)
    sample: _Sample | None = None
    if known.events(sending.types):
        sample = _Profiler(source, sending, query, seed, sample_events, joins).sample(counts)

    def measured() -> tuple[StreamCounts, Mapping[str, pa.Table]]:
        buckets = None
        if counts.first is not None and counts.last is not None:
            buckets = Buckets.of(counts.first, counts.last, counts.events)
        counter = StreamCounter.of(query, nothing.kinds, buckets)
        counting = SparkCounter(source, sending, counter, every_part=True)
        arrivals = Arrivals(source, counts.events)
        frames = arrivals.frames | {"counts": counting.frame}
        tables = in_one_action(frames | ({} if sample is None else {"sample": sample.rows}))
        parts, keys = counting.found(tables["counts"])
        pairs = sum(part.pairs for part in keys)
        details = counter.details(parts, keys, arrivals.lateness(tables))
        same_key = counter.same_key(pairs, counts.events)
        return replace(counts, same_key=same_key, details=details), tables

    counts, tables = run_with_progress(measured, "measuring conditions")
    if sample is None:
        return combine(query, counts, [tally_slice(nothing, query, seed=seed)])
    tallies, joined = _measured(tables["sample"])
    return replace(combine(query, counts, [tallies], partial=sample.partial), joins=joined)


@dataclass(frozen=True, slots=True)
class _Sample:
    """The measured part of a stream, and whether it is partial."""

    rows: DataFrame
    partial: bool


def _measured(table: pa.Table) -> tuple[list[Tally], Joins]:
    """Return the workers' results, in an order that depends only on the stream."""
    rows = sorted(table.to_pylist(), key=lambda row: (row["cell"], sorted(row["variables"])))
    tallies, joined = [], {}
    for row in rows:
        variables = frozenset(row["variables"])
        if row["each"] is None:
            tallies.append(Tally(variables, *(row[name] for name in _NUMBERS)))
        else:
            joined[variables] = Joined(row["in_scope"], row["hits"], row["each"], row["exact"])
    return tallies, joined


@dataclass(frozen=True, slots=True)
class _Profiler:
    source: StreamRows
    sending: Sending
    query: Query
    seed: int
    sample_events: int
    joins: bool

    def sample(self, counts: StreamCounts) -> _Sample:
        """Return the DataFrame that measures a sample."""
        source, sending, types = self.source, self.sending, self.sending.types
        relevant = sum(n for name, n in counts.by_type.items() if types is None or name in types)
        rows = source.rows.where(~source.no_time & source.may_have(types))
        window = self.query.window
        share = min(1.0, self.sample_events / max(relevant, 1))
        if not isinstance(window, TimeWindow):
            layout, slices = Layout(), 1
            if share < 1:
                share_number = F.pmod(F.xxhash64(F.lit(self.seed), *rows.columns), F.lit(_SHARES))
                rows = rows.where(share_number < int(share * _SHARES))
        else:
            layout, share = self._drawn(counts, relevant, min(window.microseconds, 2**60), share)
            slices = len(layout.sample or (0,))
            if layout.sample is not None:
                rows = rows.where(self._near(layout))
        placed = rows.select(*map(source.place, sending.columns.names))
        tasks = max(1, min(slices, 4 * source.cores))
        packed = dealt_out(placed, sending, layout, tasks)
        sample = SAMPLE if slices == 1 else max(1000, 2 * SAMPLE // slices)
        # Separate slices cannot sample joins of the whole stream.
        joins = self.joins and slices == 1 and share >= 1
        work = _measuring(sending, layout, self.query, self.seed, sample, joins=joins)
        return _Sample(packed.mapInArrow(work, _MEASURED), share < 1)

    def _drawn(
        self, counts: StreamCounts, relevant: int, window: int, share: float
    ) -> tuple[Layout, float]:
        """Return the slices of the sample; a single one for a small stream."""
        assert counts.first is not None
        assert counts.last is not None
        span = counts.last - counts.first + 1
        each = span / max(relevant, 1)
        length = max(4 * window, min(math.ceil(self.sample_events / _SLICES * each), span))
        there = -(-span // length)
        size = max(1, min(there, round(share * there)))
        if share >= 1 or size >= there:
            return Layout(Cut(window)), 1.0
        rng = np.random.default_rng(self.seed)
        numbers = sorted(rng.choice(there, size=size, replace=False).tolist())
        cut = Cut(window, ahead=True)
        return Layout(cut, length, counts.first, cells=size, sample=tuple(numbers)), size / there

    def _near(self, layout: Layout) -> Column:
        """Return whether a row may lie in a chosen slice; workers check exactly."""
        schema = self.source.schema
        kind, seconds = self.source.kind(schema.time), self.source.seconds
        naive = isinstance(kind, t.TimestampNTZType | t.DateType | t.StringType)
        margin = 2.0 if not naive else 100_000.0  # a day, and the widest difference of zones
        if isinstance(kind, t.DateType) and is_utc(schema.timezone):
            margin = 2.0
        inside = F.lit(False)
        for number in layout.sample or ():
            begin = (layout.origin + number * (layout.slice or 0)) / 1e6
            wide = layout.halo / 1e6 + margin
            inside |= seconds.between(begin - wide, begin + (layout.slice or 0) / 1e6 + wide)
        # Workers must see values that Spark cannot read as times.
        return inside | seconds.isNull()


def _measuring(
    sending: Sending, layout: Layout, query: Query, seed: int, sample: int, *, joins: bool
) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        sending.register()
        for item in unpacked(sending, batches):
            if isinstance(item, Dropped):
                continue
            cell, table = item
            columns, own = sending.events(in_one_order(table)), layout.owned(cell)
            owned = None
            if own.since is not None and own.until is not None:
                owned = (own.since, own.until - 1)
            tallies = tally_slice(columns, query, seed=seed, sample=sample, owned=owned)
            joined: Joins = {}
            if joins:
                shares = combine(query, StreamCounts({}), [tallies])
                joined = joins_of(columns, query, shares, seed)
            yield _as_batch(cell, tallies, joined)

    return run


def _as_batch(cell: int, tallies: tuple[Tally, ...], joins: Joins) -> pa.RecordBatch:
    names = [part.split()[0] for part in _MEASURED.split(", ")]
    measured: list[tuple[frozenset[str], dict[str, Any]]] = [
        (tally.variables, {name: getattr(tally, name) for name in _NUMBERS}) for tally in tallies
    ]
    measured += [
        (variables, {name: getattr(joined, name) for name in (*_OF_JOINS, "exact")})
        for variables, joined in joins.items()
    ]
    rows: list[list[Any]] = [
        [cell, sorted(variables), *(numbers.get(name) for name in names[2:])]
        for variables, numbers in measured
    ]
    kinds = [pa.int64(), pa.list_(pa.string()), pa.float64(), pa.int64(), pa.bool_()]
    kinds += [pa.float64()] * 7
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)
