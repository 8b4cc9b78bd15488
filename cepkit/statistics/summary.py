"""The summary of a stream: its types, times and columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.files import JSON, write_text
from cepkit.indexing import bin_counts
from cepkit.lazy import pa, pc, pd
from cepkit.printing import WithPrinter, cut, html_of, html_output, html_text, text_of, time_text
from cepkit.statistics.keys import MOST_FREQUENT, KeyCounts
from cepkit.statistics.over_time import Buckets, OverTime
from cepkit.stream.columns import Dropped, EventColumns
from cepkit.stream.reading.arrow import described, is_list
from cepkit.stream.values import in_known_zone
from cepkit.tables import count_text, first_rows, html_table, number, whole

_SECOND = 1_000_000
_TYPES = ("type", "events", "share", "events/s", "median gap", "longest gap")
_COLUMNS = ("column", "holds", "missing", "different", "smallest", "largest")
_KEYS = ("texts", "whole numbers")
_WIDEST = 24


@dataclass(frozen=True, slots=True)
class TypeSummary:
    """The events of one type.

    Attributes:
        type: The name of the type.
        events: The number of its events.
        share: Its share of all events.
        rate: Events per second from the first event of the stream to its last; NaN if all events
            have one time.
        median_gap: The median time between neighbours of this type, in seconds; None for a single
            event.
        longest_gap: The longest such time.
    """

    type: str
    events: int
    share: float
    rate: float
    median_gap: float | None
    longest_gap: float | None


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """The values of one column of the source.

    Attributes:
        column: Its name.
        holds: The kind of its values, as "texts".
        missing: The share of values that are null or NaN.
        different: The number of different values; None if they cannot be compared.
        smallest: The smallest value; None if there is none, or values have no order.
        largest: The largest value, likewise.
    """

    column: str
    holds: str
    missing: float
    different: int | None
    smallest: Any
    largest: Any


@dataclass(frozen=True, slots=True, repr=False)
class StreamSummary(WithPrinter):
    """The summary of a stream, from `profile` without a pattern.

    Attributes:
        events: The number of events.
        first: The time of the first event in microseconds since 1970 UTC; None without events.
        last: The time of the last event.
        dropped: The number of rows that are no events.
        out_of_order: The number of events that came after one of a later time.
        types: The event types, the most frequent first.
        columns: The columns of the source, in its order.
        over_time: The events of each type in equal buckets of time; None without events.
        keys: The values of columns that may be keys, the most frequent ones first.
    """

    events: int
    first: int | None
    last: int | None
    dropped: Dropped
    out_of_order: int
    types: tuple[TypeSummary, ...]
    columns: tuple[ColumnSummary, ...]
    over_time: OverTime | None = None
    keys: tuple[KeyCounts, ...] = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each type: type, events, share, rate, median_gap, longest_gap."""
        return pd.DataFrame(map(asdict, self.types), columns=TypeSummary.__slots__)

    def to_json(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> str:
        """Return the summary as JSON, and write it to `path` if there is one.

        Times are in ISO 8601; values that JSON lacks become texts.

        Args:
            path: The file, whose name ends in .json.
            overwrite: Whether to replace a file that exists; it stays until the new one is whole.

        Raises:
            FileError: The file exists already, or cannot be written.
        """
        data = asdict(replace(self, over_time=None))
        if self.over_time is not None:
            data["over_time"] = {
                "begin": time_text(self.over_time.begin),
                "bucket_seconds": self.over_time.bucket_seconds,
                "counts": dict(self.over_time.counts),
            }
        for end in ("first", "last"):
            data[end] = None if data[end] is None else time_text(data[end])
        text = json.dumps(_plain(data), indent=2, ensure_ascii=False, default=str)
        if path is not None:
            write_text(path, text, JSON, overwrite=overwrite)
        return text


def summarize(events: EventColumns, time: str, kind: str | None) -> StreamSummary:
    """Return the summary of a stream. O(n log n) for n events.

    Args:
        events: The events, with all columns in `source`.
        time: The name of the column of times.
        kind: That of the column of types; None: there is none.
    """
    span = (int(events.ts[-1]) - int(events.ts[0])) / _SECOND if len(events) else 0.0
    columns = tuple(
        _column(name, events.source.column(name)) for name in events.source.column_names
    )
    return StreamSummary(
        events=len(events),
        first=int(events.ts[0]) if len(events) else None,
        last=int(events.ts[-1]) if len(events) else None,
        dropped=events.dropped,
        out_of_order=_out_of_order(events),
        types=tuple(_types(events, span)),
        columns=columns,
        over_time=_over_time(events),
        keys=tuple(_keys(events, [c for c in columns if c.column not in (time, kind)])),
    )


def _over_time(events: EventColumns) -> OverTime | None:
    if not len(events):
        return None
    buckets = Buckets.of(int(events.ts[0]), int(events.ts[-1]), len(events))
    counts = buckets.counts(events.ts, events.types, len(events.type_names))
    return buckets.of_variables(dict(zip(events.type_names, counts, strict=True)))


def _keys(events: EventColumns, columns: Sequence[ColumnSummary]) -> Iterator[KeyCounts]:
    """Yield the values of texts and whole numbers that come back, at least twice on average."""
    for column in columns:
        values = _plain_column(events.source.column(column.column))
        there = len(values) - values.null_count
        different = column.different or 0
        if column.holds in _KEYS and 1 < different <= there // 2:
            counts = pa.Table.from_struct_array(pc.value_counts(values.drop_null()))
            order = [("counts", "descending"), ("values", "ascending")]
            most = counts.sort_by(order).slice(0, MOST_FREQUENT).to_pylist()
            frequent = tuple((str(each["values"]), each["counts"]) for each in most)
            yield KeyCounts((column.column,), there, different, frequent)


def _types(events: EventColumns, span: float) -> Iterable[TypeSummary]:
    counts = bin_counts(events.types, minlength=len(events.type_names))
    by_type = events.ts[np.argsort(events.types, kind="stable")]
    ends = np.cumsum(counts)
    for code in np.argsort(-counts, kind="stable"):
        count = int(counts[code])
        if not count:
            continue
        gaps = np.diff(by_type[ends[code] - count : ends[code]]) / _SECOND
        yield TypeSummary(
            events.type_names[code],
            count,
            count / len(events),
            count / span if span else float("nan"),
            float(np.median(gaps)) if len(gaps) else None,
            float(gaps.max()) if len(gaps) else None,
        )


def _out_of_order(events: EventColumns) -> int:
    """Return the number of events that came after one of a later time."""
    ts: npt.NDArray[np.int64] = np.empty_like(events.ts)
    ts[events.arrival()] = events.ts
    return int((ts < np.maximum.accumulate(ts)).sum()) if len(ts) else 0


def _plain_column(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values instead of codes into a dictionary."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _column(name: str, values: pa.ChunkedArray) -> ColumnSummary:
    values = _plain_column(values)
    kind = values.type
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), None, values)
    smallest = largest = different = None
    if not is_list(kind) and not pa.types.is_nested(kind) and not pa.types.is_null(kind):
        different = pc.count_distinct(values).as_py()
        ends = pc.min_max(in_known_zone(values)).as_py()
        smallest, largest = ends["min"], ends["max"]
    missing = values.null_count / len(values) if len(values) else 0.0
    return ColumnSummary(name, _holds(kind), missing, different, smallest, largest)


