"""Fetches a small Spark stream into this process, where queries need no Spark jobs.

One job counts the part of a DataFrame that a pattern reads. If it is small, another job fetches it
through Arrow, and it is profiled, planned and searched like any local stream. A stream caches the
fetched part until `forget()`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepkit.errors import LimitError, StreamError
from cepkit.memory import free_memory
from cepkit.pattern.numbers import has_next
from cepkit.pattern.policies import CountWindow, Strategy
from cepkit.pattern.query import Query
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.cells.sending import types_of
from cepkit.spark.passes.extent import row_bytes
from cepkit.spark.passes.rows import StreamRows, batch_frame
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.stream import Stream
from cepkit.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

Where: TypeAlias = Literal["auto", "driver", "workers"]

LIMIT = "spark.cepkit.fetch.maxBytes"
"""The session setting for the most bytes to fetch by default; 0 for none."""

MOST_BYTES = 64 * 2**20
"""The most Arrow bytes to fetch by default, without that setting."""

_SHARE_OF_FREE = 4

Types: TypeAlias = frozenset[str] | None
"""Event types; None for any."""


@dataclass(eq=False, slots=True)
class Fetched:
    """The part of a DataFrame that a stream caches.

    Attributes:
        part: The events, as a stream in this process; None: nothing was small enough.
        types: Those of its events.
        refused: The requests that were too large: columns, types, and the limit.
        counts: The number of rows, and how many of them may have some types.
    """

    part: Stream | None = None
    types: Types = None
    refused: set[tuple[tuple[str, ...], Types, int]] = field(default_factory=set)
    counts: dict[Types, tuple[int, int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return 0 if self.part is None else self.part.source.nbytes + self.part.kept.size

    def has(self, columns: Collection[str], types: Types) -> bool:
        """Return whether the part has some columns of all events of some types."""
        return (
            self.part is not None
            and set(columns) <= set(self.part.column_names)
            and (self.types is None or (types is not None and types <= self.types))
        )


def fetched(
    stream: Stream,
    queries: Sequence[Query],
    attributes: Collection[str],
    *,
    where: Where = "auto",
    output: bool = True,
) -> Stream | None:
    """Return the part of a Spark stream that queries need as a local stream; None if it is large.

    Args:
        stream: Events in a Spark DataFrame.
        queries: The patterns; none: all events are needed.
        attributes: The columns that are read beside time and type.
        where: Whether to fetch the events ("driver") or not ("workers").
        output: Whether the columns of the output are needed as well.

    Raises:
        LimitError: They must be fetched but do not fit the free memory.
        StreamError: There is no such column, or Spark cannot hand it to Python; the session's
            limit is no number.
        UnsupportedError: The DataFrame is a stream.
    """
    if where == "workers":
        return None
    frame = batch_frame(stream)
    stream.schema.check(stream.column_names, attributes)
    schema = stream.schema if output else stream.schema.without_output()
    columns = schema.needed(stream.column_names, {*attributes, *stream.schema.roles})
    types = _types(queries)
    kept = stream.kept.fetched = stream.kept.fetched or Fetched()
    if kept.has(columns, types):
        return kept.part
    most = free_memory() // _SHARE_OF_FREE if where == "driver" else _most(frame)
    if not most or (columns, types, most) in kept.refused:
        return None
    if kept.part is not None:  # fetch the union, instead of alternating between two parts
        known = kept.part.column_names
        columns = tuple(name for name in stream.column_names if name in {*known, *columns})
    try:
        fields = arrow_columns(frame, stream.column_names, columns)
    except StreamError:
        if where == "driver" or not output:
            raise
        return None  # wait for a request that needs the output
    size, rows, of_types = _measured(stream, kept, fields, types, most)
    if rows is None:
        if where == "driver":
            raise LimitError(
                f"the events that the pattern needs take some {size / 1e6:,.0f} MB in this process",
                expected=f"at most {most / 1e6:,.0f} MB, a part of the memory that is free",
                hint='route="workers" leaves them in Spark',
            )
        kept.refused.add((columns, types, most))
        return None
    table: pa.Table = run_with_progress(rows.toArrow, "fetching")
    if len(table.schema) == len(fields):
        table = table.rename_columns(fields.names).cast(fields)
    carried = stream.schema.columns
    own = None if carried is None else tuple(name for name in carried if name in columns)
    kept.part, kept.types = Stream(table, replace(stream.schema, columns=own), columns), of_types
    return kept.part


def _types(queries: Sequence[Query]) -> Types:
    """Return the types of the events that queries need, None for all."""
    types = [None if _counts_arrivals(query) else types_of(query) for query in queries]
    named = [each for each in types if each is not None]
    return frozenset().union(*named) if types and len(named) == len(types) else None


def _counts_arrivals(query: Query) -> bool:
    contiguous = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)
    counted = isinstance(query.window, CountWindow) or has_next(query.structure)
    return query.strategy in contiguous or counted


def _most(frame: DataFrame) -> int:
    setting = frame.sparkSession.conf.get(LIMIT, None)
    if setting is not None and not setting.isdecimal():
        raise StreamError(f"{LIMIT}={setting}", expected="a number of bytes, 0 for none")
    limit = MOST_BYTES if setting is None else int(setting)
    return min(limit, free_memory() // _SHARE_OF_FREE)


def _measured(
    stream: Stream, kept: Fetched, fields: pa.Schema, types: Types, most: int
) -> tuple[float, DataFrame | None, Types]:
    """Return the size of the events, and the rows to fetch with their types if they fit.

    Args:
        stream: The stream.
        kept: What is known of it.
        fields: The columns that are needed, in Arrow.
        types: The types that are needed.
        most: The bytes that fit.
    """
    source = StreamRows(stream)
    # Include rows without a time or a type, to count them.
    fits = source.may_have(types) | source.no_type | source.no_time
    columns = [source.column(name) for name in fields.names]
    if types not in kept.counts:
        kept.counts[types] = _first(source.rows, F.count(F.lit(1)), F.count_if(fits))
    total, relevant = kept.counts[types]
    each, size = row_bytes(fields), 0.0
    for number, rows, of in (
        (total, source.rows, None),
        (relevant, source.rows.where(fits), types),
    ):
        size = number * each
        if size <= most:
            size += _extra(rows, columns, fields)
        if size <= most:
            return size, rows.select(*columns), of
    return size, None, None


def _extra(rows: DataFrame, columns: Sequence[Column], fields: pa.Schema) -> float:
    """Return by how much variable-width values, such as texts, exceed the estimate."""
    wide = [c for c, one in zip(columns, fields, strict=True) if not _has_width(one.type)]
    if not wide:
        return 0.0
    sums = (F.sum(F.octet_length(column.cast("string"))) for column in wide)
    return float(sum(size or 0 for size in _first(rows, *sums)))


def _has_width(kind: pa.DataType) -> bool:
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _first(rows: DataFrame, *columns: Column) -> Any:
    look: Callable[[], Any] = rows.agg(*columns).collect
    return run_with_progress(look, "counting")[0]
