"""Parquet row groups that tasks read directly for a slice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cepkit.spark.cells.dealing import Tables
from cepkit.spark.cells.layout import Layout
from cepkit.spark.cells.sending import Sending, table_of
from cepkit.stream.columns import Dropped
from cepkit.stream.reading.arrow import is_text
from cepkit.stream.reading.row_groups import RowGroup

_BATCH = 1 << 17


@dataclass(frozen=True, slots=True)
class Read:
    """The row groups that one task reads.

    Attributes:
        cell: Its slice.
        groups: The row groups, each with a flag whether this task counts its rows that are no
            events.
    """

    cell: int
    groups: tuple[tuple[RowGroup, bool], ...]


def read_cells(
    sending: Sending, layout: Layout, reads: Sequence[Read], batches: Iterable[pa.RecordBatch]
) -> Tables:
    """Yield the slices of a task, given their numbers in `reads`, and the dropped rows."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            if number >= len(reads):  # no rows at all, but still one task
                continue
            read = reads[number]
            parts: list[pa.Table] = []
            for group, counts in read.groups:
                dropped = Dropped()
                with pq.ParquetFile(group.path) as file:
                    for part in file.iter_batches(
                        _BATCH, [group.number], sending.columns.names, use_threads=False
                    ):
                        table, more = _needed(sending, layout, part, read.cell)
                        dropped += more
                        if table.num_rows:
                            parts.append(table)
                if counts and dropped:
                    yield dropped
            if parts:
                yield read.cell, pa.concat_tables(parts)


def _needed(
    sending: Sending, layout: Layout, batch: pa.RecordBatch, cell: int
) -> tuple[pa.Table, Dropped]:
    """Return the rows that a slice needs, and the number of rows that are no events."""
    table = table_of(sending.fields, [batch.select(sending.columns.names)])
    ts = sending.times(table)
    is_event, dropped = sending.wanted_rows(table, ts)
    owned = layout.owned(cell)
    if owned.since is not None and owned.until is not None:
        inside = (ts >= owned.since - layout.halo) & (ts < owned.until + layout.ahead)
        if not inside.all():
            is_event = inside if is_event is None else is_event & inside
    kind = table.schema.field(sending.schema.typed_by).type
    if sending.types is not None and sending.schema.type is not None and is_text(kind):
        names = pa.array(sorted(sending.types), kind)
        has_type = pc.is_in(table.column(sending.schema.type), value_set=names)
        mask = has_type if is_event is None else pc.and_(has_type, pa.array(is_event))
        return table.filter(mask), dropped
    return (table if is_event is None else _filtered(table, is_event)), dropped


def _filtered(table: pa.Table, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Table:
    rows = np.flatnonzero(mask)
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):  # contiguous, as in sorted files
        return table.slice(int(rows[0]), len(rows))
    return table.filter(pa.array(mask))