def _holds(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "whole numbers"
    return "numbers" if pa.types.is_floating(kind) else described(kind)


def _plain(value: Any) -> Any:
    """Return data with None for numbers that JSON lacks."""
    match value:
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case float() if value != value or value in (float("inf"), -float("inf")):
            return None
        case _:
            return value


@text_of.register
def to_text(summary: StreamSummary) -> str:
    """Return the stream in a few lines, then its types and its columns."""
    types, columns = _tables(summary)
    parts = ["\n".join(_lines(summary))]
    if types:
        parts.append(first_rows(_TYPES, types, "types"))
    parts.append(first_rows(_COLUMNS, columns, "columns", left=2, most=50))
    return "\n\n".join(parts)


@html_of.register
def to_html(summary: StreamSummary) -> str:
    """Return the summary as HTML, with all names and values escaped."""
    types, columns = _tables(summary)
    parts = [f"<p>{html_text(line)}</p>" for line in _lines(summary)]
    return html_output(*parts, html_table(_TYPES, types), html_table(_COLUMNS, columns, left=2))


def _lines(summary: StreamSummary) -> list[str]:
    text = count_text(summary.events, "event")
    if summary.first is None or summary.last is None:
        lines = [text]
    else:
        span = timedelta(seconds=round((summary.last - summary.first) / _SECOND))
        types = count_text(len(summary.types), "type")
        ends = f"{time_text(summary.first)} to {time_text(summary.last)}"
        lines = [f"{text} of {types}, {ends} ({span})"]
    if summary.out_of_order:
        share = summary.out_of_order / summary.events
        lines.append(f"{whole(summary.out_of_order)} out of order ({share:.1%})")
    lines += [
        f"left out: {count_text(rows, 'row')} without a {what}"
        for rows, what in (
            (summary.dropped.null_time, "time"),
            (summary.dropped.null_type, "type"),
        )
        if rows
    ]
    return lines


def _tables(summary: StreamSummary) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    types: list[Sequence[str]] = [
        (
            _short(row.type),
            whole(row.events),
            f"{row.share:.1%}",
            "-" if row.rate != row.rate else number(row.rate),
            _gap(row.median_gap),
            _gap(row.longest_gap),
        )
        for row in summary.types
    ]
    columns: list[Sequence[str]] = [
        (
            _short(row.column),
            row.holds,
            f"{row.missing:.1%}",
            "-" if row.different is None else whole(row.different),
            _short(row.smallest),
            _short(row.largest),
        )
        for row in summary.columns
    ]
    return types, columns


def _gap(seconds: float | None) -> str:
    return "-" if seconds is None else f"{number(seconds)} s"


def _short(value: object) -> str:
    text = "-" if value is None else number(value) if isinstance(value, float) else str(value)
    return cut(text, _WIDEST)
