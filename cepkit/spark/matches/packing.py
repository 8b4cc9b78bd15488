"""Packs rows, so that the driver can take some of them and they keep their Arrow types.

`limit(n).toArrow()` has every task find n rows; `take(n)` starts few tasks, but makes Python
objects of the values. A packet is a value of its own that `take` hands over as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

SIZE = 100
"""Rows of a packet."""
COLUMNS = "rows binary"


def packets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the packets of some rows, each when it is asked for."""
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
    """Return the rows of some packets; there is one at least."""
    tables = [pa.ipc.open_stream(bytes(packet)).read_all() for packet in found]
    return pa.concat_tables(tables)
