"""Parquet files read by the tasks themselves, bypassing the JVM.

This route is taken only if the DataFrame is certainly just the files' rows (`scanned.py`). Footer
statistics tell which row groups a time slice needs; a row group at the edge of slices is read by
each of them. If the files are so unsorted by time that every slice would read most of them, or have
no statistics (as Spark's INT96 timestamps), the route does not pay off and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cepkit.spark.cells.layout import Extent, Layout
from cepkit.spark.cells.row_groups import Read
from cepkit.spark.passes.scan import Scan
from cepkit.spark.passes.scanned import is_read_alike, scanned_files
from cepkit.stream.reading.row_groups import RowGroup, groups_of, sorts_like_times
from cepkit.stream.schema import Schema

MOST_READS = 4.0
"""The most reads of the files by tasks in total: still far cheaper than the other route."""


def choose(
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
            if not is_read_alike(file, names, columns):
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
