"""A query made ready for a streaming DataFrame, or refused with the reason."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from pyspark.sql.classic.dataframe import DataFrame as Classic

from cepkit.arguments import check_range
from cepkit.columnar.compile.program import Clock
from cepkit.columnar.compile.query import CompiledQuery, compile_query
from cepkit.columnar.slices.cutting import cutting_clock, looks_ahead
from cepkit.columnar.slices.plans import SlicePlans
from cepkit.errors import StreamError, UnsupportedError
from cepkit.pattern.evaluation.kind_checks import check_kinds
from cepkit.pattern.nodes import bound_events_of
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.plan.nodes import Plan
from cepkit.spark.cells.keys import Key, common_key
from cepkit.spark.cells.sending import Sending, numbers_for, sending_for
from cepkit.spark.streaming.bucket import Bucket
from cepkit.spark.streaming.identity import Identity
from cepkit.spark.streaming.searches import MatchSearch
from cepkit.spark.streaming.timeouts import timeout_queries
from cepkit.stream.durations import duration_text
from cepkit.stream.sessions import check_session
from cepkit.stream.stream import Stream

BUCKETS = 16
"""Of a pattern with a key. Of a fixed number, as a checkpoint keeps to it on any cluster."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query made ready.

    Attributes:
        bucket: What is done with the events of a bucket.
        key: What the events of a match agree on, by which they are dealt out to buckets.
    """

    bucket: Bucket
    key: Key | None


def check_live(stream: Stream) -> Classic:
    """Return the streaming DataFrame of a stream.

    Raises:
        UnsupportedError: It is one of Spark Connect.
        StreamError: It is none.
        SessionError: Its session has been stopped.
    """
    frame = stream.source
    if not isinstance(frame, Classic):
        raise UnsupportedError(
            "streams over Spark Connect are not supported: how far the watermark is cannot be"
            " carried through the client's plans",
            hint="run it in a classic session",
        )
    check_session(frame)
    if stream.lateness is None:
        raise StreamError("a stream that is not a streaming DataFrame")
    return frame


def choose_buckets(key: Key | None, wanted: int | None) -> int:
    """Return into how many buckets keys are hashed.

    Args:
        key: What is hashed; None: there is one bucket.
        wanted: How many are; None: the usual number.

    Raises:
        UnsupportedError: Several are, and there is no key.
    """
    if wanted is not None:
        check_range("buckets", wanted, 1, 10_000)
        if key is None and wanted > 1:
            raise UnsupportedError(
                f"{wanted} buckets for a pattern without a key: any two events may be in a match",
                hint="PARTITION BY a column, or a.key = b.key for all events, makes it keyed",
            )
    return 1 if key is None else (wanted or BUCKETS)


def identity_of(
    stream: Stream, pattern: str, sending: Sending, buckets: int, **more: str
) -> Identity:
    """Return what a checkpoint belongs to: of a query or several, whose text is `pattern`."""
    return Identity(
        {
            "pattern": pattern,
            **more,
            "columns": ", ".join(f"{f.name} {f.type}" for f in sending.fields),
            "lateness": duration_text(0 if stream.lateness is None else stream.lateness.late),
            "buckets": str(buckets),
        }
    )


def prepare(
    stream: Stream,
    query: Query,
    plan: Plan,
    sets: Literal["every", "maximal"] = "every",
    *,
    timeouts: bool = False,
    plans: SlicePlans | None = None,
) -> Prepared:
    """Return what is to be done in the buckets of a stream for the matches of a query.

    Args:
        sets: Which sets of Kleene variables make matches.
        timeouts: Whether partial matches that time out are looked for too.
        plans: What says under which plan a bucket is searched when the watermark has moved; None:
            always `plan`. Here plans are exchanged: they are asked anew in each micro-batch.

    Raises:
        UnsupportedError: What must be remembered for the query has no bound, or no order.
        PatternError: A condition compares what cannot be compared.
    """
    compiled = compile_query(query, plan, sets)
    window = check_window(query, compiled)
    sending = sending_for(stream, (query,), compiled.attributes)
    check_kinds(query, sending.nothing.kinds)
    variables = tuple(event.variable for event in bound_events_of(query.structure))
    carried = sending.nothing.source.schema
    others = timeout_queries(query) if timeouts else ()
    every = [compiled, *(compile_query(other, as_plan(None, other)) for other in others)]
    searches = tuple(
        MatchSearch.of(
            one,
            variables,
            sending.schema.time,
            carried,
            window=window,
            ahead=looks_ahead(one.programs, "time"),
            kind="match" if one is compiled else "timed-out",
            plans=plans if one is compiled else None,
        )
        for one in every
    )
    keys = [common_key(one.programs) for one in every]
    key = keys[0] if all(each == keys[0] for each in keys) else None
    return Prepared(Bucket(sending, searches, in_turn=compiled.in_turn), key)


def check_window(query: Query, compiled: CompiledQuery) -> int:
    """Return the window in microseconds.

    Raises:
        UnsupportedError: There is none, or none in time.
    """
    _check_counts(query, numbers_for(compiled.programs, in_turn=False))
    clock, window = cutting_clock(compiled.programs)
    if window is None or clock != "time":
        raise UnsupportedError(
            "a pattern without a window, over a streaming DataFrame: any event could be in a match"
            " that is still to come, so all would have to be kept for ever",
            hint="WITHIN 5 minutes, or whatever bounds a match",
            span=None,
        )
    return window


def _check_counts(query: Query, numbers: Collection[Clock]) -> None:
    """Refuse what counts events in the order of their arrival.

    Raises:
        UnsupportedError: The query does.
    """
    if not numbers:
        return
    what = "contiguity" if "contiguity" in query.strategy else "a window in events"
    raise UnsupportedError(
        f"{what} over a streaming DataFrame: it counts events in the order of their arrival, and"
        " the rows of a streaming DataFrame have none that two readings would agree on",
        hint="WITHIN a duration, and STRATEGY skip-till-any-match or skip-till-next-match",
    )
