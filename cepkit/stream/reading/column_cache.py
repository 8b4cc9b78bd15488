"""A cache of the columns that a stream has read, so that a file is decoded only once.

Columns stay in memory in the engine's form, up to `MOST_KEPT` bytes for each stream and at most a
quarter of the free memory. Before reuse the file's size and times are checked; a changed file is
read again. Columns of Parquet files are read on demand, those for the output only when there is
output.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from cepkit.errors import StreamError
from cepkit.memory import free_memory
from cepkit.stream.coded import decoded
from cepkit.stream.columns import Column, EventColumns, LazyRows
from cepkit.stream.paths import shown
from cepkit.stream.reading import readers, sources
from cepkit.stream.reading.ingest import attribute, event_columns
from cepkit.stream.reading.plain import plain
from cepkit.stream.reading.time_range import rows_inside, taken
from cepkit.stream.schema import Schema

MOST_KEPT = 1 << 30
"""The most bytes of columns that a stream caches."""
_SHARE_OF_FREE = 4
_TEXT = 64
"""The estimated bytes of a text in a dictionary."""
_LARGE = 1 << 25
"""Arrow releases memory only after columns of at least this many bytes."""
_SETTLED = 100_000_000
"""After this many nanoseconds a change shows in a file's times."""

Mark: TypeAlias = tuple[tuple[object, ...], ...]
"""A fingerprint of files that changes with them."""


