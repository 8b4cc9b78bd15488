"""Matches: found here or on Spark, along a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from cepkit.api.arguments import Pattern, checked, measured, order_matters
from cepkit.arguments import typed
from cepkit.errors import StreamError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.plan.checks import as_plan
from cepkit.planners import choose as choosing
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.columnar.results.matches import Matches
    from cepkit.plan.nodes import OrderPlan, Plan
    from cepkit.spark.matches.result import SparkMatches
    from cepkit.spark.streaming.result import StreamMatches


@typed
def detect(
    stream: Stream,
    pattern: Pattern,
    plan: Plan | OrderPlan | Sequence[str] | None = None,
    *,
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    buckets: int | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
) -> Matches | SparkMatches | StreamMatches:
    """Find all matches of a pattern.

    Nothing is computed before it is asked for.

    Args:
        stream: From `events`.
        pattern: The query, or its text.
        plan: From `choose_plan`; or the order of the variables, as ["c", "b", "a"]; None to
            profile the stream and take the cheapest plan. What a streaming DataFrame will bring
            nobody can profile: None is then the order of the pattern.
        limit: The most matches wanted.
        sets: Which sets of Kleene variables make matches: "every" non-empty one, or "maximal":
            for each choice of the other events the largest set alone. The number of matches is
            what `.count()` gives, without making them. Under skip-till-next-match it makes no
            difference: a set takes all it can.
        slice_seconds: On Spark, the length of a time slice of un-keyed patterns; None chooses it
            from the statistics so that a worker's memory is bounded.
        slice_events: The same in events, for windows in events and contiguity.
        buckets: Of a streaming DataFrame, into how many buckets the keys of the pattern are hashed,
            each of which one task evaluates; None: 16. A checkpoint keeps to the number.
        late: Of a streaming DataFrame, whether events that come too late, or lie too far ahead, are
            only counted (in each micro-batch's progress), or rows as well: a column `kind` then
            says what a row is ("match", "late", "ahead"), `event` has the event.
        timeouts: Of a streaming DataFrame, whether partial matches that time out are rows as well,
            of SEQ and AND: of the first variables in the order of the pattern, where no event came
            in the window that could have been the next. `kind` is "timed-out", `awaited` the
            variable that did not come, `window_end` when it could have come at the latest.

    Returns:
        From Spark a Spark DataFrame, otherwise `Matches`; both with a struct column for each
        variable, `match_start` and `match_end`, in no particular order, and `explain()`. Of a
        streaming DataFrame a streaming one with the same columns: each match comes once, in append
        mode, when no event can come any more that is part of it or breaks it.

    Raises:
        PatternError: The pattern reads a column that the stream does not have, or compares what
            cannot be compared.
        UnsupportedError: The pattern has a part that this release cannot detect.
        PlanError: The plan is not one of this pattern.
        LimitError: When matches are asked for: there would be too many sets to write or to try, or
            too many matches to hold in memory.
    """
    query = detectable(stream, pattern)
    if limit is not None and limit < 0:
        raise StreamError(f"a limit of {limit} matches", expected="0 or more")
    if late not in ("count", "collect"):
        raise StreamError(f"late={late!r}", expected="'count' or 'collect'")
    if sets not in ("every", "maximal"):
        raise StreamError(f"sets={sets!r}", expected="'every' or 'maximal'")
    if slice_seconds is not None and not slice_seconds > 0:
        raise StreamError(f"slices of {slice_seconds} seconds", expected="more than 0")
    if slice_events is not None and slice_events < 1:
        raise StreamError(f"slices of {slice_events} events", expected="1 or more")
    if stream.lateness is not None:
        _check_live_options(limit, slice_seconds, slice_events)
        from cepkit.spark.streaming.detect import detect as detect_on_stream

        return detect_on_stream(
            stream,
            query,
            as_plan(plan, query),
            sets=sets,
            buckets=buckets,
            late=late,
            timeouts=timeouts,
        )
    for name, asked in (
        ("buckets", buckets is not None),
        ("late", late != "count"),
        ("timeouts", timeouts),
    ):
        if asked:
            raise StreamError(
                f"{name}= for events that are all there",
                expected="a streaming DataFrame (spark.readStream)",
                hint="NOT at the end of a pattern finds what times out" if timeouts else None,
            )
    if plan is None and order_matters(query):
        plan_to_run = choosing.plan_to_run(query, measured(stream, query, seed=0))
    else:
        # Of events side by side there are so few that their order does not matter.
        plan_to_run = as_plan(plan, query)
    if stream.place == "spark":
        from cepkit.spark.matches.detect import detect as detect_on_spark

        return detect_on_spark(
            stream,
            query,
            plan_to_run,
            slice_seconds=slice_seconds,
            slice_events=slice_events,
            limit=limit,
            sets=sets,
        )
    from cepkit.columnar.results.matches import Matches

    return Matches(stream, query, plan_to_run, limit=limit, sets=sets)


def _check_live_options(
    limit: int | None, slice_seconds: float | None, slice_events: int | None
) -> None:
    """Refuse what makes no sense where events never end.

    Raises:
        UnsupportedError: It is asked for.
    """
    if limit is not None:
        raise UnsupportedError(
            f"limit={limit} over a streaming DataFrame, which has no end",
            hint="stop the query when you have enough",
        )
    if slice_seconds is not None or slice_events is not None:
        raise UnsupportedError(
            "slices of a streaming DataFrame",
            hint="each micro-batch is one: .trigger(processingTime=...) says how long",
        )


@typed
def check_detectable(stream: Stream, pattern: Pattern) -> None:
    """Refuse, by name, what `detect` cannot do yet; it costs nothing.

    Args:
        stream: From `events`.
        pattern: The query, or its text.

    Raises:
        PatternError: The pattern reads a column that the stream does not have.
        UnsupportedError: The pattern has a part that this release cannot detect.
    """
    detectable(stream, pattern)


def detectable(stream: Stream, pattern: Pattern) -> Query:
    """Return the query that a pattern is, checked once; raises as `check_detectable`."""
    query = checked(stream, pattern)
    if query.aggregates:
        raise UnsupportedError(
            "AGG asks for aggregates, not for matches",
            hint="`aggregate` gives them; to detect, leave AGG out",
        )
    return query
