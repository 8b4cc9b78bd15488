"""Rows of a micro-batch as pieces: one Arrow message for each bucket of keys, many rows in one.

Pieces are numbered, so that a bucket reads its events in the same order each time that a
micro-batch is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from cepkit.spark.cells.dealing import Batches, tables_of
from cepkit.spark.cells.keys import Key, key_hashes
from cepkit.spark.cells.sending import Sending
from cepkit.spark.streaming.bucket import batch_of
from cepkit.spark.streaming.slices import Slices
from cepkit.stream.reading.ingest import attribute

PIECES = "bucket int, task int, number long, kind string, rows long, packed binary"
_FIELDS = pa.schema(
    [
        ("bucket", pa.int32()),
        ("task", pa.int32()),
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("rows", pa.int64()),
        ("packed", pa.binary()),
    ]
)
AHEAD = "\0ahead"
"""The column that says which rows lie too far ahead of the wall clock."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How rows are packed.

    Attributes:
        sending: The columns that they have.
        labels: The labels of the buckets: see `bucket_labels`.
        key: The key that is hashed; None: there is one bucket, or slices.
        marked: Whether the last column says which rows lie too far ahead.
        slices: The slices of time that are assigned to buckets; None: there are none.
    """

    sending: Sending
    labels: Sequence[int]
    key: Key | None
    marked: bool
    slices: Slices | None = None

    def __call__(self, batches: Batches) -> Batches:
        """Yield pieces."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        # An empty piece goes to the first bucket, so that this bucket checks in each micro-batch
        # whether the checkpoint is of this query.
        yield _piece(self.labels[0], task, 0, ("events", 0, None))
        number, fields = count(1), self.sending.fields
        if self.marked:
            fields = fields.append(pa.field(AHEAD, pa.bool_()))
        for table in tables_of(fields, batches):
            for bucket, *rest in self._packed(table):
                yield _piece(self.labels[bucket], task, next(number), rest)

    def _packed(self, table: pa.Table) -> Iterator[tuple[int, str, int, bytes | None]]:
        """Yield bucket, kind, number of rows, and the rows; first the rows that are no events."""
        sending = self.sending
        if self.marked:
            ahead = pc.fill_null(table.column(AHEAD), False)
            table = table.drop_columns([AHEAD])
            if pc.any(ahead).as_py():
                part = table.filter(ahead)
                yield 0, "ahead", len(part), batch_of(part).serialize().to_pybytes()
                table = table.filter(pc.invert(ahead))
        wanted, dropped = sending.wanted_rows(table, sending.times(table))
        if dropped.null_time:
            yield 0, "no-time", dropped.null_time, None
        if dropped.null_type:
            yield 0, "no-type", dropped.null_type, None
        if wanted is not None:
            table = table.filter(pa.array(wanted))
        yield from self._events(table)

    def _events(self, table: pa.Table) -> Iterator[tuple[int, str, int, bytes | None]]:
        """Yield the events of each bucket as one piece."""
        numbers = np.zeros(len(table), dtype=np.int64)
        own = np.ones(len(table), dtype=np.bool_)
        if self.slices is not None:
            ts = self.sending.times(table)
            rows, numbers = self.slices.copies(ts)
            own = self.slices.owners(ts)[rows] == numbers
            table = table.take(pa.array(rows))
        elif self.key is not None and len(self.labels) > 1 and len(table):
            columns = [attribute(table.column(n), n, self.sending.schema) for n in self.key.columns]
            numbers = (key_hashes(columns) % np.uint64(len(self.labels))).astype(np.int64)
        if numbers.any():
            order = np.argsort(numbers.astype(np.int16), kind="stable")
            table, numbers, own = table.take(pa.array(order)), numbers[order], own[order]
        ends = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(table)]
        whole = batch_of(table)
        for begin, end in pairwise(ends):
            if end > begin:
                piece = whole.slice(begin, end - begin).serialize().to_pybytes()
                # A copy does not count as another event.
                yield int(numbers[begin]), "events", int(own[begin:end].sum()), piece


@cache
def bucket_labels(buckets: int) -> tuple[int, ...]:
    """Return labels of buckets that Spark distributes evenly over its tasks.

    Spark hashes them: of four buckets with the labels 0 to 3, one of two tasks would get three. The
    hash of the n-th label here is n, modulo any usual number of tasks.
    """
    labels = np.arange(32 * _TASKS, dtype=np.uint32)
    rest = _murmur3(labels).astype(np.int64) % _TASKS
    first = np.full(_TASKS, -1)
    first[rest[::-1]] = labels[::-1]
    assert first.min() >= 0
    return tuple(first[:buckets].tolist())


_TASKS = 2**5 * 3**2 * 5**2 * 7
"""A multiple of most numbers of tasks; more than there may be buckets."""


def _murmur3(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
    """Return Spark's hash of integers."""

    def turned(bits: npt.NDArray[np.uint32], by: int) -> npt.NDArray[np.uint32]:
        return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))

    mixed = turned(values * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = turned(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (mixed ^ (mixed >> np.uint32(16))).view(np.int32)


def _piece(bucket: int, task: int, number: int, rest: Iterable[object]) -> pa.RecordBatch:
    values = (bucket, task, number, *rest)
    arrays = [pa.array([v], f.type) for v, f in zip(values, _FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_FIELDS)


def read_pieces(pieces: Iterable[bytes], fields: pa.Schema) -> pa.Table:
    """Return the rows of pieces, one after the other."""
    batches = [pa.ipc.read_record_batch(pa.py_buffer(piece), fields) for piece in pieces]
    return pa.Table.from_batches(batches, fields)


def unpacking(
    readers: Callable[[str], Callable[[pa.Buffer], pa.RecordBatch] | None],
) -> Callable[[Batches], Batches]:
    """Return the function that unpacks pieces into rows; kinds without a reader are left out."""

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            pieces = batch.column("packed")
            for kind, piece in zip(batch.column("kind").to_pylist(), pieces, strict=True):
                reader = readers(kind)
                if reader is not None and piece.is_valid:
                    yield reader(piece.as_buffer())

    return unpack
