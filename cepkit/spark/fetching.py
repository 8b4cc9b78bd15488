"""Fetches a small Spark stream into this process, where queries need no Spark jobs.

One job counts the part of a DataFrame that a pattern reads. If it is small, another job fetches it
through Arrow, and it is profiled, planned and searched like any local stream. Rows that the JVM
holds, those of a local table, need not be counted. Local Parquet files are counted and read without
a job. A stream caches the fetched part until `forget()`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from cepkit.errors import LimitError, StreamError
from cepkit.memory import free_memory
from cepkit.pattern.numbers import counts_arrivals
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.cells.sending import types_of
from cepkit.spark.passes.collected_rows import CollectedRows
from cepkit.spark.passes.extent import row_bytes
from cepkit.spark.passes.file_rows import file_rows
from cepkit.spark.passes.kept import kept_of
from cepkit.spark.passes.part import Part, Rows, Types
from cepkit.spark.passes.rows import batch_frame
from cepkit.spark.session.warming import warm_workers
from cepkit.stream.reading.times import microseconds
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import warn_of_unit

Where: TypeAlias = Literal["auto", "driver", "workers"]

LIMIT = "spark.cepkit.fetch.maxBytes"
"""The session setting for the most bytes to fetch by default; 0 for none."""

MOST_BYTES = 64 * 2**20
"""The most Arrow bytes to fetch by default, without that setting."""

MOST_BYTES_OF_FILES = 512 * 2**20
"""The same for local Parquet files, which need not pass through Spark."""

_SHARE_OF_FREE = 4
_SOME = 100


def fetched(
    stream: Stream,
    queries: Sequence[Query],
    attributes: Collection[str],
    *,
    where: Where = "auto",
    output: bool = True,
) -> Stream | None:
    """Return the part of a Spark stream that queries need as a local stream; None if it is large.

    Raises:
        LimitError: They must be fetched but do not fit the free memory.
        StreamError: There is no such column, or Spark cannot hand it to Python; the session's
            limit is no number.
        UnsupportedError: The DataFrame is a stream.
    """
    if where == "workers":
        warm_workers(stream.source)
        return None
    frame = batch_frame(stream)
    stream.schema.check(stream.column_names, attributes)
    schema = stream.schema if output else stream.schema.without_output()
    columns = schema.needed(stream.column_names, {*attributes, *stream.schema.roles})
    types, in_order = _types(queries), _follow_order(stream, queries)
    kept = kept_of(stream)
    if kept.has(columns, types, in_order=in_order):
        return kept.part
    most, most_of_files = _most(frame, where)
    if not most or (columns, types, most) in kept.refused:
        return None
    if kept.part is not None:  # fetch the union, instead of alternating between two parts
        known = kept.part.column_names
        columns = tuple(name for name in stream.column_names if name in {*known, *columns})
        in_order |= kept.part.in_order
    try:
        fields = arrow_columns(frame, stream.column_names, columns)
    except StreamError:
        if where == "driver" or not output:
            raise
        return None  # wait for a request that needs the output
    rows: Rows | None = file_rows(stream, fields, in_order=in_order)
    try:
        found = None if rows is None else _least(rows, types, fields, most_of_files)
    except (pa.ArrowException, OSError, StreamError):
        found = None  # Spark reads it, or tells what is wrong
    if rows is None or found is None:
        rows = CollectedRows(stream, fields)
        held = rows.held(most)
        found = _least(rows, types, fields, most) if held is None else (held, None)
    table, of = found
    if not isinstance(table, pa.Table):
        if where == "driver":
            raise LimitError(
                f"the events that the pattern needs take some {table / 1e6:,.0f} MB in this"
                " process",
                expected=f"at most {most / 1e6:,.0f} MB, a part of the memory that is free",
                hint='spark=SparkOptions(route="workers") leaves them in Spark',
            )
        kept.refused.add((columns, types, most))
        warm_workers(frame)
        return None
    carried = stream.schema.columns
    own = None if carried is None else tuple(name for name in carried if name in columns)
    schema = replace(stream.schema, columns=own)
    if schema.unit is not None:
        some = table.column(schema.time).slice(0, _SOME)
        warn_of_unit(schema.time, microseconds(some, schema.time, unit=schema.unit), schema.unit)
    kept.part, kept.types = (
        Part(table, schema, columns, origin=rows.origin, in_order=rows.in_order),
        of,
    )
    return kept.part


def _least(
    rows: Rows, types: Types, columns: pa.Schema, most: int
) -> tuple[pa.Table | float, Types]:
    """Return all rows if they fit, else those of some types, and the types of these.

    Returns:
        Instead of a table the bytes of the rows, if they do not fit.
    """
    found: pa.Table | float = 0.0
    for of in dict.fromkeys((None, types)):
        found = rows.number(of) * row_bytes(columns)
        if found <= most:
            found = rows.read(of, most)
        if isinstance(found, pa.Table):
            return found, of
    return found, types


def _types(queries: Sequence[Query]) -> Types:
    """Return the types of the events that queries need, None for all."""
    types = [None if counts_arrivals(query) else types_of(query) for query in queries]
    named = [each for each in types if each is not None]
    return frozenset().union(*named) if types and len(named) == len(types) else None


def _follow_order(stream: Stream, queries: Sequence[Query]) -> bool:
    """Return whether queries depend on the order of rows."""
    if stream.schema.arrival is not None:
        return False
    chosen = any(
        query.strategy is not Strategy.SKIP_TILL_ANY_MATCH or query.after_match is not None
        for query in queries
    )
    return chosen or stream.schema.by_arrival or any(map(counts_arrivals, queries))


def _most(frame: DataFrame, where: Where) -> tuple[int, int]:
    """Return the most bytes to fetch through Spark, and from files."""
    free = free_memory() // _SHARE_OF_FREE
    if where == "driver":
        return free, free
    setting = frame.sparkSession.conf.get(LIMIT, None)
    if setting is not None and not setting.isdecimal():
        raise StreamError(f"{LIMIT}={setting}", expected="a number of bytes, 0 for none")
    limits = (MOST_BYTES, MOST_BYTES_OF_FILES) if setting is None else (int(setting),) * 2
    return min(limits[0], free), min(limits[1], free)
