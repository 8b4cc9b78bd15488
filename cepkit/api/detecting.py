"""The verb `detect`: finds matches, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from cepkit.api.arguments import Pattern, are_several, at_hand, detectable, measured, order_matters
from cepkit.api.spark_options import DEFAULTS, SparkOptions, options_for, taking_old_arguments
from cepkit.arguments import typed
from cepkit.columnar.results.matches import Matches
from cepkit.columnar.results.reports import report
from cepkit.errors import StatisticsError, StreamError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE, check_share, queries_of
from cepkit.plan.checks import as_plan
from cepkit.planners import choose as choosing
from cepkit.progress import Progress, showing
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.stream import Stream, check_stream
from cepkit.threads import limited_to

if TYPE_CHECKING:
    from cepkit.adaptation.decisions import Decision
    from cepkit.adaptation.loop import Adaptation
    from cepkit.columnar.results.several import SeveralMatches
    from cepkit.columnar.slices.plans import SlicePlans
    from cepkit.plan.nodes import OrderPlan, Plan
    from cepkit.spark.fetching import Where
    from cepkit.spark.matches.result import SparkMatches
    from cepkit.spark.streaming.result import StreamFrame


_VERY_MANY = 10_000_000
"""With this many matches, a missing window is probably a mistake."""


@overload
def detect(
    stream: Stream,
    pattern: list[Any] | tuple[Any, ...] | dict[str, Any],
    plan: Any = None,
    *,
    share: Literal["auto", "none", "prefix", "tree"] = "auto",
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    adapt: str | Decision | Adaptation = "static",
    threads: int | None = None,
    spark: SparkOptions | None = None,
    progress: Progress = "auto",
) -> SeveralMatches[Any] | StreamFrame: ...


@overload
def detect(
    stream: Stream,
    pattern: Pattern,
    plan: Plan | OrderPlan | Sequence[str] | None = None,
    *,
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    adapt: str | Decision | Adaptation = "static",
    clock_error: str | timedelta | None = None,
    sample: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    spark: SparkOptions | None = None,
    progress: Progress = "auto",
) -> Matches | SparkMatches | StreamFrame: ...


@typed
@taking_old_arguments
def detect(
    stream: Stream,
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    plan: Any = None,
    *,
    share: Literal["auto", "none", "prefix", "tree"] = "auto",
    limit: int | None = None,
    sets: Literal["every", "maximal"] = "every",
    adapt: str | Decision | Adaptation = "static",
    clock_error: str | timedelta | None = None,
    sample: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    spark: SparkOptions | None = None,
    progress: Progress = "auto",
) -> Matches | SeveralMatches[Any] | SparkMatches | StreamFrame:
    """Find all matches of a pattern, or of several.

    Nothing is computed until you ask for a result.

    Args:
        stream: From `events`.
        pattern: The query, or its text; or several, as a list or as {"name": query}. Several are
            found in one pass; the first steps that they have in common are evaluated once.
        plan: From `choose_plan`; or the order of the variables, as ["c", "b", "a"]; None to profile
            the stream and take the cheapest plan. For several queries a list of plans, or the
            result of `choose_plan`. A streaming DataFrame cannot be profiled: there None is the
            order of the pattern, sets last.
        share: What several queries may share: "prefix" common first steps, "tree" also common
            subtrees of their plans, "none" only the scan of the stream; "auto" what is cheapest.
            The matches are the same.
        limit: The most matches to find, for several queries per query.
        sets: Which sets of Kleene variables make matches: "every" non-empty set, or "maximal":
            only the largest set for each choice of the other events. `.count()` gives the number
            of matches without building them. Under skip-till-next-match this makes no difference:
            a set takes as many events as it can.
        adapt: How the plan follows the stream: "static" not at all; "slices": each slice has its
            own best plan; "auto": the same, but only if it promises much less work; a decision
            function by name or with settings (`cepkit.adaptation`), or an `Adaptation`: the plan of
            each slice depends on the slices before it, as in micro-batches. The matches are the
            same. `.plans` shows which plan was in force when, and why; for a streaming DataFrame
            the progress of each micro-batch shows it. Several patterns are planned together for
            each slice, in memory: "slices" or "auto".
        clock_error: How far the clock of each event may be off, as "20 ms"; or a column with the
            error of each event. The true time of an event then lies anywhere from its time minus
            its error to its time plus its error, in whole microseconds, independently of all other
            events. A match is certain if the same events match for all true times of the stream,
            and possible if they do for some; `.to_pandas()` has a column `certainty`, `.counts()`
            the numbers of both (docs/how-to/clocks.md). Spark's events are fetched.
        sample: Give so many of the matches at random, each as likely as any other and none twice;
            all of them if there are no more. Most matches are never found (docs/how-to/samples.md).
        seed: The seed of the sample.
        threads: The most threads that search; None for all cores that the process may use, which
            `CEPKIT_THREADS` limits as well. Results do not depend on it; on Spark its executors
            divide the work.
        spark: Options that only Spark has, as `SparkOptions(late="collect")`.
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
        PatternError: The pattern reads a column that the stream does not have, or compares values
            that cannot be compared.
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
    if sets not in ("every", "maximal"):
        raise StreamError(f"sets={sets!r}", expected="'every' or 'maximal'")
    options = DEFAULTS
    if spark is not None:
        options = options_for(spark, "detect", stream, several=several)
    if clock_error is not None:
        _check_alone("clock_error", stream, options, several=several, adapt=adapt)
    if sample is not None:
        _check_alone("sample", stream, options, several=several, adapt=adapt)
        if clock_error is not None:
            raise UnsupportedError("sample= with clock_error=", hint="leave one of the two out")
    if limit is not None and stream.lateness is not None:
        raise UnsupportedError(
            f"limit={limit} over a streaming DataFrame, which has no end",
            hint="stop the query when you have enough",
        )
    patterns: Any = pattern
    if stream.lateness is not None:
        from cepkit.api.several import detect_live

        if query is None:
            queries = queries_of(patterns, partial(detectable, stream))
        else:
            queries, plan = {ALONE: query}, None if plan is None else [plan]
        return detect_live(
            stream, queries, plan, share, options, sets=sets,
            follow=None if adapt == "static" else partial(_live_plans, adapt, sets),
        )  # fmt: skip
    result: Matches | SeveralMatches[Any] | SparkMatches
    with limited_to(threads), showing("planning", progress):
        if query is None:
            from cepkit.api.several import detect_several

            result = detect_several(
                stream, patterns, plan, share, options, limit=limit, sets=sets, adapt=adapt
            )
        elif clock_error is not None:
            from cepkit.api.uncertain import detect_uncertain

            result = detect_uncertain(stream, query, plan, clock_error, limit=limit)
        elif sample is not None:
            from cepkit.api.sampling import detect_sample

            result = detect_sample(stream, query, plan, sample, seed, limit=limit)
        else:
            result = _detect_recorded(
                stream, query, plan, options, limit=limit, sets=sets, adapt=adapt
            )
    return result.with_progress(progress)


