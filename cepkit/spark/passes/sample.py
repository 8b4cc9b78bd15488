"""A sample of a Spark stream in this process, from which any number of plans are made.

It has the events of some random time slices of equal length, each with the events up to a while
after it, which complete its combinations. If there is no window in time to cut by, or it is so long
that the slices would be large, events are drawn by a hash of their row: every combination then has
the same chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.pattern.policies import TimeWindow
from cepkit.pattern.query import Query
from cepkit.spark.cells.dealing import Batches, tables_of
from cepkit.spark.cells.sending import Sending
from cepkit.spark.passes.extent import has_width, row_bytes
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.passes.type_counts import TypeCounts
from cepkit.stream.reading.time_zones import is_utc

EVENTS = 40_000
"""About how many events of the pattern's types a sample has, if the window is short."""

EVENTS_BY_HASH = 400_000
"""The same without a window in time: an event drawn alone is worth less than one in a slice, and
windows in events are right only for all of them."""

MOST_BYTES = 64 * 2**20
"""The most Arrow bytes of a sample."""

_SLICES = 32
_LEAST_SLICES = 4
_LEAST_OF_TYPE = 20
"""The events of each type that a sample should have."""
_SHARES = 1 << 30
_BURSTS = 2
"""How many times as many events slices may have as was expected at most."""
_LONGER = 1.5
"""How much longer the windows of later patterns may be."""
_MARGIN = 2
"""Seconds by which Spark rounds times at most."""
_NAIVE = 100_000
"""Seconds by which Spark may misread a time without a zone: a day, and the widest zones."""


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """Which events of a stream are drawn for a sample.

    Attributes:
        begins: Where the slices begin, in microseconds; None: events are drawn by a hash.
        first: The time of the first event; a slice begins in each stretch after it.
        stretch: The length of a stretch.
        length: The length of a slice.
        after: How far a slice sees after its end.
        share: The share of the events, or of the time, that is drawn.
        most: The most events that slices may have; no more are fetched.
    """

    begins: tuple[int, ...] | None = None
    first: int = 0
    stretch: float = 0.0
    length: int = 0
    after: int = 0
    share: float = 1.0
    most: int | None = None

    def holds(self, rows: int) -> bool:
        """Return whether a number of fetched rows are all that were drawn."""
        return self.most is None or rows <= self.most

    @property
    def whole(self) -> bool:
        """Whether all events of the types are drawn."""
        return self.begins is None and self.share >= 1


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Events drawn from a Spark stream.

    Attributes:
        table: Their rows.
        sending: The columns and types.
        design: How they were drawn.
        seed: The seed of the draw.
    """

    table: pa.Table
    sending: Sending
    design: SamplingDesign
    seed: int

    def serves(self, sending: Sending, window: int | None, seed: int) -> bool:
        """Return whether a pattern can be measured on it."""
        own, design = self.sending, self.design
        if design.begins is not None and (window is None or window > design.after):
            return False
        if design.begins is None and not design.whole and window is not None:
            return False  # slices may be small enough for this window
        types = own.types is None or (sending.types is not None and sending.types <= own.types)
        return types and set(sending.columns.names) <= set(own.columns.names) and seed == self.seed


def draw(
    source: StreamRows,
    sending: Sending,
    window: int | None,
    counts: TypeCounts,
    seed: int,
    *,
    by_hash: bool = False,
) -> tuple[SamplingDesign, DataFrame]:
    """Return a draw of a stream, and the rows to fetch.

    Args:
        by_hash: Whether to draw events alone, because slices have turned out to be too large.
    """
    types = sending.types
    relevant = counts.events(types)
    wide = [field.name for field in sending.columns if not has_width(field.type)]
    each = row_bytes(sending.columns) + counts.size(types, wide) / max(1, counts.number(types))
    most = MOST_BYTES / each
    rows = source.rows.where(~source.no_time & source.may_have(types))
    names = [source.place(name) for name in sending.columns.names]
    if relevant <= min(most, EVENTS_BY_HASH if window is None else 2 * EVENTS):
        return SamplingDesign(), rows.select(*names)
    rarest = min((n for n in map(counts.counts.by_type.get, types or ()) if n), default=relevant)
    size = min(max(EVENTS, _LEAST_OF_TYPE * relevant // rarest), 4 * EVENTS)
    size = EVENTS_BY_HASH if window is None else size
    design = None
    if window is not None and not by_hash:
        design = _slices(counts, relevant, window, size, most, seed)
    if design is None:
        share = min(1.0, min(size, most) / relevant)
        number = F.pmod(F.xxhash64(F.lit(seed), *rows.columns), F.lit(_SHARES))
        return SamplingDesign(share=share), rows.where(number < int(share * _SHARES)).select(*names)
    near, exact = _near(source, design)
    rows = rows.where(near).select(*names)
    if not exact:
        rows = rows.mapInArrow(_only(sending, design), rows.schema)
    # A slice may hit a burst that has most events of the stream.
    return replace(design, most=int(_BURSTS * most)), rows.limit(int(_BURSTS * most) + 1)


def _slices(
    counts: TypeCounts, relevant: int, window: int, size: int, most: float, seed: int
) -> SamplingDesign | None:
    """Return slices all over the stream; None if they would have too many events, or most."""
    first, last = counts.counts.first, counts.counts.last
    assert first is not None
    assert last is not None
    span = last - first + 1
    a_moment = span / relevant
    after = math.ceil(_LONGER * window)
    length = max(window // 2, math.ceil(size / _SLICES * a_moment), 1)
    number = max(_LEAST_SLICES, min(_SLICES, int(size * a_moment / (length + after))))
    taken = number * (length + after)
    if taken / a_moment > min(most, 16 * size) or 2 * taken > span:
        return None
    rng = np.random.default_rng([seed, number])
    part = span / number
    begins = first + (np.arange(number) * part + rng.random(number) * (part - length)).astype(
        np.int64
    )
    return SamplingDesign(
        tuple(begins.tolist()), first, part, length, after, number * length / span
    )


def _near(source: StreamRows, design: SamplingDesign) -> tuple[Column, bool]:
    """Return whether a row may lie in a slice, and whether that is exact enough to fetch it."""
    schema = source.schema
    kind = source.kind(schema.time)
    naive = isinstance(kind, t.TimestampNTZType | t.DateType | t.StringType)
    if isinstance(kind, t.DateType) and is_utc(schema.timezone):
        naive = False
    seconds, begins = source.seconds, design.begins or ()
    wide = (design.length + design.after) / 1e6
    if naive:
        ranges = (seconds.between(b / 1e6 - _NAIVE, b / 1e6 + wide + _NAIVE) for b in begins)
        # Workers must see values that Spark cannot read as times.
        return reduce(or_, ranges, seconds.isNull()), False
    # A slice begins in each stretch of time, and may reach into the next one.
    stretch = F.floor((seconds - design.first / 1e6) / (design.stretch / 1e6)).cast("int")
    places = F.array(*(F.lit(begin / 1e6 - _MARGIN) for begin in begins))
    nearest = (F.get(places, stretch - before) for before in (0, 1))
    return reduce(or_, (seconds.between(b, b + wide + 2 * _MARGIN) for b in nearest)), True


def _only(sending: Sending, design: SamplingDesign) -> Callable[[Batches], Batches]:
    """Return a filter of rows that lie in slices, by the engine's times."""

    def only(batches: Batches) -> Batches:
        for table in tables_of(sending.fields, batches):
            ts = sending.times(table)
            held = np.zeros(len(ts), dtype=np.bool_)
            for begin in design.begins or ():
                held |= (ts >= begin) & (ts <= begin + design.length + design.after)
            yield from table.filter(pa.array(held)).to_batches()

    return only


def window_of(query: Query) -> int | None:
    """Return the window of a query in microseconds; None: it has none in time."""
    return query.window.microseconds if isinstance(query.window, TimeWindow) else None


def in_one_order(table: pa.Table) -> pa.Table:
    """Return the rows in a canonical order."""
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
