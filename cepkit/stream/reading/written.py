"""Formats of a source's fields and times that differ from the defaults of readers.

CSV files with other separators or encodings are read at once. Times that `reading.times` does not
know become timestamps: texts in a format of their own, a date and a time of day in two columns, and
the FILETIME of Windows.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepkit.errors import StreamError
from cepkit.lazy import pa, pc, pd
from cepkit.stream.reading import arrow
from cepkit.stream.reading.csv_files import CsvFormat
from cepkit.stream.reading.nested import quoted
from cepkit.stream.reading.time_texts import NULLS, unreadable
from cepkit.stream.schema import check_columns

FILETIME = "filetime"
_TICKS = 10
"""The ticks of FILETIME in a microsecond."""
_SINCE_1601 = 11_644_473_600_000_000
"""The microseconds from 1601, where FILETIME begins, to 1970."""


@dataclass(frozen=True, slots=True)
class Written:
    """How a source writes its fields and times.

    Attributes:
        time: The column of the times, or those of the date and of the time of day.
        unit: The unit of numeric times; see `Schema`.
        sep: The separator of a CSV file; None: a comma.
        decimal: Its decimal point; None: a point.
        encoding: Its encoding; None: UTF-8.
        time_format: The format of times, as of `datetime.strptime`; None: ISO 8601.
    """

    time: str | tuple[str, str]
    unit: str | None = None
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    time_format: str | None = None

    def __post_init__(self) -> None:
        if not _names_times(self.time):
            raise StreamError(
                f"the time column is given as {self.time!r}",
                expected='the name of a column, or of two: time=("date", "time")',
            )
        for name, value in (("sep", self.sep), ("decimal", self.decimal)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
                raise StreamError(f"{name}={value!r}", expected=f"one character, as {name}=';'")
        if self.sep is not None and self.sep == (self.decimal or "."):
            raise StreamError(f"sep={self.sep!r} is the decimal point, too")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise StreamError(
                f"encoding={self.encoding!r}", expected="one that Python knows, as 'latin-1'"
            ) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the times in the source."""
        return (self.time,) if isinstance(self.time, str) else tuple(self.time)

    @property
    def time_column(self) -> str:
        """The column of the times in the stream."""
        return "_".join(self.columns)

    @property
    def time_unit(self) -> str | None:
        """The unit of numeric times in the stream."""
        return None if self.unit == FILETIME else self.unit

    @property
    def csv(self) -> CsvFormat | None:
        """The format of a CSV file; None for the one that readers expect.

        `sep=","` is a format too: by it a file with any ending is CSV.
        """
        texts = self.columns if self.time_format or len(self.columns) == 2 else ()
        encoding = codecs.lookup(self.encoding or "utf-8").name.removesuffix("-sig")
        form = CsvFormat(self.sep or ",", self.decimal or ".", encoding, texts)
        return None if self.sep is None and form == CsvFormat() else form

    @property
    def converts(self) -> bool:
        """Whether times become timestamps."""
        others = self.time_format is not None or self.unit == FILETIME
        return others or not isinstance(self.time, str)

    def refuse(self, source: object) -> None:
        """Refuse options of CSV files for another source.

        Raises:
            StreamError: There are some.
        """
        for name in ("sep", "decimal", "encoding"):
            if getattr(self, name) is not None:
                what = source if isinstance(source, str) else f"a {type(source).__name__}"
                raise StreamError(f"{name}= with {what}", expected="the path of a CSV file")

    def checked(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns of the times, if a source has them, each once.

        Raises:
            StreamError: It does not.
        """
        check_columns(self.columns, names)
        if self.time_column not in self.columns and self.time_column in names:
            raise StreamError(
                f"the source has a column '{self.time_column}'",
                expected=f"that name for the times of '{self.columns[0]}' and '{self.columns[1]}'",
                hint=f"time='{self.time_column}', or rename it",
            )
        return self.columns

    def on_spark(self, frame: Any) -> Any:
        """Return a Spark DataFrame whose times are timestamps.

        Raises:
            StreamError: Spark writes times in other formats.
        """
        self.refuse("a Spark DataFrame, which has read its files")
        if self.time_format is not None or not isinstance(self.time, str):
            what = "time_format=" if self.time_format else "two columns of times"
            raise StreamError(
                f"{what} with a Spark DataFrame, which has formats of its own",
                expected="one column of timestamps",
                hint="sdf.withColumn('ts', F.to_timestamp(F.concat_ws(' ', 'date', 'time')))",
            )
        if self.unit != FILETIME or self.time not in frame.columns:
            return frame
        kind = dict(frame.dtypes)[self.time]
        if kind not in ("bigint", "int", "decimal(20,0)"):
            raise _not_filetime(self.time, kind)
        column = quoted(self.time)
        ticks = f"CAST({column} AS BIGINT)"
        micros = f"({ticks} - pmod({ticks}, {_TICKS})) div {_TICKS} - {_SINCE_1601}"
        others = map(quoted, frame.columns)
        return frame.selectExpr(
            *(f"timestamp_micros({micros}) AS {c}" if c == column else c for c in others)
        )

    def times(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the times as timestamps.

        Args:
            table: The columns of the times.

        Raises:
            StreamError: They do not have the given format or unit.
        """
        columns = [table.column(name) for name in self.columns]
        if self.unit == FILETIME:
            return _from_filetime(columns[0], self.columns[0])
        texts = columns[0] if len(columns) == 1 else _joined(columns, self.columns)
        if self.time_format is not None:
            return _parsed(texts, self.time_column, self.time_format)
        try:
            return texts.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # some name a zone, or are no times
            return texts


def with_column(source: Any, name: str, values: pa.ChunkedArray) -> Any:
    """Return an Arrow table or a pandas DataFrame with a column, in place of one of its name."""
    if isinstance(source, pa.Table):
        place = source.schema.get_field_index(name)
        if place < 0:
            return source.append_column(name, values)
        return source.set_column(place, name, values)
    return source.assign(**{name: pd.Series(pd.arrays.ArrowExtensionArray(values), source.index)})


def _names_times(time: object) -> bool:
    if isinstance(time, tuple | list):
        return len(time) == 2 and all(isinstance(name, str) for name in time)
    return isinstance(time, str)


def _from_filetime(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    if not (arrow.is_number(kind) or pa.types.is_null(kind)):
        raise _not_filetime(name, arrow.described(kind))
    if pa.types.is_floating(kind):  # in pandas those with missing values
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), pc.round(column))
    try:
        ticks = arrow.filled(column.cast(pa.int64()), np.int64, 0)
    except pa.ArrowInvalid as error:
        raise StreamError(f"the column '{name}' holds no FILETIME: {error}") from error
    micros = arrow.integers(ticks // _TICKS - _SINCE_1601)
    micros = pc.if_else(column.is_valid().combine_chunks(), micros, pa.scalar(None, pa.int64()))
    return pa.chunked_array([micros.cast(pa.timestamp("us", "UTC"))])


def _not_filetime(name: str, holds: str) -> StreamError:
    return StreamError(
        f"unit='{FILETIME}' is given, but the time column '{name}' holds {holds}",
        expected="whole numbers: 100 nanoseconds each since 1601",
    )


def _joined(columns: list[pa.ChunkedArray], names: tuple[str, ...]) -> pa.ChunkedArray:
    """Return dates and times of day as texts with a blank between them."""
    parts: list[pa.ChunkedArray] = []
    kinds = (
        (pa.types.is_date, pa.types.is_timestamp),
        (pa.types.is_time, pa.types.is_duration),
    )
    for column, name, allowed in zip(columns, names, kinds, strict=True):
        part, kind = column, column.type
        if pa.types.is_dictionary(kind):
            part = column.cast(kind.value_type)
        elif pa.types.is_timestamp(kind) and kind.tz is None:
            part = column.cast(pa.date32(), safe=False)
        elif pa.types.is_duration(kind):
            micros = column.cast(pa.duration("us"), safe=False).cast(pa.int64())
            part = micros.cast(pa.time64("us"))
        if not (arrow.is_text(part.type) or any(is_such(kind) for is_such in allowed)):
            raise StreamError(
                f"the column '{name}' holds {arrow.described(kind)}",
                expected="dates, or texts" if name == names[0] else "times of day, or texts",
            )
        parts.append(_texts(part.cast(pa.large_string())))
    return pc.binary_join_element_wise(*parts, pa.scalar(" ", pa.large_string()))


def _parsed(column: pa.ChunkedArray, name: str, time_format: str) -> pa.ChunkedArray:
    """Return texts in a format as timestamps."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not arrow.is_text(column.type):
        raise StreamError(
            f"time_format={time_format!r} is given, but the time column '{name}' holds"
            f" {arrow.described(column.type)}",
            expected="texts, which a format is for",
            hint="leave time_format out",
        )
    zoned = "%z" in time_format
    values = _texts(column).combine_chunks().to_pandas()
    try:
        times = pd.to_datetime(values, format=time_format, errors="coerce", utc=zoned)
    except (ValueError, TypeError) as error:
        raise StreamError(
            f"time_format={time_format!r}: {error}",
            expected="a format of datetime.strptime, as '%d.%m.%Y %H:%M:%S'",
        ) from error
    failed = np.flatnonzero(times.isna().to_numpy() & values.notna().to_numpy())
    if len(failed):
        raise unreadable(
            name,
            values.iloc[failed[0]],
            int(failed[0]),
            f"a time in the format {time_format!r}",
            "a day of two digits is %d, a month %m, a year of four digits %Y, a fraction %f",
        )
    kind = pa.timestamp("us", "UTC" if zoned else None)
    return pa.chunked_array([pa.array(times, from_pandas=True).cast(kind, safe=False)])


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without blanks around them; those that mean null are null."""
    texts = pc.utf8_trim_whitespace(column)
    null = pc.is_in(pc.utf8_upper(texts), pa.array(NULLS, texts.type))
    return pc.if_else(null, pa.scalar(None, texts.type), texts)
