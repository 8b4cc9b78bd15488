"""Runs a streaming DataFrame through stateful buckets on Spark.

    events.withWatermark(time, lateness)      the clock: events of all types
      -> type filter that also reads the time; columns pruned
      -> mapInArrow                           pieces: an Arrow message for each bucket of keys
      -> groupBy(bucket).applyInPandasWithState
      -> observe                              counts of each micro-batch, in its progress
      -> mapInArrow                           rows

There are buckets because a call costs milliseconds however few its events, and there may be a
million keys. There are pieces because Spark drops late rows without telling which; it knows no time
of pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from cepkit.errors import StreamError
from cepkit.spark.cells.keys import Key
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.streaming.bucket import Bucket, Found, Held
from cepkit.spark.streaming.pieces import PIECES, Packing, bucket_labels, read_pieces
from cepkit.spark.streaming.state import Identity, from_bytes, to_bytes
from cepkit.stream.stream import Stream

KINDS = ("match", "timed-out", "row", "late", "ahead", "no-time", "no-type", "events", "looked")
"""The kinds of rows that buckets yield, and those of counts alone."""

OBSERVED = "cepkit"
"""The name of the counts of a micro-batch in its progress, under `observedMetrics`."""

FOUND = "kind string, rows long, packed binary"
_STATE = "owner string, complete long, events binary, plans string"
_DELAY = "spark.watermarkDelayMs"
"""Spark's own mark of a column that carries a watermark; columns made by mapInArrow have none."""

_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

_EARLIEST = -62_000_000_000_000_000
"""The time of rows that must not move the clock; in the year 5."""

_FLUSH_BYTES = 2**25
"""The number of bytes of pieces that a worker gathers before it hands them on."""

FoundRow = tuple[str, int, bytes | None]
"""A kind, a number of rows, and the rows packed."""


