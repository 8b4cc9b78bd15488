"""Parquet files read by the tasks themselves, bypassing the JVM.

This route is taken only if the DataFrame is certainly just the files' rows: a scan of local Parquet
files without filters, partition columns or a custom schema. Footer statistics tell which row groups
a time slice needs; a row group at the edge of slices is read by each of them. If the files are so
unsorted by time that every slice would read most of them, or have no statistics (as Spark's INT96
timestamps), the route does not pay off and is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from cepkit.errors import StreamError
from cepkit.spark.cells.layout import Extent, Layout
from cepkit.spark.cells.row_groups import Read, RowGroup
from cepkit.spark.passes.scan import Scan
from cepkit.spark.session.access import access_to
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.arrow import is_text
from cepkit.stream.reading.time_zones import is_utc
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema

MOST_FILES = 5000
MOST_READS = 4.0
"""The most reads of the files by tasks in total: still far cheaper than the other route."""


def choose(
    scan: Scan, layout_for: Callable[[Extent], Layout]
) -> tuple[Layout, tuple[Read, ...], str] | None:
    """Return slices, the reads of each task, and a sentence; None if this route is not taken.

    Args:
        scan: What is read of the stream.
        layout_for: Chooses slices for a stream of that extent.
    """
    stream = scan.stream
    paths = scanned_files(stream.source)
    if paths is None:
        return None
    groups = row_groups(paths, stream.column_names, stream.schema, scan.sending.columns)
    if groups is None:
        return None
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


def scanned_files(frame: DataFrame) -> list[Path] | None:
    """Return the local Parquet files of a frame; None if in doubt."""
    if frame.storageLevel.useMemory or frame.storageLevel.useDisk:
        return None  # cached: the files may have changed since
    node = access_to(frame).relation(frame)
    while node is not None:
        kind = node.getClass().getSimpleName()
        if kind in ("SubqueryAlias", "View"):
            node = node.child()
        elif kind == "Project":
            columns = node.projectList()
            parts = [columns.apply(i).getClass().getSimpleName() for i in range(columns.size())]
            if any(part != "AttributeReference" for part in parts):
                return None
            node = node.child()
        else:
            break
    if node is None or kind != "LogicalRelation":
        return None
    relation = node.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    if relation.fileFormat().getClass().getSimpleName() != "ParquetFileFormat":
        return None
    if not relation.partitionSchema().isEmpty() or relation.bucketSpec().isDefined():
        return None
    paths = []
    for uri in frame.inputFiles():
        address = urlsplit(uri)
        path = Path(unquote(address.path))
        if address.scheme != "file" or address.netloc or not path.is_file():
            return None
        paths.append(path)
    return paths if 0 < len(paths) <= MOST_FILES else None


def rows_in_files(frame: DataFrame) -> int | None:
    """Return the number of rows of a DataFrame from the footers of its files, if known."""
    try:
        return sum(pq.read_metadata(path).num_rows for path in scanned_files(frame) or ()) or None
    except (pa.ArrowException, OSError):
        return None


def row_groups(
    paths: Iterable[Path], names: Sequence[str], schema: Schema, columns: pa.Schema
) -> list[RowGroup] | None:
    """Return the row groups of files with their times; None if a footer lacks them."""
    kind = columns.field(schema.time).type
    naive = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    if is_text(kind) or (naive and not is_utc(schema.timezone)):
        return None  # values do not sort like times
    groups = []
    for path in paths:
        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError):
            return None
        with file:
            if not _same_columns(file.schema_arrow, names, columns):
                return None
            if any(
                key.startswith(b"org.apache.spark.legacy") for key in file.metadata.metadata or ()
            ):
                return None  # ancient times in another calendar
            of_file = _of_file(str(path), file.metadata, schema, kind)
        if of_file is None:
            return None
        groups += of_file
    return groups


def _of_file(
    path: str, footer: pq.FileMetaData, schema: Schema, kind: pa.DataType
) -> list[RowGroup] | None:
    groups = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if not group.num_rows:
            continue
        chunks = (group.column(i) for i in range(group.num_columns))
        chunk = next((c for c in chunks if c.path_in_schema == schema.time), None)
        statistics = None if chunk is None else chunk.statistics
        if statistics is None:
            return None
        if not statistics.has_min_max:
            if not statistics.has_null_count or statistics.null_count < group.num_rows:
                return None
            groups.append(RowGroup(path, number, group.num_rows, None, None))
            continue
        try:
            ends = pa.array([statistics.min, statistics.max]).cast(kind)
            first, last = microseconds(ends, schema.time, unit=schema.unit).tolist()
        except (pa.ArrowException, StreamError, OverflowError, ValueError):
            return None  # the other route reports the error
        if first == MISSING_INTEGER or last == MISSING_INTEGER:
            return None
        groups.append(RowGroup(path, number, group.num_rows, first, last))
    return groups


def _same_columns(file: pa.Schema, names: Sequence[str], columns: pa.Schema) -> bool:
    """Return whether a file has exactly Spark's columns."""
    if len(set(file.names)) < len(file.names) or not set(names) <= set(file.names):
        return False
    return all(_same(file.field(field.name).type, field.type) for field in columns)


def _same(stored: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_timestamp(stored) and pa.types.is_timestamp(expected):
        # Spark truncates nanoseconds to microseconds, or converts them to integers.
        return stored.unit in ("us", "ms", "s") and (stored.tz is None) == (expected.tz is None)
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if is_text(stored) and is_text(expected):
        return True
    if pa.types.is_list(stored) and pa.types.is_list(expected):
        return _same(stored.value_type, expected.value_type)
    return bool(stored.equals(expected))


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
