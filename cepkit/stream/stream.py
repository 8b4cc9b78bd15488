"""A stream: the rows of a source, and its schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cepkit.arguments import typed
from cepkit.errors import StreamError, UnsupportedError
from cepkit.lazy import pa
from cepkit.stream.columns import EventColumns
from cepkit.stream.lateness import Lateness, check_event_time, check_lateness
from cepkit.stream.preview import Preview, shown_columns
from cepkit.stream.reading import readers, several, sources
from cepkit.stream.reading.arrival import check_arrival
from cepkit.stream.reading.column_cache import ColumnCache, load, parts_if_large
from cepkit.stream.reading.file_parts import FileParts
from cepkit.stream.reading.ingest import check_type, is_readable
from cepkit.stream.reading.pandas_columns import from_pandas
from cepkit.stream.reading.sources import is_pandas, is_spark
from cepkit.stream.reading.time_range import in_range, spark_condition
from cepkit.stream.reading.times import microseconds
from cepkit.stream.reading.written import Written
from cepkit.stream.schema import Schema, Ties
from cepkit.stream.sessions import check_session, run_job
from cepkit.stream.warnings import warn_of_unit

if TYPE_CHECKING:
    from cepkit.stream.replay import Replay

Place = Literal["local", "spark"]

_CHECKED_ROWS = 100


@dataclass(frozen=True, eq=False, slots=True)
class Stream:
    """Events in an unmodified source, from `events`.

    Attributes:
        source: A pandas DataFrame, an Arrow table, a path, or a Spark DataFrame. It is read when
            the events are needed, so it should not change. Columns read from files and Arrow
            tables, and small Spark DataFrames once fetched, are cached (see `forget`); changed
            files are read again.
        schema: The roles of its columns, and the meaning of its times.
        column_names: The columns of the source.
        lateness: The allowed lateness of a streaming DataFrame; None for recorded events.
        files: The files whose rows the source is, in words; None: it was given as it is.
        kept: The cache.
    """

    source: Any
    schema: Schema
    column_names: tuple[str, ...]
    lateness: Lateness | None = None
    files: str | None = None
    kept: ColumnCache = field(default_factory=ColumnCache, init=False, repr=False)

    @property
    def place(self) -> Place:
        """The place of the events: this process ("local") or a Spark session ("spark")."""
        return "spark" if is_spark(self.source) else "local"

    def columns(self, attributes: Iterable[str] | None = None) -> EventColumns:
        """Load the events as columns in stream order.

        Args:
            attributes: The columns that conditions read; None for all that they can read.

        Returns:
            Events sorted by time, then by arrival.

        Raises:
            StreamError: A column is missing, a time is invalid, or conditions cannot read an
                attribute.
            UnsupportedError: The events are in Spark.
        """
        names = self.column_names
        if attributes is None:
            rows = self._table(self.schema.carried(names))
            attributes = [field.name for field in rows.schema if is_readable(field.type)]
        required = tuple(dict.fromkeys(attributes))
        self.schema.check(names, required)
        self._check_local()
        return load(self.source, self.schema, names, required, self.kept)

    def parts(self, attributes: Iterable[str]) -> FileParts | None:
        """Return the parts of Parquet files that are better not loaded as a whole; else None.

        These are files whose columns would not be kept (see `forget`).

        Args:
            attributes: The columns that conditions read.
        """
        required = tuple(dict.fromkeys(attributes))
        return parts_if_large(self.source, self.schema, self.column_names, required, self.kept)

    def forget(self) -> None:
        """Drop the cached columns; they will be read again.

        A stream of a file or an Arrow table caches up to 1 GiB and a quarter of the free memory;
        its repr shows how much. A small Spark DataFrame is fetched once and cached, too: this makes
        it read again.
        """
        self.kept.forget()

    @typed
    def head(self, n: int = 5) -> Stream:
        """Return the first events in stream order as a local stream.

        From Spark, a job fetches the first `n` rows; the order of rows with the same time is then
        undefined, unless there is an arrival column.
        """
        if n < 0:
            raise StreamError(f"the first {n} events", expected="a number that is not negative")
        if self.place == "spark":
            check_all_there(self)
            check_session(self.source)
            rows = self.source.dropna(subset=[self.schema.time, self.schema.typed_by])
            rows = rows.orderBy(*(r for r in self.schema.roles if r != self.schema.type)).limit(n)
            fetch = (
                rows.toArrow if hasattr(rows, "toArrow") else lambda: from_pandas(rows.toPandas())
            )
            table = run_job(self.source, fetch, "fetching events")
            return Stream(table, self.schema, self.column_names)
        columns = self.columns(())
        first = pa.array(columns.source_rows(np.arange(min(n, len(columns)))))
        only = self.schema.columns
        table = columns.source if only is None else self._table(self.column_names)
        return Stream(table.take(first), self.schema, self.column_names)

    @typed
    def replay(
        self,
        folder: str | PathLike[str],
        *,
        speed: float = 60.0,
        disorder: str | timedelta = "0 seconds",
        every: str | timedelta = "1 second",
        seed: int = 0,
    ) -> Replay:
        """Play a recorded stream again: its events come into a folder as files.

        Args:
            folder: A folder that is empty or not there yet.
            speed: How many times as fast as recorded.
            disorder: The most by which an event arrives after it happened; drawn evenly for each
                event.
            every: The time between two files.
            seed: The seed of the random generator.

        Returns:
            The replay: `start()` and `stop()` it, or `put(n)` files by hand; `frame()` is the
            folder as a streaming DataFrame.

        Raises:
            StreamError: The folder has something in it, or there are no events.
            UnsupportedError: The events are in Spark.

        Example:
            >>> import tempfile
            >>> import cepkit as ck
            >>> folder = tempfile.TemporaryDirectory()
            >>> recorded = ck.events(ck.sample_stocks(500), time="ts", type="ticker")
            >>> files = recorded.replay(f"{folder.name}/in", speed=10)
            >>> files.put(2)
            2
            >>> files.written, len(files.files)
            (2, 4)
        """
        from cepkit.stream.replay import replay

        return replay(
            self.columns(()), self.schema.time, Path(folder),
            speed=speed, disorder=disorder, every=every, seed=seed,
        )  # fmt: skip

    def rows(self) -> Any:
        """Return the source, or its rows in the time range as an Arrow table.

        Raises:
            UnsupportedError: The stream is a streaming DataFrame.
        """
        check_all_there(self)
        if self.place == "spark" or not self.schema.has_range:
            return self.source
        return self._table(self.column_names)

    def __len__(self) -> int:
        """Return the number of events: of rows with a time and a type."""
        return len(self.columns(()))

    def __bool__(self) -> bool:
        """Return True: asking whether there is a stream should not count its events."""
        return True

    def __repr__(self) -> str:
        try:
            return self._preview().text()
        except Exception as error:  # noqa: BLE001 - a repr that raises hides the real problem
            return f"Stream: cannot be shown ({type(error).__name__})"

    def _repr_html_(self) -> str:
        try:
            return self._preview().html()
        except Exception as error:  # noqa: BLE001 - as above
            return f"<p>Stream: cannot be shown ({type(error).__name__})</p>"

    def _preview(self) -> Preview:
        if self.place == "spark":
            title = "a Spark DataFrame"
            if self.lateness is not None:
                title = f"a streaming Spark DataFrame, {self.lateness}"
            title += self._kept_text()
            return Preview(title, self.schema, self.column_names, None)
        columns = shown_columns(self.column_names, self.schema)
        rows = None
        if not self.schema.has_range:  # finding the first of a range may take long
            rows = sources.first_rows(self.source, columns, self.column_names, 5)
        if isinstance(self.source, Path):
            count = readers.row_count(self.source)
            title = f"the file {self.source.name}"
        else:
            count = len(self.source)
            arrow = isinstance(self.source, pa.Table)
            title = self.files or ("an Arrow table" if arrow else "a pandas DataFrame")
        if count is not None:
            title += f", {count:,} row{'' if count == 1 else 's'}"
        if self.schema.has_range:
            title = f"a time range of {title}"
        return Preview(title + self._kept_text(), self.schema, self.column_names, rows)

    def _kept_text(self) -> str:
        return f", {self.kept.size / 1e6:,.1f} MB kept in memory" if self.kept.size else ""

    def _table(self, columns: tuple[str, ...]) -> pa.Table:
        self._check_local()
        return sources.all_rows(self.source, columns, self.column_names, self.schema)

    def _check_local(self) -> None:
        if self.place == "spark":
            raise UnsupportedError(
                "the events are in Spark and are not loaded into this process",
                hint="profile, detect and aggregate run there; stream.head(1000) fetches the first",
            )


@typed
def events(
    source: Any,
    *,
    time: str | tuple[str, str],
    type: str | None = None,  # noqa: A002 - the word for it
    unit: str | None = None,
    timezone: str | None = None,
    columns: Iterable[str] | None = None,
    arrival: str | None = None,
    ties: Ties = "none",
    lateness: str | timedelta | None = None,
    max_ahead: str | timedelta | None = None,
    since: Any = None,
    until: Any = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    time_format: str | None = None,
) -> Stream:
    """Return a stream: a source whose rows are events.

    Windows in events and contiguity count events in the order of arrival. That is the order of the
    rows, unless `arrival` names a column for it. The rows of a Spark DataFrame have a reliable
    order only if it is read from files, or sorted; otherwise pass `arrival`.

    Rows need not be sorted. Equal rows are different events. Rows without a time or a type are left
    out, counted and reported.

    Args:
        source: A pandas or Spark DataFrame, an Arrow table (or an object that exports one, such as
            a Polars frame, a DuckDB relation or an ibis table; a lazy one is computed now), a list
            of dictionaries, or the path of a CSV, Parquet or JSON file or of a folder of CSV or
            Parquet files. JSON is an object in each line or one array of them, read at once. Fields
            of structs and of objects inside of objects are columns: `user.name`. Or several of
            these: a list of them, or a mapping that has a name for each, which is the type of its
            events. A column that one of them lacks is missing there.
        time: The time column: timestamps, dates, numbers with a `unit`, ISO 8601 texts or those of
            a `time_format`. Two columns, ("date", "time"), become one, "date_time".
        type: The column of the event type; numbers and booleans are read as texts. None: the rows
            have no types; a pattern says `ANY a`, or has kinds of its own (DEFINE).
        unit: The unit of numeric times since 1970: "s", "ms", "us", "ns", "min", "h" or "d"; or
            "filetime", that of Windows since 1601.
        timezone: The zone of times without one (IANA name or offset); None is UTC. Conditions read
            its clock, as in `hour(a.ts)`, and results show it; without it they do that of the time
            column, where this is pandas or Arrow in a zone.
        columns: The columns of the output besides time and type; None for all. Conditions may read
            the others too.
        arrival: The column with the order of arrival: numbers or times, a different value for each
            event. It also orders events of equal time. In a streaming DataFrame events are counted
            in time order, and this column orders only events of equal time.
        ties: The order of events of equal time: "none", so that neither is before the other, or
            that of their "arrival", as in other engines: SEQ(A a, B b) then finds a b of the same
            time that came later. Windows still measure times. A streaming DataFrame needs an
            arrival column for it.
        lateness: For a streaming DataFrame (`spark.readStream`): how much earlier an event may be
            than the latest event before it, as "10 seconds". Matches are emitted that much later;
            events that come later still are left out and counted.
        max_ahead: For a streaming DataFrame: how far the time of an event may be ahead of the
            system clock. A single event from the year 2100 would make all others late; with
            "1 hour" it is left out and counted. None for no limit.
        since: The begin of a time range: a text in ISO 8601, a datetime or date, or a number in
            `unit`; without a zone it is of `timezone`. Only rows of that time or later are events.
            Parquet files are read only where their statistics allow such times; Spark gets a
            filter. Not for a streaming DataFrame.
        until: The end of the range, which is not in it.
        sep: What separates the fields of a CSV file, as ";". With one of the options of CSV files
            the file is read at once.
        decimal: The decimal point of a CSV file, as ",".
        encoding: The encoding of a CSV file, as "latin-1"; None is UTF-8.
        time_format: The format of times that are texts, as "%d.%m.%Y %H:%M:%S"
            (`datetime.strptime`); `%f` is a fraction, `%z` an offset. For two columns that of both,
            with a blank between them.

    Returns:
        The stream; only the beginning of the source has been read.

    Raises:
        StreamError: A column is missing or occurs twice, a unit or zone is unknown, a file cannot
            be read, a time is invalid, or the time range is empty.
        UnsupportedError: The ties of a streaming DataFrame are by arrival, without an arrival
            column; a streaming DataFrame has a time range, or Spark cannot filter by it.
        SessionError: The session of the Spark DataFrame has been stopped.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "ticker": "MSFT", "price": 30.0},
        ...     {"ts": 2, "ticker": "GOOG", "price": 31.0},
        ... ]
        >>> print(ck.events(trades, time="ts", type="ticker", unit="s"))
        Stream: an Arrow table, 2 rows
          time: ts, type: ticker, unit: s, time zone: UTC where none is given
          columns: ts, ticker, price
          ts  ticker  price
          1   MSFT    30.0
          2   GOOG    31.0
    """
    if isinstance(columns, str):
        columns = (columns,)
    carried = None if columns is None else tuple(columns)
    written = Written(time, unit, sep, decimal, encoding, time_format)
    time, unit = written.time_column, written.time_unit
    tables = sources.tables_of(source)
    named = tables is not None and isinstance(source, Mapping)
    types = type or several.TYPE if named else type
    schema = Schema(time, types, unit, timezone, carried, arrival, ties)
    if since is not None or until is not None:
        schema = in_range(schema, since, until)
    files = None if tables is None else f"{len(tables)} tables"
    given = source
    if tables is None:
        source = sources.accepted(source, written)
    else:
        source = several.together(tables, written, types if named else None)
    streaming = is_spark(source) and bool(getattr(source, "isStreaming", False))
    limits = None
    if streaming or lateness is not None or max_ahead is not None:
        limits = check_lateness(streaming, lateness, max_ahead, schema)
    names = sources.column_names(source)
    _hint_at_index(source, schema, names)
    schema.check(names)
    if is_spark(source):
        check_session(source)
    roles = tuple(dict.fromkeys(schema.roles))
    beginning = sources.first_rows(source, roles, names, _CHECKED_ROWS)
    if streaming:
        check_event_time(beginning.column(time).type, time)
    first = microseconds(beginning.column(time), time, unit=unit, timezone=timezone)
    warn_of_unit(time, first, written.unit)
    if not is_spark(source):  # which has instants; the zone of its session is none of theirs
        zone = getattr(beginning.column(time).type, "tz", None)
        schema = replace(schema, column_zone=zone)
    if types is not None:
        check_type(beginning.column(types).type, types)
    if arrival is not None:
        check_arrival(beginning.column(arrival).type, arrival)
    if is_spark(source) and schema.has_range:
        source = source.where(spark_condition(beginning.column(time).type, time, schema))
    if isinstance(given, str | PathLike):
        files = f"the {'folder' if tables else 'file'} {Path(given).name}"
    return Stream(source, schema, names, limits, files)


def check_stream(stream: object, *, beside: object = None) -> None:
    """Check that a value is a stream.

    Args:
        stream: The argument of a verb.
        beside: The argument after it.

    Raises:
        StreamError: The value is not a stream.
    """
    if not isinstance(stream, Stream):
        hint = "cepkit.events(data, time='ts', type='type') makes one of a DataFrame or a path"
        if isinstance(beside, Stream):
            hint = "the stream comes first: are the two arguments swapped?"
        raise StreamError(f"a {type(stream).__name__} instead of a stream", hint=hint)


def check_all_there(stream: Stream) -> None:
    """Refuse a streaming DataFrame: the request needs all events.

    Raises:
        UnsupportedError: The stream is a streaming DataFrame.
    """
    if stream.lateness is not None:
        raise UnsupportedError(
            "this needs all events of a stream, and a streaming DataFrame has no end",
            hint="use the source of the stream: spark.read instead of spark.readStream",
        )


def carrying(stream: Stream, names: Iterable[str] | None) -> Stream:
    """Return a stream that has further columns in its output; None for all."""
    own = stream.schema.columns
    if own is None:
        return stream
    columns = None if names is None else tuple(dict.fromkeys((*own, *names)))
    return replace(stream, schema=replace(stream.schema, columns=columns))


def _hint_at_index(source: Any, schema: Schema, names: tuple[str, ...]) -> None:
    if not is_pandas(source):
        return
    for name in schema.roles:
        if name not in names and name in source.index.names:
            raise StreamError(
                f"'{name}' is the index of the DataFrame, not a column",
                hint="pass df.reset_index()",
            )