@dataclass(eq=False, slots=True)
class ColumnCache:
    """The columns that a stream has read of an unchanged source.

    Attributes:
        mark: The mark of the source when they were read.
        columns: The columns; None if nothing is cached.
        fetched: The events fetched from a Spark DataFrame.
    """

    mark: Mark | None = None
    columns: EventColumns | None = None
    fetched: Any = None

    @property
    def size(self) -> int:
        """The number of cached bytes."""
        size = 0 if self.columns is None else _size(self.columns)
        return size if self.fetched is None else size + int(self.fetched.size)

    def forget(self) -> None:
        """Drop everything."""
        self.mark = self.columns = self.fetched = None

    def of(self, mark: Mark) -> EventColumns | None:
        """Return the cached columns if the source is unchanged."""
        return self.columns if self.mark == mark else None

    def keep(self, mark: Mark, columns: EventColumns) -> None:
        """Cache columns in place of earlier ones, if memory allows."""
        self.forget()
        if _size(columns) <= min(MOST_KEPT, free_memory() // _SHARE_OF_FREE):
            self.mark, self.columns = mark, columns

    # A pickled copy of a stream starts with an empty cache.
    def __reduce__(self) -> tuple[object, ...]:
        return ColumnCache, ()


def load(
    source: Any,
    schema: Schema,
    names: tuple[str, ...],
    required: tuple[str, ...],
    cache: ColumnCache,
) -> EventColumns:
    """Return the events of a local source with the attributes that conditions read.

    Args:
        source: A pandas DataFrame, an Arrow table or a path.
        schema: The roles of the columns.
        names: The columns of the source.
        required: The attributes.
        cache: The cache; newly read columns are added.

    Raises:
        StreamError: The source cannot be read, or `event_columns` refuses it.
    """
    mark = _mark(source)
    if mark is None:
        return _at_once(source, schema, names, required)
    cached = cache.of(mark)
    missing = [name for name in required if cached is None or name not in cached.attributes]
    if cached is None or missing:
        by_column = isinstance(source, Path) and readers.data_at(source).format == "parquet"
        if by_column:
            columns = _by_column(source, schema, names, missing, cached, mark)
        elif cached is None:
            columns = _at_once(source, schema, names, required)
        else:
            table = sources.all_rows(source, tuple(missing), names, schema)
            columns = _with(cached, table.column, schema, missing)
        if _mark(source) != mark:
            # The file changed meanwhile: a single read is at least consistent.
            cache.forget()
            return _at_once(source, schema, names, required)
        cache.keep(mark, columns)
        cached = columns
    return replace(cached, attributes={name: cached.attributes[name] for name in required})


def _at_once(
    source: Any, schema: Schema, names: tuple[str, ...], required: tuple[str, ...]
) -> EventColumns:
    table = sources.all_rows(source, schema.needed(names, required), names, schema, coded=True)
    if not sources.is_pandas(source):
        return event_columns(table, schema, required)
    carried = table.select(list(schema.carried(names)))
    rows = LazyRows(partial(decoded, carried), coded=carried)
    return event_columns(table, schema, required, source=rows)


def _by_column(
    path: Path,
    schema: Schema,
    names: tuple[str, ...],
    names_to_read: list[str],
    events: EventColumns | None,
    mark: Mark,
) -> EventColumns:
    """Read columns of Parquet files one after another, so that only one is in memory twice.

    Args:
        path: The path of the files.
        schema: The roles of the columns.
        names: The columns of the files.
        names_to_read: The attributes to read.
        events: The events with other attributes; None to read them as well.
        mark: The mark of the files.
    """
    file = _FileColumns(path, names, schema)
    if events is not None:
        return _with(events, file.column, schema, names_to_read)
    carried = schema.carried(names)
    sources.first_rows(path, carried, names, 0)  # raises if columns cannot be carried to the output

    def read() -> pa.Table:
        unchanged = _mark(path) == mark
        table = sources.all_rows(path, carried, names, schema) if unchanged else None
        if table is None or _mark(path) != mark:
            raise StreamError(
                f"{shown(path)} has changed since its events were read",
                hint="detect again, on a new stream of the file as it is now",
            )
        return table

    return event_columns(file, schema, names_to_read, source=LazyRows(read))


@dataclass(slots=True)
class _FileColumns:
    """The columns of Parquet files, each read on demand, texts as codes."""

    path: Path
    column_names: tuple[str, ...]
    schema: Schema
    _inside: tuple[slice | pa.Array | None] | None = None

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column in plain types, of the rows in the time range."""
        column = self._whole(name)
        if not self.schema.has_range:
            return column
        if self._inside is None:
            times = column if name == self.schema.time else self._whole(self.schema.time)
            self._inside = (rows_inside(times, self.schema),)
        return taken(column, self._inside[0])

    def _whole(self, name: str) -> pa.ChunkedArray:
        table = readers.read_table(self.path, (name,), coded=True, within=self.schema)
        column = plain(table).column(0)
        if column.nbytes > _LARGE:
            pa.default_memory_pool().release_unused()  # of decoding, and of the column before
        return column


def _with(
    events: EventColumns,
    column: Callable[[str], pa.ChunkedArray],
    schema: Schema,
    names_to_read: list[str],
) -> EventColumns:
    """Return events with more attributes."""
    more: dict[str, Column] = {}
    for name in names_to_read:
        if name == schema.time:
            missing = bool(events.dropped.null_time)
            more[name] = Column("timestamp", events.ts, has_missing=missing)
            continue
        values = attribute(column(name), name, schema)
        more[name] = values if events.rows is None else values.take(events.rows)
    return replace(events, attributes={**events.attributes, **more})


def _mark(source: Any) -> Mark | None:
    """Return the mark of a source; None if changes could go unnoticed."""
    if isinstance(source, pa.Table):
        return ()
    if not isinstance(source, Path):
        return None
    marks, newest = [], 0
    try:
        for file in readers.data_at(source).files:
            status = file.stat()
            times = status.st_mtime_ns, status.st_ctime_ns
            newest = max(newest, *times)
            marks.append((str(file), status.st_dev, status.st_ino, status.st_size, *times))
    except OSError:
        return None
    return None if newest > time.time_ns() - _SETTLED else tuple(marks)


def _size(columns: EventColumns) -> int:
    arrays = (columns.ts, columns.types, columns.rows, columns.arrivals, columns.places)
    size = sum(array.nbytes for array in arrays if array is not None)
    return size + sum(
        column.values.nbytes + len(column.dictionary) * _TEXT
        for column in columns.attributes.values()
    )
