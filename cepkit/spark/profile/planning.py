"""Statistics of a Spark stream for plans, measured in this process on a sample of its events.

The first pattern takes two jobs: one counts the rows by type, one fetches a sample. A stream keeps
both, so further patterns over the same types and columns take none. Counts are exact; what is
sampled is measured like the slices of a stream in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from cepkit.columnar.results.reports import warn_of_tied
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.kinds import check_no_type_is_a_kind
from cepkit.pattern.query import Query
from cepkit.spark.cells.sending import measuring, table_of
from cepkit.spark.passes.extent import has_width
from cepkit.spark.passes.here import in_one_action
from cepkit.spark.passes.kept import counted, kept_of
from cepkit.spark.passes.rows import StreamRows, batch_frame
from cepkit.spark.passes.sample import Sample, SamplingDesign, draw, in_one_order, window_of
from cepkit.spark.passes.type_counts import TypeCounts
from cepkit.spark.profile.counting import SparkCounter
from cepkit.spark.session.progress import run_with_progress
from cepkit.statistics.measuring.estimate import (
    Slices,
    combine,
    joins_of,
    measured_slices,
    tally_slice,
)
from cepkit.statistics.model import Statistics
from cepkit.statistics.parts import StreamCounter
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream


def statistics_for_plans(
    stream: Stream, query: Query, *, seed: int = 0, joins: bool = True
) -> Statistics:
    """Measure the statistics that plans of a pattern need, over a Spark stream.

    Args:
        seed: Seed of the sample.
        joins: Whether to sample joins.

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
    wide = [field.name for field in sending.columns if not has_width(field.type)]
    known = counted(stream, wide)
    counts = known.counts
    check_no_type_is_a_kind(sending.kinds, counts.by_type)
    if not known.events(sending.types):
        return combine(query, counts, [tally_slice(nothing, query, seed=seed)])
    source, kept, partition = StreamRows(stream), kept_of(stream), query.partition_by
    sample, same_key = kept.sample, kept.same_key.get(partition)
    frames: dict[str, DataFrame] = {}
    design, counting = SamplingDesign(), None
    window = window_of(query)
    if sample is not None and not sample.serves(sending, window, seed):
        sending, sample = sending.with_those_of(sample.sending), None
    if sample is None:
        design, frames["sample"] = draw(source, sending, window, known, seed)
    if partition and same_key is None:
        counter = StreamCounter.of(query, nothing.kinds, None)
        counter = replace(counter, links=(), keys=counter.keys[:1])
        counting = SparkCounter(source, sending, counter, every_part=False)
        frames["counts"] = counting.frame
    tables = _run(frames)
    if sample is None:
        rows = tables["sample"]
        if not design.holds(len(rows)):
            design, one_by_one = draw(source, sending, window, known, seed, by_hash=True)
            rows = _run({"sample": one_by_one})["sample"]
        rows = in_one_order(table_of(sending.fields, rows.to_batches()))
        sample = kept.sample = Sample(rows, sending, design, seed)
    if counting is not None:
        _, keys = counting.found(tables["counts"])
        pairs = sum(part.pairs for part in keys)
        same_key = kept.same_key[partition] = counting.counter.same_key(pairs, counts.events)
    counts = replace(counts, same_key=1.0 if same_key is None else same_key)
    return _measured(sample, query, replace(known, counts=counts), joins=joins)


def _run(frames: Mapping[str, DataFrame]) -> Mapping[str, pa.Table]:
    if not frames:
        return {}
    return run_with_progress(lambda: in_one_action(frames), "measuring conditions")


def _measured(sample: Sample, query: Query, known: TypeCounts, *, joins: bool) -> Statistics:
    """Return the statistics of a sample."""
    counts = known.counts
    columns, design, seed = sample.sending.events(sample.table), sample.design, sample.seed
    warn_of_tied(columns, query)
    slices = None if design.begins is None else _slices(columns, design, query, sample, known)
    if slices is not None:
        return measured_slices(slices, query, counts, seed=seed, joins=joins)
    tallies = tally_slice(columns, query, seed=seed)
    statistics = combine(query, counts, [tallies], partial=not design.whole)
    if not joins or not design.whole:
        return statistics
    return replace(statistics, joins=joins_of(columns, query, statistics, seed))


def _slices(
    columns: EventColumns, design: SamplingDesign, query: Query, sample: Sample, known: TypeCounts
) -> Slices | None:
    """Return the slices of a sample; None if they have no events."""
    window, ts = window_of(query), columns.ts
    begins = np.array(design.begins)
    first = np.searchsorted(ts, begins)
    own = np.searchsorted(ts, begins + design.length)
    end = np.searchsorted(ts, begins + design.length + (window or 0), side="right")
    some = end > first
    if not some.any():
        return None
    share = int((own - first).sum()) / known.events(sample.sending.types)
    slices = Slices.joined(columns, query, first[some], own[some], end[some], share or design.share)
    return replace(slices, events=round(design.share * known.counts.events))
