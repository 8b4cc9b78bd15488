"""Detection over a streaming DataFrame, as a streaming DataFrame."""

from __future__ import annotations

from typing import Literal

from pyspark.sql import DataFrame

from cepkit.columnar.results.output import END, START, MatchColumns
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.spark.cells.schemas import event_type, match_columns
from cepkit.spark.streaming.live import Live
from cepkit.spark.streaming.pieces import unpacking
from cepkit.spark.streaming.prepare import check_live, dealt_out, identity_of, prepare
from cepkit.spark.streaming.result import StreamMatches
from cepkit.spark.streaming.rows import MatchRows
from cepkit.stream.stream import Stream


def detect(
    stream: Stream,
    query: Query,
    plan: Plan,
    *,
    sets: Literal["every", "maximal"] = "every",
    buckets: int | None = None,
    slice_seconds: float | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
    plans: SlicePlans | None = None,
) -> StreamMatches:
    """Return the matches of a query in a streaming DataFrame, as a streaming DataFrame.

    Each match is emitted once, in append mode, when no event can come any more that would belong to
    it or break it: `lateness` after its last event, with NOT at the end another window later.

    Args:
        stream: Events in a streaming DataFrame.
        query: The pattern, with a window.
        plan: How it is evaluated. A query may continue from its checkpoint with another plan.
        sets: Which sets of Kleene variables make matches.
        buckets: The number of buckets that keys of the pattern are hashed into; one task evaluates
            a bucket. None: 16, or one for a pattern without a key.
        slice_seconds: The length of the slices of time that are assigned to buckets, for a pattern
            without a key; None: one bucket has all events.
        late: Whether events that are late or too far ahead are only counted, or are rows as well.
        timeouts: Whether partial matches that time out are rows as well.
        plans: Chooses the plan of a bucket each time the watermark has moved; None: always `plan`.

    Raises:
        PatternError: A condition compares values that cannot be compared.
        UnsupportedError: The events to keep for the query have no bound.
    """
    frame = check_live(stream)
    prepared = prepare(stream, query, plan, sets, timeouts=timeouts, plans=plans)
    bucket, count = dealt_out(prepared, buckets, slice_seconds)
    search = bucket.searches[0]
    identity = identity_of(stream, str(query), bucket, count, sets=sets, timeouts=str(timeouts))
    schema = bucket.sending.schema
    matches = MatchColumns.of(query, schema)
    columns = match_columns(frame.schema, stream.column_names, matches, search.rows)
    output = MatchRows(
        search.rows,
        bucket.sending.nothing.source.schema,
        bucket.sending.fields,
        [name for name in search.rows.names if name not in (START, END)],
        late == "collect",
        timeouts,
    )
    output.check_names()
    spark_columns = output.columns(columns, event_type(frame.schema, stream.column_names, schema))

    def rows(pieces: DataFrame) -> DataFrame:
        return pieces.mapInArrow(unpacking(output), spark_columns)

    live = Live(bucket, identity, prepared.key, count, rows)
    return StreamMatches(stream, live, query, plan)
