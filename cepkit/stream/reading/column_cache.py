"""A cache of the columns that a stream has read, so that a file is decoded only once.

Columns stay in memory in the engine's form, up to `MOST_KEPT` bytes for each stream and at most a
quarter of the free memory. Before reuse the file's size and times are checked; a changed file is
read again. Columns of Parquet files are read on demand, those for the output only when there is
output.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cepkit.errors import LimitError
from cepkit.lazy import pa
from cepkit.memory import free_memory, size_text
from cepkit.stream.columns import Column, EventColumns, LazyRows, decoded
from cepkit.stream.paths import shown
from cepkit.stream.reading import readers, sources
from cepkit.stream.reading.arrow import plain
from cepkit.stream.reading.by_group import columns_by_group
from cepkit.stream.reading.file_parts import FileParts, event_size
from cepkit.stream.reading.ingest import attribute, event_columns
from cepkit.stream.reading.marks import Mark, check_unchanged, mark_of
from cepkit.stream.reading.time_range import rows_inside, taken
from cepkit.stream.reading.times import ties_of_nanoseconds
from cepkit.stream.schema import Schema
from cepkit.stream.warnings import warn_of_nanoseconds

MOST_KEPT = 1 << 30
"""The most bytes of columns that a stream caches."""
_SHARE_OF_FREE = 4
_TEXT = 64
"""The estimated bytes of a text in a dictionary."""
_LARGE = 1 << 25
"""Arrow releases memory only after columns of at least this many bytes."""


@dataclass(eq=False, slots=True)
class ColumnCache:
    """The columns that a stream has read of an unchanged source.

    Attributes:
        mark: The mark of the source when they were read.
        columns: The columns; None if nothing is cached.
        fetched: The events fetched from a Spark DataFrame.
        lock: Held while the source is read: other threads wait for its columns.
    """

    mark: Mark | None = None
    columns: EventColumns | None = None
    fetched: Any = None
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

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
        if _size(columns) <= most_kept():
            self.mark, self.columns = mark, columns

    # A pickled copy of a stream starts with an empty cache.
    def __reduce__(self) -> tuple[object, ...]:
        return ColumnCache, ()


def parts_if_large(
    source: Any,
    schema: Schema,
    names: tuple[str, ...],
    required: tuple[str, ...],
    cache: ColumnCache,
) -> FileParts | None:
    """Return the parts of Parquet files whose columns are too large to be kept; else None."""
    if not isinstance(source, Path):
        return None
    if len({*names}) < len(names) or not {*required} <= {*names}:
        return None  # loading them tells what is wrong
    mark = mark_of(source)
    cached = None if mark is None else cache.of(mark)
    if cached is not None and all(name in cached.attributes for name in required):
        return None
    if readers.data_at(source).format != "parquet":
        return None
    rows, most = readers.row_count(source) or 0, most_kept()
    if rows * event_size(readers.schema_of(source), required) <= most:
        return None
    parts = FileParts.of(source, schema, names)
    return None if parts is None or parts.size(required) <= most else parts


def most_kept() -> int:
    """Return the most bytes of columns that a stream may keep now."""
    return min(MOST_KEPT, free_memory() // _SHARE_OF_FREE)


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
        names: The columns of the source.
        cache: The cache; newly read columns are added.

    Raises:
        StreamError: The source cannot be read, or `event_columns` refuses it.
    """
    mark = _mark(source)
    if mark is None:
        return _at_once(source, schema, names, required)
    with cache.lock:
        return _cached(source, schema, names, required, cache, mark)


def _cached(
    source: Any,
    schema: Schema,
    names: tuple[str, ...],
    required: tuple[str, ...],
    cache: ColumnCache,
    mark: Mark,
) -> EventColumns:
    """Return columns from the cache, after those that it lacks were read; see `load`."""
    cached = cache.of(mark)
    missing = [name for name in required if cached is None or name not in cached.attributes]
    if cached is None or missing:
        by_column = isinstance(source, Path) and readers.data_at(source).format == "parquet"
        if by_column:
            _check_fits(source, schema, names, missing)
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


