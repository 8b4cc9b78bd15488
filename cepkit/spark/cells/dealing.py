"""Assigns events to cells by clock and key, packed for Spark's shuffle.

Rows go from the JVM to Python once. There they are cut into cells and packed as Arrow messages; the
shuffle then moves a few large binary values instead of many small rows, which is two to three times
as fast. Cells are cut by the engine's int64 times, so nothing depends on how the JVM reads a time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import groupby, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepkit.spark.cells.keys import Key, key_hashes
from cepkit.spark.cells.layout import Layout
from cepkit.spark.cells.sending import Integers, Sending, numbers_of, table_of
from cepkit.stream.columns import Column, Dropped
from cepkit.stream.reading.ingest import attribute

Batches: TypeAlias = Iterator[pa.RecordBatch]
Tables: TypeAlias = Iterator[tuple[int, pa.Table] | Dropped]
"""Cells with their rows, and counts of rows that are no events."""

_PACKED = "cell long, packed binary"
_FIELDS = pa.schema([("cell", pa.int64()), ("packed", pa.binary())])

_FLUSH_ROWS = 500_000
_FLUSH_BYTES = 32 * 2**20
_PIECE_ROWS = 1 << 14
"""Rows of a piece (about a megabyte): the JVM copies larger arrays less efficiently."""


def dealt_out(rows: DataFrame, sending: Sending, layout: Layout, tasks: int) -> DataFrame:
    """Return rows as packed pieces; all pieces of a cell are adjacent in one partition."""

    def run(batches: Batches) -> Batches:
        return split(sending, layout, batches)

    packed = rows.mapInArrow(run, _PACKED)
    number = F.pmod(F.col("cell"), F.lit(tasks)).cast("int")
    dealt: Any
    if hasattr(DataFrame, "repartitionById"):  # since Spark 4.1; hashes may collide
        dealt = packed.repartitionById(tasks, number)
    else:
        dealt = packed.repartition(tasks, "cell")
    result: DataFrame = dealt.sortWithinPartitions("cell")
    return result


def split(sending: Sending, layout: Layout, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Yield the events of `batches` as packed pieces of cells.

    A last piece without a cell has the number of rows that were no events.
    """
    dropped = Dropped()
    for table in tables_of(sending.fields, batches):
        dropped += yield from _pack(sending, layout, table)
    if dropped:
        counts = np.array([dropped.null_time, dropped.null_type], dtype=np.int64).tobytes()
        yield pa.RecordBatch.from_arrays(
            [pa.array([None], pa.int64()), pa.array([counts], pa.binary())], schema=_FIELDS
        )


def tables_of(fields: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of a task as tables of many rows, with the names and types of `fields`."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _FLUSH_ROWS or size >= _FLUSH_BYTES:
            yield table_of(fields, held)
            held, rows, size = [], 0, 0
    if held:
        yield table_of(fields, held)


def _pack(
    sending: Sending, layout: Layout, table: pa.Table
) -> Generator[pa.RecordBatch, None, Dropped]:
    sending.check_numbers(table)
    ts = sending.times(table)
    mask, dropped = sending.wanted_rows(table, ts)
    if mask is not None:
        table, ts = table.filter(pa.array(mask)), ts[mask]
    bucket: Integers | None = None
    clock, key = layout.cut.clock, layout.cut.key
    if layout.buckets > 1 and key is not None:
        table, ts, hashes = _hashed(sending, key, table, ts)
        bucket = (hashes % np.uint64(layout.buckets)).astype(np.int64)
    readings = ts if clock == "time" else numbers_of(table, clock)
    for slices, rows in _slices(layout, readings):
        part = table if rows is None else table.take(pa.array(rows))
        numbers = slices if layout.buckets == 1 else slices * layout.buckets
        if bucket is not None:
            numbers = numbers + (bucket if rows is None else bucket[rows])
        if not (numbers[1:] >= numbers[:-1]).all():
            order = np.argsort(_small(numbers), kind="stable")
            part, numbers = part.take(pa.array(order)), numbers[order]
        yield _packed(part, numbers)
    return dropped


def _packed(table: pa.Table, cells: Integers) -> pa.RecordBatch:
    """Return the rows in pieces, one for each cell; rows of a cell are adjacent."""
    numbers: list[int] = []
    offsets = [0]
    sink = pa.BufferOutputStream()
    ends = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(cells)]
    ends = sorted({*ends, *range(0, len(cells), _PIECE_ROWS)})
    batches = table.combine_chunks().to_batches()
    for begin, end in pairwise(ends) if batches else ():
        sink.write(batches[0].slice(begin, end - begin).serialize())
        numbers.append(int(cells[begin]))
        offsets.append(sink.tell())
    places = pa.py_buffer(np.array(offsets, dtype=np.int32))
    packed = pa.Array.from_buffers(pa.binary(), len(numbers), [None, places, sink.getvalue()])
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64()), packed], schema=_FIELDS)


def _slices(layout: Layout, readings: Integers) -> Iterator[tuple[Integers, Integers | None]]:
    """Yield slice numbers and their rows: the first slice of each, then the further ones."""
    if layout.slice is None:
        yield np.zeros(len(readings), dtype=np.int64), None
        return
    since = readings - layout.origin
    first = (since - layout.ahead) // layout.slice
    copies = (since + layout.halo) // layout.slice - first
    for further in range(int(copies.max(initial=0)) + 1):
        holds_copy = copies >= further
        if layout.sample is not None:
            holds_copy &= np.isin(first + further, layout.sample)
        rows = None if holds_copy.all() else np.flatnonzero(holds_copy)
        yield (first if rows is None else first[rows]) + further, rows


def _hashed(
    sending: Sending, key: Key, table: pa.Table, ts: Integers
) -> tuple[pa.Table, Integers, npt.NDArray[np.uint64]]:
    """Return the rows that can be in a match, their times, and hashes of their keys."""
    schema = sending.schema
    known = {schema.time: Column("timestamp", ts)}
    columns = [
        known.get(name) or attribute(table.column(name), name, schema) for name in key.columns
    ]
    if not key.missing_agree and any(column.has_missing for column in columns):
        present = ~np.logical_or.reduce([column.missing() for column in columns])
        rows = np.flatnonzero(present)
        table, ts = table.filter(pa.array(present)), ts[present]
        columns = [column.take(rows) for column in columns]
    return table, ts, key_hashes(columns)


def _small(numbers: Integers) -> npt.NDArray[np.signedinteger[Any]]:
    """Return order-preserving numbers in as few bits as possible: NumPy radix-sorts two bytes."""
    low, high = int(numbers.min()), int(numbers.max())
    return numbers if high - low > 32_000 else (numbers - low).astype(np.int16)


def unpacked(sending: Sending, batches: Iterable[pa.RecordBatch]) -> Tables:
    """Yield the cells of a task, whose pieces are adjacent, and the dropped rows."""

    def pieces() -> Iterator[tuple[int | None, pa.Buffer]]:
        for batch in batches:
            cells = batch.column(0).to_pylist()
            yield from zip(cells, (piece.as_buffer() for piece in batch.column(1)), strict=True)

    for cell, group in groupby(pieces(), key=lambda piece: piece[0]):
        if cell is None:
            for _, counts in group:
                yield Dropped(*np.frombuffer(counts, dtype=np.int64).tolist())
        else:
            fields = sending.fields
            read = [pa.ipc.read_record_batch(piece, fields) for _, piece in group]
            yield cell, pa.Table.from_batches(read, fields)
