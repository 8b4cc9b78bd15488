"""Parquet files as parts in the order of time, so that they need not fit into memory.

A part is a row group. Parts are read in the order of their first times; an event may be earlier
than one before it by as much as the row groups overlap. How much that is, and so how many rows have
to be in memory at once, is known from the statistics of the files before anything is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cepkit.indexing import is_ascending
from cepkit.lazy import pa, pq
from cepkit.stream.columns import MISSING_INTEGER, EventColumns, coded_field
from cepkit.stream.reading import readers
from cepkit.stream.reading.arrow import is_list, is_text, plain
from cepkit.stream.reading.ingest import event_columns
from cepkit.stream.reading.marks import Mark, check_unchanged, mark_of
from cepkit.stream.reading.nested import flat, flattened, paths
from cepkit.stream.reading.row_groups import RowGroup, groups_of
from cepkit.stream.reading.time_range import rows_inside, taken
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema
from cepkit.threads import in_order, together

_STRETCHES = 4
_ROWS = 1 << 17
_WINDOWS = 4
"""The windows in a stretch; each has `_ROWS` rows at least."""
_MOST = 1 << 20


def sampled_events(parts: FileParts, attributes: Sequence[str], window: int) -> EventColumns:
    """Return stretches of a stream, as if a window lay between each and the next.

    Args:
        window: The microseconds between them.
    """
    first, last = parts.ends
    in_window = parts.rows * window // max(last - first, 1)
    least = min(max(_ROWS, _WINDOWS * in_window), _MOST)
    schema = parts.schema
    needed = {*attributes, *schema.roles}
    names = [name for name in parts.stored.names if name in needed]
    stretches = parts.some(names, least, _STRETCHES)
    columns = event_columns(pa.concat_tables([parts.empty(names), *stretches]), schema, attributes)
    ends = np.cumsum([len(stretch) for stretch in stretches])
    stretch = np.searchsorted(ends, columns.source_rows(np.arange(len(columns))), "right")
    steps = np.diff(columns.ts, prepend=columns.ts[:1])
    apart = stretch[1:] > stretch[:-1]
    steps[1:][apart] = np.minimum(steps[1:][apart], window + 1)
    return replace(columns, ts=columns.ts[:1] + np.cumsum(steps))


_EVENT = 12.0
"""The bytes of the time and the type of an event."""
_LISTED = 80.0
"""The assumed bytes of a list."""


def event_size(stored: pa.Schema, attributes: Iterable[str]) -> float:
    """Return about how many bytes an event takes in memory with some attributes.

    Args:
        stored: The columns of its source.
        attributes: Some of them.
    """
    return _EVENT + sum(map(_width, (stored.field(name).type for name in attributes)))


def _width(kind: pa.DataType) -> float:
    if is_list(kind):
        return _LISTED
    return 4.0 if is_text(kind) or pa.types.is_dictionary(kind) else 8.0


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Some rows of files.

    Attributes:
        place: The number of the part in the order of rows.
        table: The rows in the time range, texts as codes.
        complete: All events before this time are in this part or in one before it; None after the
            last part.
    """

    place: int
    table: pa.Table
    complete: int | None


