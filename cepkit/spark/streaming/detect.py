"""Detection over a streaming DataFrame, as a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from cepkit.arguments import check_range
from cepkit.errors import UnsupportedError
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.spark.cells.schemas import match_columns
from cepkit.spark.streaming.identity import Identity
from cepkit.spark.streaming.live import run_buckets
from cepkit.spark.streaming.pieces import unpacking
from cepkit.spark.streaming.prepare import check_live, prepare
from cepkit.spark.streaming.result import StreamMatches
from cepkit.stream.stream import Stream

BUCKETS = 16
"""Of a pattern with a key. Of a fixed number, as a checkpoint keeps to it on any cluster."""


def detect(
    stream: Stream,
    query: Query,
    plan: Plan,
    *,
    sets: Literal["every", "maximal"] = "every",
    buckets: int | None = None,
) -> StreamMatches:
    """Return the matches of a query in a streaming DataFrame, as a streaming DataFrame.

    Each match is told once, in append mode, when no event can come any more that would be part of
    it, or break it: `lateness` after its last event, with NOT at the end another window later.

    Args:
        stream: Events in a streaming DataFrame.
        query: The pattern, with a window in time.
        plan: How it is evaluated. A query may go on from its checkpoint under another.
        sets: Which sets of Kleene variables make matches.
        buckets: Into how many buckets the keys of the pattern are hashed, each of which one
            task evaluates; None: 16. Of a pattern without a key there is one.

    Raises:
        PatternError: A condition compares what cannot be compared.
        UnsupportedError: What must be remembered for the query has no bound.
    """
    frame = check_live(stream)
    prepared = prepare(stream, query, plan, sets)
    if buckets is not None:
        check_range("buckets", buckets, 1, 10_000)
        if prepared.key is None and buckets > 1:
            raise UnsupportedError(
                f"{buckets} buckets for a pattern without a key: any two events may be in a match",
                hint="PARTITION BY a column, or a.key = b.key for all events, makes it keyed",
            )
    count = (buckets or BUCKETS) if prepared.key is not None else 1
    bucket = prepared.bucket
    (search,) = bucket.searches
    identity = Identity(
        {
            "pattern": str(query),
            "sets": sets,
            "columns": ", ".join(f"{f.name} {f.type}" for f in bucket.sending.fields),
            "lateness": str(stream.lateness),
            "buckets": str(count),
        }
    )
    found = run_buckets(stream, bucket, prepared.key, count, identity)
    variables = tuple(event.variable for event in bound_events_of(query.structure))
    schema, repeated = bucket.sending.schema, repeated_in(query.structure)
    columns = match_columns(frame.schema, stream.column_names, variables, schema, repeated)
    rows = found.mapInArrow(unpacking(Reader(search.rows)), columns)
    return StreamMatches(
        rows, query=query, plan=plan, lateness=stream.lateness, search=search, buckets=count
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Makes rows of matches of what buckets tell.

    Attributes:
        matches: Their columns.
    """

    matches: pa.Schema

    def __call__(self, kind: str) -> Callable[[pa.Buffer], pa.RecordBatch] | None:
        """Return what reads the pieces of a kind."""
        if kind != "match":
            return None
        return lambda piece: pa.ipc.read_record_batch(piece, self.matches)
