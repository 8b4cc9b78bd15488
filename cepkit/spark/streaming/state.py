"""The state of a bucket as bytes: its events as one Arrow message without its schema."""

from __future__ import annotations

import pyarrow as pa

from cepkit.errors import LimitError
from cepkit.spark.streaming.bucket import Bucket, Held, batch_of

MOST_BYTES = 2**30
"""The most bytes of the events of a bucket: Spark keeps no value of more than twice as much."""


def to_bytes(held: Held, most: int = MOST_BYTES) -> bytes:
    """Return the events that a bucket holds as bytes; no bytes if it holds none.

    Raises:
        LimitError: They are too many.
    """
    if not len(held.events):
        return b""
    if held.events.nbytes > most:
        raise LimitError(
            f"a bucket would hold {len(held.events):,} events of the last window,"
            f" {held.events.nbytes:,} bytes",
            expected=f"at most {most:,} bytes",
            hint="SparkOptions(buckets=...), a shorter window, or fewer columns (events(...,"
            " columns=[...])); with a new checkpoint and a new folder",
        )
    message: bytes = batch_of(held.events).serialize().to_pybytes()
    return message


def from_bytes(
    bucket: Bucket, events: bytes, complete: int | None, plans: tuple[str, ...] = ()
) -> Held:
    """Return the state of a bucket."""
    if not events:
        return Held(bucket.fields.empty_table(), complete, plans)
    batch = pa.ipc.read_record_batch(pa.py_buffer(events), bucket.fields)
    return Held(pa.Table.from_batches([batch]), complete, plans)
