"""The rows of a stream's Parquet files, read by this process instead of Spark.

Only for a DataFrame that is certainly the rows of a few local files (`scanned.py`). Spark reads
several files in an order of its own, so for queries that depend on the order of rows there must be
one file. Row groups are decoded in parallel, texts as codes: a text that is stored once cannot take
more memory than allowed before its size is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cepkit.memory import free_memory
from cepkit.spark.passes.part import Types
from cepkit.spark.passes.scanned import is_read_alike, scanned_files
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.arrow import is_text
from cepkit.stream.reading.ingest import type_codes
from cepkit.stream.reading.nested import flat, flattened, paths
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream

Result = TypeVar("Result")

MOST_FILES = 200
MOST_ROWS = 1 << 25
"""The most rows of which this process reads the types: a second or less."""
_THREADS = min(os.cpu_count() or 1, 8)
_SHARE_OF_FREE = 4


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of Parquet files.

    Attributes:
        groups: Each row group: its file, the file's footer, and its number there.
        schema: How rows are read as events.
        columns: The columns to read.
    """

    groups: tuple[tuple[Path, pq.FileMetaData, int], ...]
    schema: Schema
    columns: pa.Schema

    origin = "read from Parquet files"

    @property
    def in_order(self) -> bool:
        """Whether the rows are in Spark's order."""
        return len({path for path, *_ in self.groups}) < 2

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(footer.row_group(number).num_rows for _, footer, number in self.groups)

    def number(self, types: Types) -> int:
        """Return about how many rows may have some types; None for any."""
        if types is None:
            return self.total

        def count(place: int) -> int:
            column = self._group(place, [self.schema.typed_by]).column(0)
            return int(np.count_nonzero(self._may_have(column, types)))

        return sum(self._from_each(count))

    def read(self, types: Types, most: float) -> pa.Table | float:
        """Return the rows of some types, and those that are no events.

        Returns:
            The rows; or about how many bytes they would take, if that is more.
        """
        names, sizes = self.columns.names, [0.0] * len(self.groups)

        def read(place: int) -> pa.Table | None:
            if sum(sizes) > most:
                return None
            rows = self._group(place, names)
            if types is not None:
                rows = rows.filter(pa.array(self._wanted(rows, types)))
            sizes[place] = sum(map(_decoded_size, rows.columns))
            return rows.cast(self.columns) if sum(sizes) <= most else None

        parts = [part for part in self._from_each(read) if part is not None]
        if len(parts) < len(self.groups):
            known = [i for i, size in enumerate(sizes) if size]
            return sum(sizes) * len(self.groups) / len(known)
        return pa.concat_tables([self.columns.empty_table(), *parts])

    def _wanted(self, rows: pa.Table, types: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Return which rows have one of the types, or are no events, to count them."""
        schema, time = self.schema, rows.column(self.schema.time)
        times = microseconds(time, schema.time, unit=schema.unit, timezone=schema.timezone)
        wanted = self._may_have(rows.column(schema.typed_by), types)
        return np.asarray(wanted | (times == MISSING_INTEGER))

    def _may_have(self, column: pa.ChunkedArray, types: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Return which rows have one of the types, or none at all."""
        codes, names = type_codes(column, self.schema.type)
        fits = np.array([*(name in types for name in names), True])
        return np.asarray(fits[codes])  # the code of a missing one, -1, is the last

    def _group(self, place: int, names: list[str]) -> pa.Table:
        """Return columns of a row group, texts as codes."""
        path, footer, number = self.groups[place]
        texts = [name for name in names if is_text(self.columns.field(name).type)]
        with pq.ParquetFile(path, metadata=footer, read_dictionary=texts, pre_buffer=False) as file:
            alone = len(self.groups) < _THREADS  # then its columns are decoded in parallel
            rows = file.read_row_group(number, names, use_threads=alone)
            return flattened(rows).select(names)

    def _from_each(self, work: Callable[[int], Result]) -> Iterator[Result]:
        places = range(len(self.groups))
        if len(places) < 2:
            yield from map(work, places)
            return
        with ThreadPoolExecutor(_THREADS) as threads:
            yield from threads.map(work, places)


def _decoded_size(column: pa.ChunkedArray) -> float:
    """Return the bytes of a column with each text in place of its code."""
    size = 0.0
    for chunk in column.chunks:
        size += chunk.nbytes
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
            size += pc.sum(lengths).as_py() or 0
    return size


def file_rows(stream: Stream, columns: pa.Schema, *, in_order: bool) -> FileRows | None:
    """Return the rows of a Spark stream from its files; None if Spark must read them.

    Args:
        in_order: Whether the rows must be in Spark's order.
    """
    files = scanned_files(stream.source)
    if files is None or len(files) > (1 if in_order else MOST_FILES):
        return None
    groups: list[tuple[Path, pq.FileMetaData, int]] = []
    rows = 0
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                footer, stored = file.metadata, file.schema_arrow
                # A dot names a field of a struct.
                if any("." in name for names in paths(stored) for name in names):
                    return None
                if not is_read_alike(footer, flat(stored), stream.column_names, columns):
                    return None
        except (pa.ArrowException, OSError):
            return None
        rows += footer.num_rows
        if rows > MOST_ROWS:
            return None
        groups += [(path, footer, number) for number in range(footer.num_row_groups)]
    largest = max((footer.row_group(i).total_byte_size for _, footer, i in groups), default=0)
    if largest * _THREADS > free_memory() // _SHARE_OF_FREE:
        return None
    return FileRows(tuple(groups), stream.schema, columns)