def _check_alone(
    name: str,
    stream: Stream,
    options: SparkOptions,
    *,
    several: bool,
    adapt: str | Decision | Adaptation,
) -> None:
    """Check that an option is used for one pattern over recorded events, by one plan."""
    other = "adapt=" if adapt != "static" else "several patterns" if several else ""
    other = "a streaming DataFrame" if stream.lateness is not None else other
    if other:
        raise UnsupportedError(
            f"{name}= with {other}", hint="one pattern over recorded events, with one plan"
        )
    if options.route == "workers":
        raise UnsupportedError(
            f"{name}= with route='workers'", hint="leave the route out: the events are fetched"
        )


def _detect_recorded(
    stream: Stream,
    query: Query,
    plan: Any,
    options: SparkOptions,
    *,
    limit: int | None,
    sets: Literal["every", "maximal"],
    adapt: str | Decision | Adaptation,
) -> Matches | SparkMatches:
    """Return the matches of a query in a recorded stream; see `detect`."""
    route, sliced = options.route, options.slice_seconds or options.slice_events
    where: Where = "workers" if sliced and route == "auto" else route
    part = at_hand(stream, (query,), where=where)
    columns = None
    if plan is None and order_matters(query):
        if part.place == "local":
            planned = None
            if adapt == "static" and isinstance(part.source, Path):
                from cepkit.columnar.pieces import plan_of_parts

                planned = plan_of_parts(part, query)
            if planned is None:
                columns = part.columns({*attributes_read(query), *query.computed_from})
                planned = choosing.plan_in_memory(query, columns)
            plan_to_run = planned
            _note_no_window(query, plan_to_run)
        else:
            plan_to_run = choosing.plan_to_run(query, measured(stream, query, 0, where=where))
        if adapt == "static" and len(plan_to_run.branches) > 1:
            from cepkit.sharing.choose import with_shared_steps

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

        here = part.place == "local" and (route == "driver" or choosing.is_quick(plan_to_run))
        return detect_on_spark(
            stream, query, plan_to_run,
            part=part if here else None, limit=limit, sets=sets, plans=plans,
            slice_seconds=options.slice_seconds, slice_events=options.slice_events,
        )  # fmt: skip
    if columns is not None:
        report(columns, query)
    if isinstance(stream.source, Path) and plans is None and columns is None:
        from cepkit.columnar.results.in_pieces import matches_in

        return matches_in(stream, query, plan_to_run, limit=limit, sets=sets)
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
            "adapt= over a streaming DataFrame with a plan without statistics: only rates are"
            " measured while the query runs, not selectivities",
            hint="plan=choose_plan(pattern, profile(recorded, pattern)), from a recording",
        )
    known = plan.statistics
    return slice_plans(adapt, query, plan, sets, lambda: known)


def _note_no_window(query: Query, plan: Plan) -> None:
    """Warn of a pattern without a window that would have too many matches."""
    if query.window is not None or plan.forecast is None or plan.forecast.matches < _VERY_MANY:
        return
    from cepkit.stream.warnings import warn_of_no_window

    warn_of_no_window(f"some {plan.forecast.matches:,.3g} are expected here", query)
