"""Delivery of events to workers: shuffled by Spark, or read from Parquet by the tasks.

- rows: a first round of workers cuts the rows into cells (time slices with a halo of one window,
  or buckets of keys) and packs them, Spark's shuffle brings the pieces of a cell together, and a
  second round does the work. It works for every DataFrame;
- files: if the DataFrame is just Parquet files that this Python can open, each task reads the row
  groups of its time slice itself. Nothing is shuffled.

Windows in events and contiguity count over the whole stream, which no worker sees: rows are
numbered first (`numbering.py`) and take the first route.

The second route is taken only if the DataFrame is certainly just the files' rows (`scanned.py`).
Footer statistics tell which row groups a time slice needs; a row group at the edge of slices is
read by each of them. If the files are so unsorted by time that every slice would read most of them,
or have no statistics (as Spark's INT96 timestamps), the route does not pay off and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from cepkit.errors import UnsupportedError
from cepkit.spark.cells.dealing import Batches, Tables, dealt_out, unpacked
from cepkit.spark.cells.layout import Cut, Extent, Layout, choose_layout
from cepkit.spark.cells.row_groups import Read, read_cells
from cepkit.spark.passes.extent import (
    extent_of_statistics,
    measured_extent,
    row_bytes,
    share_of_heaviest,
)
from cepkit.spark.passes.numbering import numbered
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.passes.scan import Scan
from cepkit.spark.passes.scanned import is_read_alike, scanned_files
from cepkit.stream.columns import Dropped
from cepkit.stream.reading.row_groups import RowGroup, groups_of, sorts_like_times
from cepkit.stream.schema import Schema

MOST_READS = 4.0
"""The most reads of the files by tasks in total: still far cheaper than the other route."""


def choose_row_groups(
    scan: Scan, layout_for: Callable[[Extent], Layout]
) -> tuple[Layout, tuple[Read, ...], str] | None:
    """Return slices, the reads of each task, and a sentence; None if this route is not taken.

    Args:
        layout_for: Chooses slices for a stream of that extent.
    """
    stream = scan.stream
    paths = scanned_files(stream.source)
    if paths is None:
        return None
    groups = row_groups(paths, stream.column_names, stream.schema, scan.sending.columns)
    if groups is None:
        return None
    groups = [group for group in groups if group.may_have(scan.sending.types)]
    timed = [group for group in groups if group.first is not None and group.last is not None]
    rows = sum(group.rows for group in timed)
    first = min((group.first or 0 for group in timed), default=0)
    last = max((group.last or 0 for group in timed), default=0)
    layout = layout_for(Extent(rows, first, last, rows))
    planned = _reads(groups, layout)
    if planned is None:
        return None
    reads, amplification = planned
    tasks = f"{len(reads):,} task{'' if len(reads) == 1 else 's'}"
    text = (
        f"Parquet files read by the tasks, {layout}, {tasks},"
        f" each row group read {amplification:.2g} times"
    )
    return layout, reads, text


def row_groups(
    paths: Iterable[Path], names: Sequence[str], schema: Schema, columns: pa.Schema
) -> list[RowGroup] | None:
    """Return the row groups of files with their times; None if a footer lacks them."""
    kind = columns.field(schema.time).type
    if not sorts_like_times(kind, schema):
        return None
    groups = []
    for path in paths:
        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError):
            return None
        with file:
            if not is_read_alike(file.metadata, file.schema_arrow, names, columns):
                return None
            of_file = groups_of(path, file.metadata, schema, kind)
        if of_file is None:
            return None
        groups += of_file
    return groups


def _reads(groups: Sequence[RowGroup], layout: Layout) -> tuple[tuple[Read, ...], float] | None:
    """Return the reads of each slice and how often a row is read; None if that is too often."""
    total = sum(group.rows for group in groups)
    if layout.slice is None:
        everything = tuple((group, True) for group in groups)
        return (Read(0, everything),), 1.0
    spans = []
    for group in groups:
        first = last = 0
        if group.first is not None and group.last is not None:
            first = (group.first - layout.origin - layout.ahead) // layout.slice
            last = (group.last - layout.origin + layout.halo) // layout.slice
        spans.append((first, last))
    work = sum(
        (last - first + 1) * group.rows for group, (first, last) in zip(groups, spans, strict=True)
    )
    if work > MOST_READS * total and len(groups) > 0:
        return None
    # The slice after the last event may exist only because of a window: no match ends in it.
    most = max((group.last for group in groups if group.last is not None), default=0)
    end = (most - layout.origin) // layout.slice
    cells: dict[int, list[tuple[RowGroup, bool]]] = {}
    for group, (first, last) in zip(groups, spans, strict=True):
        for cell in range(first, max(first, min(last, end)) + 1):
            cells.setdefault(cell, []).append((group, cell == first))
    reads = tuple(Read(cell, tuple(parts)) for cell, parts in sorted(cells.items()))
    return reads, work / max(total, 1)


Route: TypeAlias = Literal["rows", "files"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """The input of a pass's tasks, and how they turn it into cells.

    Attributes:
        source: A DataFrame with one partition for each task.
        tables: Turns the input of a task into cells and counts of dropped rows.
        layout: How the events are dealt out to cells.
        tasks: How many tasks there are.
        route: The route in words.
        dropped: The rows that are no events, if already known.
        left_out: The rows among them that no task gets.
    """

    source: DataFrame
    tables: Callable[[Batches], Tables]
    layout: Layout
    tasks: int
    route: str
    dropped: Dropped | None
    left_out: Dropped


def deliver(scan: Scan, route: Route | None) -> Delivery:
    """Choose how the events reach the workers.

    Args:
        route: The route; None: files if possible.

    Raises:
        UnsupportedError: The tasks cannot read the files.
    """
    numbers = scan.sending.numbers
    delivery = None if route == "rows" or numbers else _files(scan)
    if delivery is None and route == "files":
        raise UnsupportedError(
            "the DataFrame is not one whose files the tasks can read"
            if not numbers
            else "tasks that read files do not know the arrival numbers of the whole stream"
        )
    return _rows(scan) if delivery is None else delivery


def _rows(scan: Scan) -> Delivery:
    """Return the route of rows; measure the stream if its size is unknown."""
    sending, cut = scan.sending, scan.cut
    numbers = numbered(scan) if sending.numbers else None
    dropped = None if numbers is None else numbers.dropped
    if numbers is not None and (cut.clock != "time" or cut.window is None):
        extent: Extent | None = numbers.extent
    else:
        extent = extent_of_statistics(scan.statistics, scan.queries[0], cut.key)
        if extent is None and cut.length is None:
            extent, dropped = measured_extent(scan.stream, sending.types, cut.key)
    if extent is not None:
        share = share_of_heaviest(scan.statistics, cut.key, extent)
        extent = replace(extent, seconds=scan.seconds, share=share)
    layout = layout_of(scan, extent, cut)
    tasks = layout.tasks(StreamRows(scan.stream).cores)
    rows = _rows_of(scan) if numbers is None else numbers.rows
    return Delivery(
        dealt_out(rows, sending, layout, tasks),
        lambda batches: unpacked(sending, batches),
        layout,
        tasks,
        f"rows through Spark, {layout}, {tasks:,} task{'' if tasks == 1 else 's'}",
        dropped,
        Dropped() if numbers is None else numbers.dropped,
    )


def _files(scan: Scan) -> Delivery | None:
    """Return the route of files; None if it is impossible or would not pay off."""

    def layout_for(extent: Extent) -> Layout:
        known = extent_of_statistics(scan.statistics, scan.queries[0], None)
        return layout_of(scan, known or extent, replace(scan.cut, key=None))

    choice = choose_row_groups(scan, layout_for)
    if choice is None:
        return None
    layout, reads, text = choice
    sending, tasks = scan.sending, max(1, len(reads))
    return Delivery(
        scan.stream.source.sparkSession.range(0, tasks, 1, tasks),
        lambda batches: read_cells(sending, layout, reads, batches),
        layout,
        tasks,
        text,
        None,
        Dropped(),
    )


def layout_of(scan: Scan, extent: Extent | None, cut: Cut) -> Layout:
    """Return the layout of a stream of some extent."""
    size = row_bytes(scan.sending.columns) + 8 * len(scan.sending.numbers)
    return choose_layout(extent, cut, cores=StreamRows(scan.stream).cores, row_bytes=size)


def _rows_of(scan: Scan) -> DataFrame:
    """Return the rows that may be events of the queries, or no events, with pruned columns."""
    source = StreamRows(scan.stream)
    # Include rows without a time or a type, to count them.
    rows = source.rows.where(source.may_have(scan.sending.types) | source.no_type | source.no_time)
    return rows.select(*map(source.place, scan.sending.columns.names))
