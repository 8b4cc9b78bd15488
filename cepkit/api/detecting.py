"""The verb `detect`: finds matches, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from cepkit.api.arguments import (
    Pattern,
    at_hand,
    detectable,
    measured,
    order_matters,
)
from cepkit.api.checks import are_several, check_name
from cepkit.arguments import typed
from cepkit.columnar.results.matches import Matches, report
from cepkit.errors import StatisticsError, StreamError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.pattern.several import check_share
from cepkit.plan.checks import as_plan
from cepkit.planners import choose as choosing
from cepkit.progress import Progress, showing
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream, check_stream

if TYPE_CHECKING:
    from cepkit.adaptation.decisions import Decision
    from cepkit.adaptation.loop import Adaptation
    from cepkit.columnar.results.several import SeveralMatches
    from cepkit.columnar.slices.plans import SlicePlans
    from cepkit.plan.nodes import OrderPlan, Plan
    from cepkit.spark.matches.result import SparkMatches
    from cepkit.spark.matches.several import SeveralSparkMatches
    from cepkit.spark.streaming.result import StreamMatches, StreamSeveralMatches


_VERY_MANY = 10_000_000
"""With this many matches, a missing window is probably a mistake."""
ROUTES = ("auto", "driver", "workers")


@overload
def detect(
    stream: Stream,
    pattern: list[Any] | tuple[Any, ...] | dict[str, Any],
    plan: Any = None,
    *,
    share: Literal["auto", "none", "prefix", "tree"] = "auto",
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    adapt: str | Decision | Adaptation = "static",
    buckets: int | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
    progress: Progress = "auto",
) -> SeveralMatches | SeveralSparkMatches | StreamSeveralMatches: ...


@overload
def detect(
    stream: Stream,
    pattern: Pattern,
    plan: Plan | OrderPlan | Sequence[str] | None = None,
    *,
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    adapt: str | Decision | Adaptation = "static",
    buckets: int | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
    route: Literal["auto", "driver", "workers"] = "auto",
    progress: Progress = "auto",
) -> Matches | SparkMatches | StreamMatches: ...


@typed
def detect(
    stream: Stream,
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    plan: Any = None,
    *,
    share: Literal["auto", "none", "prefix", "tree"] = "auto",
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    slice_seconds: float | None = None,
    slice_events: int | None = None,
    adapt: str | Decision | Adaptation = "static",
    buckets: int | None = None,
    late: Literal["count", "collect"] = "count",
    timeouts: bool = False,
    route: Literal["auto", "driver", "workers"] = "auto",
    progress: Progress = "auto",
) -> (
    Matches
    | SeveralMatches
    | SparkMatches
    | SeveralSparkMatches
    | StreamMatches
    | StreamSeveralMatches
):
    """Find all matches of a pattern, or of several.

    Nothing is computed until you ask for a result.

    Args:
        stream: From `events`.
        pattern: The query, or its text; or several, as a list or as {"name": query}. Several are
            found in one pass; the first steps that they have in common are evaluated once.
        plan: From `choose_plan`; or the order of the variables, as ["c", "b", "a"]; None to profile
            the stream and take the cheapest plan. For several queries a list of plans, or the
            result of `choose_plan`. A streaming DataFrame cannot be profiled: there None is the
            order of the pattern.
        share: What several queries may share: "prefix" common first steps, "tree" also common
            subtrees of their plans, "none" only the scan of the stream; "auto" what is cheapest.
            The matches are the same.
        limit: The most matches to find, for several queries per query.
        sets: Which sets of Kleene variables make matches: "every" non-empty set, or "maximal":
            only the largest set for each choice of the other events. `.count()` gives the number
            of matches without building them. Under skip-till-next-match this makes no difference:
            a set takes as many events as it can.
        slice_seconds: On Spark, the length of a time slice of patterns without a key; None chooses
            it from the statistics so that a worker's memory is bounded. For a streaming DataFrame,
            the length of the slices that are assigned to buckets, if one core is too slow for a
            pattern without a key; None: one bucket has all events.
        slice_events: The same in events, for windows in events and contiguity.
        adapt: How the plan follows the stream: "static" not at all; "slices": each slice has its
            own best plan; "auto": the same, but only if it promises much less work; a decision
            function by name or with settings (`cepkit.adaptation`), or an `Adaptation`: the plan of
            each slice depends on the slices before it, as in micro-batches. The matches are the
            same. `.plans` shows which plan was in force when, and why; for a streaming DataFrame
            the progress of each micro-batch shows it. Several patterns are planned together for
            each slice, in memory: "slices" or "auto".
        buckets: For a streaming DataFrame: the number of buckets that keys are hashed into, or that
            time slices are assigned to; one task evaluates a bucket. None: 16. A checkpoint keeps
            its number.
        late: For a streaming DataFrame: whether events that are too late, or too far ahead, are
            only counted (in each micro-batch's progress), or also emitted as rows: the column
            `kind` is then "match", "late" or "ahead", and `event` has the event.
        timeouts: For a streaming DataFrame: whether partial matches that time out are also emitted
            as rows, for SEQ (also with FIRST) and AND: the first variables in the order of the
            pattern, if no event came within the window that could have been the next. `kind` is
            "timed-out", `awaited` the variable that did not come, `window_end` the latest time at
            which it could have come.
        route: Where the events of a Spark DataFrame are searched: "driver" fetches the events that
            the pattern needs into this process, once (see `Stream.forget`); "workers" leaves them
            in Spark; "auto" fetches up to 64 MB, or the session's `spark.cepkit.fetch.maxBytes`,
            and searches them here if that takes a few seconds. Several queries take only "auto".
            Local Parquet files are read without a Spark job, up to 512 MB. `.route` of the matches
            says what was done.
        progress: "auto" for a bar where planning, or what is asked of the result, takes more than
            two seconds; True, or False.

    Returns:
        From Spark a Spark DataFrame with a struct column for each variable, otherwise `Matches`.
        Both are in no particular order, and have `match_start` and `match_end`, `explain()`, and
        `to_pandas()` with columns such as `a.price` (docs/matches.md). For a streaming DataFrame a
        streaming one with the same columns: each match is emitted once, in append mode, when no
        further event can belong to it or break it. For several queries a sequence of such results,
        which also has `counts()`, `explain()` and `together`, all matches from one pass with the
        name of the query; for a streaming DataFrame one result like `together`.

    Raises:
        PatternError: The pattern reads a column that the stream does not have, or compares what
            cannot be compared.
        UnsupportedError: The pattern has a part that this release cannot detect.
        PlanError: The plan is not one of this pattern.
        LimitError: When matches are asked for: there would be too many sets to write or to try, or
            too many matches to hold in memory.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WHERE a.price < b.price WITHIN 5 seconds"
        >>> matches = ck.detect(stream, pattern)
        >>> matches.to_pandas()[["a.price", "b.price"]]
           a.price  b.price
        0     30.0     31.0
        >>> several = ck.detect(stream, {"rise": pattern, "pair": "PATTERN SEQ(MSFT a, GOOG b)"})
        >>> several.counts().to_dict()
        {'rise': 1, 'pair': 2}
    """
    check_stream(stream, beside=pattern)
    if share != "auto":
        from cepkit.sharing.choose import SHARES

        check_share(share, SHARES)
    several = are_several(pattern)
    query = None if several else detectable(stream, pattern)
    if limit is not None and limit < 0:
        raise StreamError(f"limit={limit}", expected="0 or more")
    if late not in ("count", "collect"):
        raise StreamError(f"late={late!r}", expected="'count' or 'collect'")
    if sets not in ("every", "maximal"):
        raise StreamError(f"sets={sets!r}", expected="'every' or 'maximal'")
    if slice_seconds is not None and not slice_seconds > 0:
        raise StreamError(f"slice_seconds={slice_seconds}", expected="more than 0")
    if slice_events is not None and slice_events < 1:
        raise StreamError(f"slice_events={slice_events}", expected="1 or more")
    _check_route(route, stream, several)
    if several:
        from cepkit.api.several import detect_several, detect_several_live

        patterns: Any = pattern
        if stream.lateness is not None:
            _check_live_options(limit, slice_events)
            return detect_several_live(
                stream, patterns, plan, share, sets=sets, buckets=buckets, late=late,
                slice_seconds=slice_seconds, timeouts=timeouts,
                follow=None if adapt == "static" else partial(_live_plans, adapt, sets),
            )  # fmt: skip
        _check_recorded_options(buckets, late, timeouts)
        with showing("planning", progress):
            matches = detect_several(
                stream, patterns, plan, share, limit=limit, sets=sets,
                slice_seconds=slice_seconds, slice_events=slice_events, adapt=adapt,
            )  # fmt: skip
        return matches.with_progress(progress)
    assert query is not None
    if stream.lateness is not None:
        _check_live_options(limit, slice_events)
        from cepkit.spark.streaming.detect import detect as detect_on_stream

        chosen = as_plan(plan, query)
        return detect_on_stream(
            stream,
            query,
            chosen,
            sets=sets,
            buckets=buckets,
            slice_seconds=slice_seconds,
            late=late,
            timeouts=timeouts,
            plans=_live_plans(adapt, sets, query, chosen),
        )
    _check_recorded_options(buckets, late, timeouts)
    with showing("planning", progress):
        result = _detect_recorded(
            stream, query, plan, limit=limit, sets=sets, slice_seconds=slice_seconds,
            slice_events=slice_events, adapt=adapt, route=route,
        )  # fmt: skip
    return result.with_progress(progress)


def _detect_recorded(
    stream: Stream,
    query: Query,
    plan: Any,
    *,
    limit: int | None,
    sets: Literal["every", "maximal"],
    slice_seconds: float | None,
    slice_events: int | None,
    adapt: str | Decision | Adaptation,
    route: Literal["auto", "driver", "workers"],
) -> Matches | SparkMatches:
    """Return the matches of a query in a recorded stream; see `detect`."""
    sliced = slice_seconds is not None or slice_events is not None
    part = at_hand(stream, (query,), where="workers" if sliced and route == "auto" else route)
    columns = None
    if plan is None and order_matters(query):
        if part.place == "local":
            columns = part.columns({*attributes_read(query), *query.computed_from})
            plan_to_run = choosing.plan_in_memory(query, columns)
            _note_no_window(query, plan_to_run)
        else:
            plan_to_run = choosing.plan_to_run(query, measured(stream, query, seed=0))
        if adapt == "static" and len(plan_to_run.branches) > 1:
            from cepkit.sharing.branches import with_shared_steps

            plan_to_run = with_shared_steps(plan_to_run, query)
    else:
        # Contiguity leaves so few combinations that their order does not matter.
        plan_to_run = as_plan(plan, query)
    plans = None
    if adapt != "static":
        from cepkit.adaptation.choice import slice_plans

        measure, in_order = partial(measured, stream, query, 0), stream.place == "local"
        plans = slice_plans(adapt, query, plan_to_run, sets, measure, in_order=in_order)
    if stream.place == "spark":
        from cepkit.spark.matches.detect import detect as detect_on_spark
        from cepkit.spark.matches.detect import detect_fetched

        if part.place == "local" and (route == "driver" or choosing.is_quick(plan_to_run)):
            return detect_fetched(
                stream, part, query, plan_to_run, limit=limit, sets=sets, plans=plans
            )
        return detect_on_spark(
            stream,
            query,
            plan_to_run,
            slice_seconds=slice_seconds,
            slice_events=slice_events,
            limit=limit,
            sets=sets,
            plans=plans,
        )
    if columns is not None:
        report(columns, query)
    return Matches(stream, query, plan_to_run, limit=limit, sets=sets, plans=plans, columns=columns)


def _live_plans(
    adapt: str | Decision | Adaptation,
    sets: Literal["every", "maximal"],
    query: Query,
    plan: Plan,
) -> SlicePlans | None:
    """Return the object that plans the buckets of a stream; None: one plan for all.

    Raises:
        StatisticsError: The plan has no statistics.
    """
    if adapt == "static":
        return None
    from cepkit.adaptation.choice import slice_plans

    if plan.statistics is None:
        raise StatisticsError(
            "plans that follow a streaming DataFrame, and a plan without statistics: rates are"
            " counted on the way, selectivities are not",
            hint="plan=choose_plan(pattern, profile(recorded, pattern)), of what was recorded",
        )
    known = plan.statistics
    return slice_plans(adapt, query, plan, sets, lambda: known)


def _check_live_options(limit: int | None, slice_events: int | None) -> None:
    """Refuse options that make no sense for an endless stream.

    Raises:
        UnsupportedError: One of them is given.
    """
    if limit is not None:
        raise UnsupportedError(
            f"limit={limit} over a streaming DataFrame, which has no end",
            hint="stop the query when you have enough",
        )
    if slice_events is not None:
        raise UnsupportedError(
            "slices in events with a streaming DataFrame",
            hint="slice_seconds= of a pattern without a key",
        )


def _note_no_window(query: Query, plan: Plan) -> None:
    """Warn of a pattern without a window that would have too many matches."""
    if query.window is not None or plan.forecast is None or plan.forecast.matches < _VERY_MANY:
        return
    from cepkit.stream.warnings import warn_of_no_window

    warn_of_no_window(f"some {plan.forecast.matches:,.3g} are expected here", query)


def _check_route(route: str, stream: Stream, several: bool) -> None:
    """Refuse a route that is impossible for the stream.

    Raises:
        StreamError: There is no such route, or no choice.
    """
    check_name("route", route, ROUTES)
    if route == "auto":
        return
    recorded = stream.place == "spark" and stream.lateness is None
    if several or not recorded:
        where = "several patterns" if recorded else "events that are not in a Spark DataFrame"
        raise StreamError(f"route={route!r} for {where}", expected="'auto'")


def _check_recorded_options(buckets: int | None, late: str, timeouts: bool) -> None:
    """Refuse options that make no sense for a recorded stream.

    Raises:
        StreamError: One of them is given.
    """
    options = {"buckets": buckets is not None, "late": late != "count", "timeouts": timeouts}
    for name in (name for name, is_set in options.items() if is_set):
        raise StreamError(
            f"{name}= with events that are not a streaming DataFrame",
            expected="a streaming DataFrame (spark.readStream)",
            hint="NOT at the end of a pattern finds what times out" if timeouts else None,
        )