def _check_fits(
    path: Path, schema: Schema, names: tuple[str, ...], required: Sequence[str]
) -> None:
    """Refuse columns of Parquet files that would not fit into the free memory, before reading them.

    Raises:
        LimitError: They would not.
    """
    rows, free = readers.row_count(path) or 0, free_memory()
    if rows * event_size(readers.schema_of(path), required) <= free:
        return
    parts = FileParts.of(path, schema, names)
    if parts is None or parts.size(required) <= free:
        return
    in_order = 2 * parts.rows_at_once(0) < parts.rows
    raise LimitError(
        f"the {parts.rows:,} events of {shown(path)}, which need about"
        f" {size_text(parts.size(required))} of memory"
        + ("" if in_order else ", as they are not in the order of time"),
        expected=f"at most the {size_text(free)} that are free",
        hint="detect and aggregate with WITHIN, without adapt=, read it in pieces;"
        " since= and until= take some of it"
        if in_order
        else "cepkit sort FILE OUT writes the events in the order of time: such a file is read in"
        " pieces; since= and until= take some of it",
    )


def _at_once(
    source: Any, schema: Schema, names: tuple[str, ...], required: tuple[str, ...]
) -> EventColumns:
    table = sources.all_rows(source, schema.needed(names, required), names, schema, coded=True)
    _warn_of_ties(table.column(schema.time), schema)
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
    """Read columns of Parquet files, so that few values are in memory twice.

    Args:
        events: The events with other attributes; None to read them as well.
    """
    file = _FileColumns(path, names, schema)
    if events is not None:
        ready = file.by_group([name for name in names_to_read if name != schema.time])
        return _with(events, file.column, schema, names_to_read, ready)
    carried = schema.carried(names)
    sources.first_rows(path, carried, names, 0)  # raises if columns cannot be carried to the output

    def read() -> pa.Table:
        check_unchanged(path, mark)
        _check_fits(path, schema, names, carried)
        table = sources.all_rows(path, carried, names, schema)
        check_unchanged(path, mark)
        return table

    ready = file.by_group(dict.fromkeys((schema.time, str(schema.typed_by), *names_to_read)))
    return event_columns(file, schema, names_to_read, source=LazyRows(read), ready=ready)


def _warn_of_ties(times: pa.ChunkedArray, schema: Schema) -> None:
    if not schema.by_arrival:
        ties = ties_of_nanoseconds(times, schema.unit)
        if ties:
            warn_of_nanoseconds(schema.time, ties, len(times))


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
        if name == self.schema.time:
            _warn_of_ties(column, self.schema)
        if not self.schema.has_range:
            return column
        if self._inside is None:
            times = column if name == self.schema.time else self._whole(self.schema.time)
            self._inside = (rows_inside(times, self.schema),)
        return taken(column, self._inside[0])

    def by_group(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns in the engine's form, as far as row groups can be made side by side."""
        known = {*self.column_names}
        plain_names = len(known) == len(self.column_names) and not any("." in n for n in known)
        one_file = plain_names and readers.data_at(self.path).one_file
        if not one_file or self.schema.has_range or not {*names} <= known:
            return {}
        columns = columns_by_group(self.path, names, self.schema)
        if sum(column.values.nbytes for column in columns.values()) > _LARGE:
            pa.default_memory_pool().release_unused()
        return columns

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
    ready: Mapping[str, Column] = MappingProxyType({}),
) -> EventColumns:
    """Return events with more attributes, some of which are in the engine's form already."""
    more: dict[str, Column] = {}
    for name in names_to_read:
        if name == schema.time:
            missing = bool(events.dropped.null_time)
            more[name] = Column("timestamp", events.ts, has_missing=missing)
            continue
        values = ready.get(name) or attribute(column(name), name, schema)
        more[name] = values if events.rows is None else values.take(events.rows)
    return replace(events, attributes={**events.attributes, **more})


def _mark(source: Any) -> Mark | None:
    """Return the mark of a source; None if changes could go unnoticed."""
    if isinstance(source, pa.Table):
        return ()
    return mark_of(source) if isinstance(source, Path) else None


def _size(columns: EventColumns) -> int:
    arrays = (columns.ts, columns.types, columns.rows, columns.arrivals, columns.places)
    size = sum(array.nbytes for array in arrays if array is not None)
    return size + sum(
        column.values.nbytes + len(column.dictionary) * _TEXT
        for column in columns.attributes.values()
    )
