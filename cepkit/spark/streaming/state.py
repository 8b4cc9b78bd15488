"""The state of a bucket as bytes: its events as one Arrow message without its schema."""

from __future__ import annotations

import pyarrow as pa

from cepkit.spark.streaming.bucket import Bucket, Held, batch_of


def to_bytes(held: Held) -> bytes:
    """Return the events that a bucket holds; nothing where it holds none."""
    if not len(held.events):
        return b""
    message: bytes = batch_of(held.events).serialize().to_pybytes()
    return message


def from_bytes(bucket: Bucket, events: bytes, complete: int | None) -> Held:
    """Return what a bucket holds."""
    if not events:
        return Held(bucket.fields.empty_table(), complete)
    batch = pa.ipc.read_record_batch(pa.py_buffer(events), bucket.fields)
    return Held(pa.Table.from_batches([batch]), complete)
