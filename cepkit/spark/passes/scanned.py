"""The Parquet files of a DataFrame that is certainly just their rows.

Python reads such files instead of Spark: workers (`delivery.py`) or this process (`file_rows.py`).
The DataFrame must be a scan of local Parquet files without filters, partition columns or cached
rows; its columns may be fields of structs. Nothing may make Spark read a value differently: the
calendar of ancient times, columns that are found by the numbers of fields, or files that have
changed since Spark listed them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from cepkit.spark.session.access import access_to
from cepkit.stream.reading.arrow import is_text

MOST_FILES = 5000

_CALENDAR = "spark.sql.parquet.datetimeRebaseModeInRead"
_BY_NUMBER = "spark.sql.parquet.fieldId.read.enabled"
_VERSION = b"org.apache.spark.version"
_LEGACY = b"org.apache.spark.legacy"


def scanned_files(frame: DataFrame) -> list[Path] | None:
    """Return the local Parquet files of a frame; None if in doubt."""
    node = access_to(frame).relation(frame)
    if node is None or frame.storageLevel.useMemory or frame.storageLevel.useDisk:
        return None  # cached: the files may have changed since
    while node is not None:
        kind = node.getClass().getSimpleName()
        if kind in ("SubqueryAlias", "View"):
            node = node.child()
        elif kind == "Project":
            columns = node.projectList()
            if not all(_is_column(columns.apply(i)) for i in range(columns.size())):
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
    if "rebase" in relation.options().toString().casefold():
        return None
    if frame.sparkSession.conf.get(_CALENDAR, "CORRECTED") != "CORRECTED":
        return None
    if frame.sparkSession.conf.get(_BY_NUMBER, "false") != "false":
        return None
    listing = relation.location()
    if listing.getClass().getSimpleName() != "InMemoryFileIndex":
        return None
    return _unchanged(list(relation.inputFiles()), listing.sizeInBytes())


def _is_column(expression: Any) -> bool:
    """Return whether an expression is a column, or a field of a struct under its whole name."""
    if expression.getClass().getSimpleName() != "Alias":
        return bool(expression.getClass().getSimpleName() == "AttributeReference")
    path, part = [], expression.child()
    while part.getClass().getSimpleName() == "GetStructField":
        path.append(part.extractFieldName())
        part = part.child()
    if part.getClass().getSimpleName() != "AttributeReference":
        return False
    return bool(expression.name() == ".".join((part.name(), *reversed(path))))


def _unchanged(addresses: Sequence[str], size: int) -> list[Path] | None:
    """Return the local files of that total size that Spark reads; None if one is not local."""
    if not 0 < len(addresses) <= MOST_FILES:
        return None
    paths = []
    for uri in addresses:
        address = urlsplit(uri)
        if address.scheme != "file" or address.netloc:
            return None
        paths.append(Path(unquote(address.path)))
    try:
        if sum(path.stat().st_size for path in paths) != size:
            return None
    except OSError:
        return None
    return [path for path in paths if _has_rows(path.name)] or None


def _has_rows(name: str) -> bool:
    """Return whether Spark reads rows from a file of that name: not from `_metadata`, `.hidden`."""
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def rows_in_files(frame: DataFrame) -> int | None:
    """Return the number of rows of a DataFrame from the footers of its files, if known."""
    try:
        return sum(pq.read_metadata(path).num_rows for path in scanned_files(frame) or ()) or None
    except (pa.ArrowException, OSError):
        return None


def is_read_alike(
    footer: pq.FileMetaData, stored: pa.Schema, names: Sequence[str], columns: pa.Schema
) -> bool:
    """Return whether Arrow and Spark read the same from a file with these columns."""
    return _same_columns(stored, names, columns) and not _old(footer)


def _old(footer: pq.FileMetaData) -> bool:
    """Return whether a file has ancient times in another calendar."""
    notes = footer.metadata or {}
    version = notes.get(_VERSION, b"")
    return version.startswith((b"1.", b"2.")) or any(key.startswith(_LEGACY) for key in notes)


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
