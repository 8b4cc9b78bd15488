"""The row groups of Parquet files: which times and types they may hold, by their statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cepkit.errors import StreamError
from cepkit.lazy import pa, pq
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.arrow import is_text
from cepkit.stream.reading.time_zones import is_utc
from cepkit.stream.reading.times import microseconds
from cepkit.stream.schema import Schema


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group, its time range and its types.

    Attributes:
        path: The file.
        rows: How many it has.
        first: The earliest time in microseconds; None if no row has a time.
        last: The latest.
        types: The least and the greatest type; None if that is unknown, or rows are no events.
    """

    path: str
    number: int
    rows: int
    first: int | None
    last: int | None
    types: tuple[str, str] | None = None

    def reaches(self, schema: Schema) -> bool:
        """Return whether rows may lie in the time range of a schema."""
        if self.first is None or self.last is None:
            return not schema.has_range
        begins = schema.until is None or self.first < schema.until
        return begins and (schema.since is None or self.last >= schema.since)

    def may_have(self, types: frozenset[str] | None) -> bool:
        """Return whether rows may have one of the types (None: any), or be no events."""
        if types is None or self.types is None:
            return True
        least, greatest = self.types
        return any(least <= name <= greatest for name in types)


def sorts_like_times(kind: pa.DataType, schema: Schema) -> bool:
    """Return whether the values of a time column sort like the times that they mean."""
    naive = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    return not is_text(kind) and (not naive or is_utc(schema.timezone))


def groups_of(
    path: Path | str, footer: pq.FileMetaData, schema: Schema, kind: pa.DataType
) -> list[RowGroup] | None:
    """Return the row groups of a file that have rows; None if statistics of times are missing.

    Args:
        kind: The type of the time column.
    """
    if not sorts_like_times(kind, schema):
        return None
    groups = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if not group.num_rows:
            continue
        statistics = dict(_statistics(group, schema.roles))
        times = statistics.get(schema.time)
        if times is None:
            return None
        first = last = None
        if times.has_min_max:
            try:
                ends = pa.array([times.min, times.max]).cast(kind)
                first, last = microseconds(ends, schema.time, unit=schema.unit).tolist()
            except (pa.ArrowException, StreamError, OverflowError, ValueError):
                return None  # whoever reads the values reports the error
            if first == MISSING_INTEGER or last == MISSING_INTEGER:
                return None
        elif not times.has_null_count or times.null_count < group.num_rows:
            return None
        types = None
        if schema.type is not None and times.has_null_count and not times.null_count:
            types = _types(statistics.get(schema.type))
        groups.append(RowGroup(str(path), number, group.num_rows, first, last, types))
    return groups


def _statistics(
    group: pq.RowGroupMetaData, names: tuple[str, ...]
) -> Iterator[tuple[str, pq.Statistics]]:
    for place in range(group.num_columns):
        chunk = group.column(place)
        if chunk.path_in_schema in names:
            yield chunk.path_in_schema, chunk.statistics


def _types(statistics: pq.Statistics | None) -> tuple[str, str] | None:
    if statistics is None or not statistics.has_min_max:
        return None
    if not statistics.has_null_count or statistics.null_count:
        return None
    ends = statistics.min, statistics.max
    return ends if all(isinstance(end, str) for end in ends) else None
