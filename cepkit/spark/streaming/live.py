"""A streaming DataFrame through buckets of state, as Spark runs it.

    events.withWatermark(time, lateness)      the clock: events of all types
      -> type filter that also reads the time; columns pruned
      -> mapInArrow                           pieces: an Arrow message for each bucket of keys
      -> groupBy(bucket).applyInPandasWithState
      -> observe                              counts of each micro-batch, in its progress
      -> mapInArrow                           rows

Buckets, as a call costs milliseconds however few its events: there may be a million keys. Pieces,
as Spark drops rows that are late without telling which; of pieces it knows no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from cepkit.spark.cells.keys import Key
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.identity import Identity
from cepkit.spark.streaming.pieces import PIECES, Packing, read_pieces
from cepkit.spark.streaming.state import from_bytes, to_bytes
from cepkit.stream.stream import Stream

KINDS = ("match", "timed-out", "row", "late", "ahead", "no-time", "no-type", "events", "looked")
"""What the rows of buckets are, and what is only counted."""

OBSERVED = "cepkit"
"""What the counts of a micro-batch are called in its progress, under `observedMetrics`."""

_FOUND = "kind string, rows long, packed binary"
_STATE = "owner string, complete long, events binary"
_DELAY = "spark.watermarkDelayMs"
"""Spark's own mark of a column that carries a watermark; mapInArrow makes new columns without."""

_EARLIEST = -62_000_000_000_000_000
"""The time of rows that must not move the clock; in the year 5."""


@dataclass(frozen=True, slots=True)
class Stepping:
    """What Spark calls for a bucket: with new pieces, or when its timer has run out.

    Attributes:
        bucket: What is done.
        identity: Whose the state is.
    """

    bucket: Bucket
    identity: Identity

    def __call__(
        self, _: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """Yield what becomes certain, and counts."""
        bucket, mark = self.bucket, state.getCurrentWatermarkMs()
        bucket.sending.register()
        held = bucket.nothing()
        if state.exists:
            owner, complete, events = state.get
            self.identity.check(owner)
            held = from_bytes(bucket, bytes(events), complete)
        rows = [] if state.hasTimedOut else [row for f in frames for row in _in_order(f)]
        rows.sort()
        packed_events = (
            packed for *_place, kind, _size, packed in rows if kind == "events" and packed
        )
        new = read_pieces(packed_events, bucket.sending.fields)
        for *_place, kind, size, packed in rows:
            # The events themselves are counted only; what else came is told as it is.
            yield _frame(kind, size, None if kind == "events" else packed)
        working = bucket.step(held, new, mark * 1_000 + 1)
        while True:
            try:
                kind, found = next(working)
            except StopIteration as done:
                held = done.value
                break
            if isinstance(found, pa.RecordBatch):
                yield _frame(kind, found.num_rows, found.serialize().to_pybytes())
            else:
                yield _frame(kind, found, None)
        state.update((self.identity.text, held.complete, to_bytes(held)))
        wakes = bucket.wakes(held)
        if wakes is not None:
            # Spark calls when the watermark has passed the timer, which cannot lie before it.
            state.setTimeoutTimestamp(max(-(-wakes // 1_000) - 1, mark, 1))


def _in_order(frame: pd.DataFrame) -> Iterator[tuple[int, int, str, int, bytes | None]]:
    columns = (frame[name] for name in ("task", "number", "kind", "rows", "packed"))
    for task, number, kind, rows, packed in zip(*columns, strict=True):
        yield int(task), int(number), str(kind), int(rows), packed


def _frame(kind: str, rows: int, packed: bytes | None) -> pd.DataFrame:
    return pd.DataFrame({"kind": [kind], "rows": [rows], "packed": [packed]})


def run_buckets(
    stream: Stream, bucket: Bucket, key: Key | None, buckets: int, identity: Identity
) -> DataFrame:
    """Return what the buckets of a stream tell: kind, number of rows, and the rows packed."""
    pieces = _clocked(stream, Packing(bucket.sending, buckets, key, _is_marked(stream)))
    found = pieces.groupBy("bucket").applyInPandasWithState(
        Stepping(bucket, identity),
        _FOUND,
        _STATE,
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
    counts = [
        F.coalesce(F.sum(F.when(F.col("kind") == kind, F.col("rows"))), F.lit(0)).alias(kind)
        for kind in KINDS
    ]
    return found.observe(OBSERVED, *counts)


def _is_marked(stream: Stream) -> bool:
    return stream.lateness is not None and stream.lateness.ahead is not None


def _clocked(stream: Stream, packing: Packing) -> DataFrame:
    """Return pieces that carry the watermark of all events, whatever their types."""
    assert stream.lateness is not None
    rows, sending = StreamRows(stream), packing.sending
    time = rows.column(sending.schema.time)
    earliest = F.timestamp_micros(F.lit(_EARLIEST))
    ahead = F.lit(False)
    if stream.lateness.ahead is not None:
        most = F.make_dt_interval(secs=F.lit(stream.lateness.ahead / 1e6))
        ahead = F.coalesce(time > F.current_timestamp() + most, F.lit(False))
    clock = F.when(time.isNull() | ahead, earliest).otherwise(time)
    delay = -(-stream.lateness.late // 1_000)
    clocked = rows.rows.withColumn("clock", clock).withWatermark("clock", f"{delay} milliseconds")
    # Spark moves a filter that does not read the clock below it, which would then stand still
    # while none of the types come. What lies in the year 5 is no event: that is told of too.
    wanted = rows.may_have(sending.types) | rows.no_type | (F.col("clock") <= earliest)
    columns = [rows.column(name) for name in sending.columns.names]
    if packing.marked:
        columns.append(ahead.alias("ahead"))
    pieces = clocked.where(wanted).select(*columns).mapInArrow(packing, PIECES)
    late = F.lit(None).cast("timestamp").alias("late", metadata={_DELAY: delay})
    return pieces.select("*", late)
