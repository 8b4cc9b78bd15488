"""A piece of a Spark stream with some of its matches, in this process: to look at them closely."""

from __future__ import annotations

from typing import Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepkit.columnar.results.matches import Matches
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.policies import Strategy, TimeWindow
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.spark.cells.schemas import quoted
from cepkit.stream.stream import Stream

_FOUND = 200
"""Matches of which the earliest begins the piece: no more tasks run than find so many."""


def matches_of_piece(
    stream: Stream,
    found: DataFrame,
    query: Query,
    plan: Plan,
    *,
    limit: int | None,
    sets: Literal["every", "maximal"],
    events: int,
) -> tuple[Matches, str]:
    """Return the matches in a piece of a Spark stream, and which piece that is, in words.

    It begins with the earliest of the first matches that Spark finds. Where what is a match
    depends on all events before it begins with the stream.

    Args:
        found: All matches, as Spark finds them.
        limit: The most matches wanted.
        sets: Which sets of Kleene variables make matches.
        events: The most events of the piece.
    """
    begin = None if _depends_on_all(query) else _earliest(stream, found, query)
    rows, since = stream.source, ""
    if begin is not None:
        rows = rows.where(F.col(quoted(stream.schema.time)) >= F.lit(begin))
        since = f" from {begin} on"
    piece = Stream(rows, stream.schema, stream.column_names).head(events)
    matches = Matches(piece, query, plan, limit=limit, sets=sets)
    return matches, f"{len(piece):,} events{since}"


def _depends_on_all(query: Query) -> bool:
    """Return whether more than the events within a window tells what is a match."""
    in_turn = query.strategy is Strategy.SKIP_TILL_NEXT_MATCH or query.after_match is not None
    return in_turn or not isinstance(query.window, TimeWindow)


def _earliest(stream: Stream, found: DataFrame, query: Query) -> Any:
    """Return when the earliest of some matches begins, as the time column has it; None: unknown."""
    single = [event.variable for event in bound_events_of(query.structure)]
    # A set may be earlier than all others, and RETURN may leave events out.
    if repeated_in(query.structure) or query.returned:
        return None
    time = quoted(stream.schema.time)
    times = [F.col(f"{quoted(name)}.{time}") for name in single]
    earliest = F.least(*times) if len(times) > 1 else times[0]
    rows = found.select(earliest.alias("begin")).limit(_FOUND).agg(F.min("begin")).collect()
    return rows[0][0]