@dataclass(slots=True)
class Stepping:
    """The function that Spark calls for a bucket, with new pieces or when its timer fires.

    Spark unpickles one for each task.

    Attributes:
        identity: The identity of the query that the state belongs to.
        numbers: The number of each bucket by its label.
        delay: By how much the watermark is behind the latest event, in milliseconds.
        flush_rows: The number of rows of the batches that Spark hands on; 0: all rows of a task.
        gathered: The number of bytes of pieces that are in no batch yet, in this task.
    """

    bucket: Bucket
    identity: Identity
    numbers: Mapping[int, int]
    delay: int
    flush_rows: int = 0
    gathered: int = 0

    def __call__(
        self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """Yield rows that become certain, and counts."""
        yield from self._frames(self._rows(key, frames, state))

    def _rows(
        self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
    ) -> Iterator[FoundRow]:
        # Spark's watermark is 0 until it is known, and never before 1970.
        bucket, mark = self.bucket, state.getCurrentWatermarkMs() or None
        number = self.numbers[int(key[0])]
        bucket.sending.register()
        bucket_state = bucket.nothing()
        if state.exists:
            owner, complete, events, plans = state.get
            self.identity.check(owner)
            bucket_state = from_bytes(bucket, bytes(events), complete, tuple(json.loads(plans)))
        pieces = [] if state.hasTimedOut else [piece for f in frames for piece in _in_order(f)]
        pieces.sort()
        packed_events = (
            packed for *_place, kind, _size, packed in pieces if kind == "events" and packed
        )
        new = read_pieces(packed_events, bucket.sending.fields)
        # The events themselves are only counted; other pieces are passed on as they are.
        yield "events", sum(size for *_place, kind, size, _ in pieces if kind == "events"), None
        for *_place, kind, size, packed in pieces:
            if kind != "events":
                yield kind, size, packed
        until, complete = None if mark is None else mark * 1_000 + 1, None
        if len(new):
            # Spark moves the watermark only after the micro-batch, at least up to here.
            complete = (int(bucket.sending.times(new).max()) // 1_000 - self.delay) * 1_000 + 1
        stepping = bucket.step(bucket_state, new, until, number, complete=complete)
        bucket_state = yield from found_rows(stepping)
        plans = json.dumps(bucket_state.plans)
        state.update((self.identity.text, bucket_state.complete, to_bytes(bucket_state), plans))
        wakes = bucket.wakes(bucket_state, number)
        if wakes is not None:
            # Spark calls when the watermark has passed the timer, which cannot lie before it.
            state.setTimeoutTimestamp(max(-(-wakes // 1_000) - 1, mark or 1))

    def _frames(self, rows: Iterator[FoundRow]) -> Iterator[pd.DataFrame]:
        """Yield rows in few frames, as each costs a third of a millisecond.

        Spark makes batches of a fixed number of rows, whatever their size: if pieces have many
        bytes, empty rows fill a batch up.
        """
        waiting: list[FoundRow] = []
        for row in rows:
            waiting.append(row)
            self.gathered += len(row[2] or b"")
            if self.gathered > _FLUSH_BYTES and self.flush_rows:
                yield _frame(waiting + [("", 0, None)] * (self.flush_rows + 1 - len(waiting)))
                waiting, self.gathered = [], 0
        if waiting:
            yield _frame(waiting)


def found_rows(working: Generator[Found, None, Held]) -> Generator[FoundRow, None, Held]:
    """Yield the results of a bucket as kind, number and packed rows; return its new state."""
    while True:
        try:
            kind, item = next(working)
        except StopIteration as done:
            state: Held = done.value
            return state
        match item:
            case pa.RecordBatch():
                yield kind, item.num_rows, item.serialize().to_pybytes()
            case str():
                yield kind, 1, item.encode()
            case _:
                yield kind, item, None


def _in_order(frame: pd.DataFrame) -> Iterator[tuple[int, int, str, int, bytes | None]]:
    columns = (frame[name] for name in ("task", "number", "kind", "rows", "packed"))
    for task, number, kind, rows, packed in zip(*columns, strict=True):
        yield int(task), int(number), str(kind), int(rows), packed


def _frame(rows: list[FoundRow]) -> pd.DataFrame:
    kinds, sizes, pieces = zip(*rows, strict=True)
    return pd.DataFrame({"kind": kinds, "rows": sizes, "packed": pieces})


@dataclass(frozen=True, slots=True)
class Live:
    """A streaming query, ready to run.

    Attributes:
        identity: The identity of the query that the state belongs to.
        key: The key that is hashed; None: there is one bucket, or slices of time.
        buckets: The number of buckets.
        rows: Makes rows of the packed rows that the buckets yield.
    """

    bucket: Bucket
    identity: Identity
    key: Key | None
    buckets: int
    rows: Callable[[DataFrame], DataFrame]

    @property
    def numbers(self) -> dict[int, int]:
        """The number of each bucket by its label."""
        return {label: number for number, label in enumerate(bucket_labels(self.buckets))}


def run_buckets(stream: Stream, live: Live) -> DataFrame:
    """Return the rows that the buckets of a stream emit."""
    bucket = live.bucket
    labels = tuple(live.numbers)
    packing = Packing(bucket.sending, labels, live.key, _is_marked(stream), bucket.slices)
    pieces = _clocked(stream, packing)
    batch_rows = int(pieces.sparkSession.conf.get(_BATCH_ROWS) or 0)
    packed_rows = pieces.groupBy("bucket").applyInPandasWithState(
        Stepping(bucket, live.identity, live.numbers, _delay(stream), max(batch_rows, 0)),
        FOUND,
        _STATE,
        "append",
        GroupStateTimeout.EventTimeTimeout,
    )
    counts = [F.coalesce(F.sum(_only(kind)), F.lit(0)).alias(kind) for kind in KINDS]
    texts = {
        kind: F.when(F.col("kind") == kind, F.col("packed").cast("string"))
        for kind in ("plan", "work")
    }
    more = (
        F.collect_set(texts["plan"]).alias("plans"),
        F.collect_list(texts["work"]).alias("work"),
        F.min(_only("late-first")).alias("late_first"),
        F.max(_only("late-last")).alias("late_last"),
        (F.ceil(F.max(_only("late-by")) / 1_000) + _delay(stream)).alias("lateness"),
    )
    return live.rows(packed_rows.observe(OBSERVED, *counts, *more))


def _only(kind: str) -> Column:
    """Return the numbers of one kind."""
    return F.when(F.col("kind") == kind, F.col("rows"))


def _has_watermark(stream: Stream, delay: int) -> bool:
    """Return whether a streaming DataFrame has a watermark already, as after dropping duplicates.

    Raises:
        StreamError: The watermark differs from the stream's lateness; Spark allows only one.
    """
    frame: DataFrame = stream.source
    known = frame.schema[stream.column_names.index(stream.schema.time)].metadata.get(_DELAY)
    if known is None:
        return False
    if known != delay or _is_marked(stream):
        raise StreamError(
            f"a streaming DataFrame that has a watermark of {known:,} ms, and {stream.lateness}",
            expected="the same lateness in both, and no max_ahead: Spark allows one watermark",
            hint="leave out withWatermark; where duplicates are dropped, give it this lateness",
        )
    return True


def _delay(stream: Stream) -> int:
    """Return by how much the watermark is behind the latest event, in milliseconds."""
    assert stream.lateness is not None
    return -(-stream.lateness.late // 1_000)


def _is_marked(stream: Stream) -> bool:
    return stream.lateness is not None and stream.lateness.ahead is not None


def _clocked(stream: Stream, packing: Packing) -> DataFrame:
    """Return pieces that carry the watermark of the events of all types."""
    assert stream.lateness is not None
    rows, sending = StreamRows(stream), packing.sending
    time = rows.column(sending.schema.time)
    earliest = F.timestamp_micros(F.lit(_EARLIEST))
    ahead = F.lit(False)
    if stream.lateness.ahead is not None:
        most = F.make_dt_interval(secs=F.lit(stream.lateness.ahead / 1e6))
        ahead = F.coalesce(time > F.current_timestamp() + most, F.lit(False))
    delay = _delay(stream)
    clocked, clock = rows.rows, time
    if not _has_watermark(stream, delay):
        clocked = clocked.withColumn(
            "clock", F.when(time.isNull() | ahead, earliest).otherwise(time)
        )
        clocked = clocked.withWatermark("clock", f"{delay} milliseconds")
        clock = F.col("clock")
    # Spark moves a filter that does not read the clock below it, which would then stand still
    # while none of the types come. Rows of the year 5 are no events, but they are reported too.
    wanted = rows.may_have(sending.types) | rows.no_type | time.isNull() | (clock <= earliest)
    columns = [rows.column(name) for name in sending.columns.names]
    if packing.marked:
        columns.append(ahead.alias("ahead"))
    pieces = clocked.where(wanted).select(*columns).mapInArrow(packing, PIECES)
    late = F.lit(None).cast("timestamp_ltz").alias("late", metadata={_DELAY: delay})
    return pieces.select("*", late)
