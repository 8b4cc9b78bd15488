"""Packs rows so that the driver can take some of them with their Arrow types.

`limit(n).toArrow()` makes every task find n rows; `take(n)` starts few tasks, but converts values
to Python objects. A packet is a single value that `take` passes on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

SIZE = 100
"""The rows of a packet."""
COLUMNS = "rows binary"


def packets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the packets of some rows, lazily."""
    for batch in batches:
        for begin in range(0, len(batch), SIZE):
            part = batch.slice(begin, SIZE)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_batch(part)
            yield pa.RecordBatch.from_arrays(
                [pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["rows"]
            )


def unpacked(found: Sequence[bytes | bytearray]) -> pa.Table:
    """Return the rows of one or more packets."""
    tables = [pa.ipc.open_stream(bytes(packet)).read_all() for packet in found]
    return pa.concat_tables(tables)
