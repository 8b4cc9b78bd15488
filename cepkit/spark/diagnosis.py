"""Fetches the events of a Spark stream that "why not?" needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from cepkit.diagnosis.question import check_names, ids
from cepkit.errors import LimitError, StreamError, UnsupportedError
from cepkit.pattern.numbers import counts_arrivals
from cepkit.pattern.policies import Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.spark.cells.sending import types_of
from cepkit.spark.passes.rows import StreamRows, batch_frame
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.stream import Stream

FIRST = 200_000
"""The number of events to fetch if none are named."""

MOST = 1_000_000
"""The most events near named ones to fetch; more are refused."""

_WINDOWS = 2
"""The number of windows before and after the named events to fetch: the reach of near misses."""


def local_part(
    stream: Stream,
    query: Query,
    events: Mapping[str, Any],
    id: str | None,  # noqa: A002
) -> tuple[Stream, tuple[str, ...]]:
    """Return the events of a Spark stream that an answer needs, as a local stream.

    Returns:
        The events, and notes for the user.

    Raises:
        StreamError: Events are named by row: rows of Spark have no numbers.
        UnsupportedError: The answer depends on arrival, or on all events before.
        LimitError: The events near the named ones are too many.
    """
    check_names(query, events)
    names, rows = batch_frame(stream).columns, StreamRows(stream)
    _refuse(query, events, id)
    of_types = rows.may_have(types_of(query))
    if not events:
        of_type = rows.rows.where(of_types).toDF(*names)
        part = Stream(of_type, stream.schema, stream.column_names).head(FIRST)
        notes = [] if id is not None else ["rows are counted in what was fetched from Spark"]
        if len(part.source) == FIRST:
            notes.append(f"of Spark the first {FIRST:,} events of the pattern's types were fetched")
        return part, tuple(notes)
    assert id is not None
    stream.schema.check(stream.column_names, (id,))
    is_named = rows.column(id).isin([v for each in events.values() for v in ids(each)])
    assert isinstance(query.window, TimeWindow)
    around = _WINDOWS * query.window.microseconds / 1e6 + 1.0

    def fetch() -> pa.Table:
        ends = rows.rows.where(is_named).agg(F.min(rows.seconds), F.max(rows.seconds)).first()
        near = is_named
        if ends is not None and ends[0] is not None:
            near |= rows.seconds.between(ends[0] - around, ends[1] + around) & of_types
        return rows.rows.where(near).limit(MOST + 1).toDF(*names).toArrow()

    table = run_with_progress(fetch, "fetching events")
    if len(table) > MOST:
        raise LimitError(
            f"more than {MOST:,} events lie near the named ones",
            hint="name events that are closer to each other, or narrow the stream by a filter",
        )
    note = f"the {len(table):,} events within two windows of the named ones were fetched from Spark"
    return Stream(table, stream.schema, stream.column_names), (note,)


def _refuse(query: Query, events: Mapping[str, Any], column: str | None) -> None:
    hint = "fetch a part of the stream and ask about that: why_not(stream.head(10_000), ...)"
    if counts_arrivals(query):
        raise UnsupportedError(
            "on Spark the order of arrival is not known, which this pattern depends on", hint=hint
        )
    if not events:
        return
    if column is None:
        raise StreamError(
            "rows of a Spark DataFrame have no numbers",
            hint="id='column' names events by their values in a column",
        )
    if query.strategy is Strategy.SKIP_TILL_NEXT_MATCH or not isinstance(query.window, TimeWindow):
        what = "skip-till-next-match" if query.window else "a pattern without a window"
        raise UnsupportedError(
            f"of {what} the answer may depend on any event of the stream", hint=hint
        )