@dataclass(frozen=True, eq=False, slots=True)
class FileParts:
    """The parts of Parquet files.

    Attributes:
        schema: The roles of the columns.
        stored: The columns of the files.
        groups: The parts in the order of rows.
    """

    path: Path
    schema: Schema
    stored: pa.Schema
    groups: tuple[RowGroup, ...]
    footers: Mapping[str, pq.FileMetaData]
    mark: Mark

    @classmethod
    def of(cls, path: Path, schema: Schema, names: Sequence[str]) -> FileParts | None:
        """Return the parts of files; None if they have no statistics of their times.

        Args:
            names: The columns of the stream; those of folders' names are not in the files.
        """
        data, mark = readers.data_at(path), mark_of(path)
        if data.format != "parquet" or mark is None:
            return None
        groups: list[RowGroup] = []
        footers = {str(file): pq.read_metadata(file) for file in data.files}
        whole: pa.Schema = next(iter(footers.values())).schema.to_arrow_schema()
        stored = flat(whole)
        for file, footer in footers.items():
            if not footer.schema.to_arrow_schema().equals(whole) or stored.names != [*names]:
                return None
            of_file = groups_of(file, footer, schema, stored.field(schema.time).type)
            if of_file is None:
                return None
            groups += [group for group in of_file if group.reaches(schema)]
        if any("." in name for path in paths(whole) for name in path):  # a field, to Parquet
            return None
        return cls(path, schema, stored, tuple(groups), footers, mark)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(group.rows for group in self.groups)

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last time in microseconds; 0 if there is none."""
        firsts = [group.first for group in self.groups if group.first is not None]
        lasts = [group.last for group in self.groups if group.last is not None]
        return min(firsts, default=0), max(lasts, default=0)

    def size(self, attributes: Iterable[str], rows: int | None = None) -> int:
        """Return about how many bytes rows take in memory with some attributes; None: all rows."""
        number = self.rows if rows is None else rows
        return round(number * event_size(self.stored, attributes))

    @property
    def are_sorted(self) -> bool:
        """Whether no row group begins before the one before it ends."""
        firsts = [group.first for group in self.groups if group.first is not None]
        lasts = [group.last for group in self.groups if group.last is not None]
        return all(last <= first for last, first in zip(lasts, firsts[1:], strict=False))

    def rows_at_once(self, window: int) -> int:
        """Return how many rows have to be in memory at once, to see a window before each event."""
        order = self._order()
        rows = np.array([self.groups[place].rows for place in order], np.int64)
        first, last = self._ends(order)
        # A part is held until the next one begins a window after its end.
        until = np.searchsorted(first, np.minimum(last, 2**62) + window, side="right")
        change = np.zeros(len(order) + 1, np.int64)
        change[: len(order)] += rows
        np.subtract.at(change, np.minimum(until, len(order)), rows)
        return int(np.cumsum(change).max(initial=0))

    def are_ascending(self) -> bool:
        """Return whether no row is earlier than one before it."""
        if not self.are_sorted:
            return False
        schema, end = self.schema, -(2**63)
        for part in self.read((schema.time,), 1):
            times = microseconds(
                part.table.column(schema.time), schema.time, unit=schema.unit,
                timezone=schema.timezone,
            )  # fmt: skip
            times = np.append(end, times[times != MISSING_INTEGER])
            if not is_ascending(times):
                return False
            end = times[-1]
        return True

    def with_types(self, types: frozenset[str] | None) -> FileParts:
        """Return the parts that may have events of some types; None for any."""
        groups = tuple(group for group in self.groups if group.may_have(types))
        return FileParts(self.path, self.schema, self.stored, groups, self.footers, self.mark)

    def read(self, columns: Sequence[str], threads: int, *, by_time: bool = True) -> Iterator[Part]:
        """Yield the parts; while one is used, the next ones are read.

        Args:
            threads: The most threads that read.
            by_time: Whether they come in the order of time; else in that of rows.

        Raises:
            StreamError: The files have changed.
        """
        order = self._order() if by_time else [*range(len(self.groups))]
        first, _ = self._ends(order)
        jobs = (partial(self._tables, place, tuple(columns)) for place in order)
        for number, table in enumerate(in_order(jobs, threads, lambda table: table.nbytes)):
            complete = int(first[number + 1]) if number + 1 < len(order) else None
            yield Part(order[number], table, complete)

    def some(self, columns: Sequence[str], rows: int, most: int) -> list[pa.Table]:
        """Return stretches of parts from all over the files, each as one table.

        Args:
            rows: The least rows of a stretch.
        """
        order, names = self._order(), tuple(columns)
        ends = np.cumsum([self.groups[place].rows for place in order])
        stretches: list[list[int]] = []
        end = 0
        for target in (np.arange(most) + 0.5) / most * self.rows:
            begin = int(np.searchsorted(ends, target))
            if end <= begin < len(order):
                enough = min((ends[begin - 1] if begin else 0) + rows, ends[-1])
                end = int(np.searchsorted(ends, enough)) + 1
                stretches.append(order[begin:end])
        return [*together(*(partial(self._stretch, places, names) for places in stretches))]

    def _stretch(self, places: Sequence[int], columns: tuple[str, ...]) -> pa.Table:
        return pa.concat_tables(chain.from_iterable(self._tables(p, columns) for p in places))

    def empty(self, columns: Sequence[str]) -> pa.Table:
        """Return columns without rows, with the types that parts have."""
        rows = plain(pa.Table.from_batches([], self.stored).select(list(columns)))
        return self._coded(rows, self._texts(columns))

    def lacking(self) -> frozenset[str]:
        """Return the columns in which values may be missing."""
        lacking = set[str]()
        for group in self.groups:
            chunks = self.footers[group.path].row_group(group.number)
            for place in range(chunks.num_columns):
                chunk = chunks.column(place)
                known = chunk.statistics
                if known is None or not known.has_null_count or known.null_count:
                    lacking.add(chunk.path_in_schema)
        # A list has a path below its column.
        return frozenset(
            name
            for name in self.stored.names
            if any(path == name or path.startswith(f"{name}.") for path in lacking)
        )

    def _order(self) -> list[int]:
        """Return the parts in the order of their first times; those without times come first."""
        firsts = [-(2**63) if group.first is None else group.first for group in self.groups]
        return sorted(range(len(firsts)), key=firsts.__getitem__)

    def _ends(self, order: list[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        ends = [(self.groups[place].first, self.groups[place].last) for place in order]
        none = -(2**63)
        first = np.array([none if a is None else a for a, _ in ends], np.int64)
        return first, np.array([none if b is None else b for _, b in ends], np.int64)

    def _texts(self, columns: Sequence[str]) -> list[str]:
        return [name for name in columns if is_text(self.stored.field(name).type)]

    def _tables(self, place: int, columns: Sequence[str]) -> Iterator[pa.Table]:
        group, texts = self.groups[place], self._texts(columns)
        check_unchanged(self.path, self.mark)
        with (
            readers.reading(self.path),
            pq.ParquetFile(
                group.path,
                metadata=self.footers[group.path],
                read_dictionary=[name for name in texts if "." not in name],
                pre_buffer=False,
            ) as file,
        ):
            table = file.read_row_group(group.number, list(columns), use_threads=False)
        table = plain(flattened(table).select(list(columns)))
        rows = rows_inside(table.column(self.schema.time), self.schema)
        yield self._coded(taken(table, rows), texts)

    def _coded(self, table: pa.Table, texts: Sequence[str]) -> pa.Table:
        """Return rows with marks at the texts that are codes."""
        for name in texts:
            place = table.schema.get_field_index(name)
            column = table.column(name)
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode()
            table = table.set_column(place, coded_field(name, column.type), column)
        return table
