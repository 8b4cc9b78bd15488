"""The size of a stream for a query, from statistics or by one cheap Spark job."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from cepkit.spark.cells.keys import Key
from cepkit.spark.cells.layout import Extent
from cepkit.spark.cells.sending import types_of
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.session.progress import run_with_progress
from cepkit.statistics.keys import KeyCounts
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_unit

KEY_BUCKETS = 256
"""The number of hash buckets of keys for bounding the heaviest key."""


def row_bytes(columns: pa.Schema) -> float:
    """Return the approximate bytes of a row."""
    return 8.0 + sum(map(_width, columns.types))


def _width(kind: pa.DataType) -> float:
    if has_width(kind):
        return max(1.0, float(kind.bit_width) / 8)
    return 80.0 if pa.types.is_nested(kind) else 24.0


def has_width(kind: pa.DataType) -> bool:
    """Return whether all values of a type take the same number of bytes."""
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def extent_of_statistics(
    statistics: Statistics | None, query: Query, key: Key | None
) -> Extent | None:
    """Return the extent from statistics; None if they lack it."""
    if statistics is None or statistics.first is None or statistics.last is None:
        return None
    events = events_of(query.structure)
    if any(event.variable not in statistics.rates for event in events):
        return None
    total = float(statistics.events)
    if types_of(query) is not None:
        # Variables with the same types share their events; overlapping sets of types count twice.
        rates = {event.types: statistics.rates[event.variable] for event in events}
        total = min(total, sum(rates.values()) * max(statistics.span_seconds, 1.0))
    share = math.sqrt(statistics.same_key) if key is not None and key.missing_agree else 1.0
    if (counts := _counts_of(statistics, key)) is not None:
        share = counts.largest_share
    count = math.ceil(total)
    return Extent(count, statistics.first, statistics.last, math.ceil(total * share))


def share_of_heaviest(statistics: Statistics | None, key: Key | None, extent: Extent) -> float:
    """Return the share of the search time for the most frequent key.

    Events are joined with events of the same key, so the work of a key grows with the square of its
    events. If keys were not counted, the share of its events is used.
    """
    counts = None if statistics is None else _counts_of(statistics, key)
    if counts is None:
        return extent.heaviest / extent.events if extent.events else 0.0
    frequent = [number for _, number in counts.most_frequent]
    others, left = counts.events - sum(frequent), counts.distinct - len(frequent)
    pairs = sum(number * number for number in frequent) + others * others / max(1, left)
    return frequent[0] * frequent[0] / pairs


def _counts_of(statistics: Statistics, key: Key | None) -> KeyCounts | None:
    """Return the frequencies of the keys, if they were counted and occur."""
    if key is None:
        return None
    found = (counts for counts in statistics.keys if counts.attributes == key.columns)
    return next((counts for counts in found if counts.most_frequent), None)


def measured_extent(
    stream: Stream, types: frozenset[str] | None, key: Key | None
) -> tuple[Extent, Dropped]:
    """Count a Spark stream by one job over its time, type and key columns.

    Args:
        types: Those that the query names, None for any.
        key: The attributes on which all events of a match agree.

    Returns:
        The extent (times are accurate to a day, the span more so), and the rows that are no events.
    """
    source = StreamRows(stream)
    is_relevant = source.is_event & source.may_have(types)
    seconds = F.when(is_relevant, source.seconds)
    buckets = []
    if key is not None:
        buckets = [F.pmod(F.xxhash64(*map(source.column, key.columns)), F.lit(KEY_BUCKETS))]
    counts = source.rows.groupBy(*buckets).agg(
        F.count_if(is_relevant).alias("events"),
        F.min(seconds).alias("first"),
        F.max(seconds).alias("last"),
        F.count_if(source.no_time).alias("null_time"),
        F.count_if(source.no_type & ~source.no_time).alias("null_type"),
    )
    counted = run_with_progress(counts.collect, "counting events")
    events = [row.events for row in counted]
    ends = [end for row in counted for end in (row.first, row.last)]
    times = [end for end in ends if end is not None and math.isfinite(end)]
    first, last = (math.floor(min(times)), math.ceil(max(times))) if times else (0, 0)
    if times:
        warn_of_unit(stream.schema.time, np.array([first, last]) * 1_000_000, stream.schema.unit)
    dropped = sum((Dropped(row.null_time, row.null_type) for row in counted), Dropped())
    return (
        Extent(sum(events), first * 1_000_000, last * 1_000_000, max(events, default=0)),
        dropped,
    )
