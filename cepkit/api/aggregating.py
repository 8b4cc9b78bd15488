"""Aggregates of matches, of one query or several, here or on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from cepkit.aggregation.rows.tables import check_names, column_of
from cepkit.api.arguments import (
    Pattern,
    are_several,
    at_hand,
    check_functions,
    check_name,
    check_pieces,
    checked,
    measured,
    order_matters,
)
from cepkit.api.detecting import detect
from cepkit.api.spark_options import DEFAULTS, SparkOptions, options_for, taking_old_arguments
from cepkit.arguments import typed
from cepkit.errors import StreamError, UnsupportedError
from cepkit.pattern.query import Query
from cepkit.pattern.several import ALONE, check_share, queries_of
from cepkit.plan.nodes import Plan
from cepkit.planners import choose as choosing
from cepkit.progress import Progress, showing
from cepkit.routes import of_values
from cepkit.routes.aggregates import aggregate as aggregate_here
from cepkit.routes.functions import attributes_of, functions_of
from cepkit.routes.sharing import SHARES
from cepkit.routes.ways import EMITS, METHODS, way_of
from cepkit.stream.stream import Stream, carrying, check_stream
from cepkit.threads import limited_to

if TYPE_CHECKING:
    from cepkit.aggregation.rows.result import Aggregates
    from cepkit.aggregation.semirings.functions import Function
    from cepkit.aggregation.sequence.elements import Emit
    from cepkit.routes.result import SeveralAggregates
    from cepkit.routes.sharing import Shared
    from cepkit.spark.fetching import Where
    from cepkit.spark.passes.frame import ResultFrame
    from cepkit.spark.streaming.result import StreamFrame


@overload
def aggregate(
    stream: Stream,
    pattern: list[Any] | tuple[Any, ...] | dict[str, Any],
    *,
    method: str = "auto",
    emit: Emit = "trigger",
    share: Shared = "auto",
    threads: int | None = None,
    spark: SparkOptions | None = None,
    progress: Progress = "auto",
) -> SeveralAggregates[Any] | StreamFrame: ...


@overload
def aggregate(
    stream: Stream,
    pattern: Pattern,
    *,
    method: str = "auto",
    emit: Emit = "trigger",
    functions: Mapping[str, Function] | None = None,
    error: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    spark: SparkOptions | None = None,
    progress: Progress = "auto",
) -> Aggregates | ResultFrame | StreamFrame: ...


@typed
@taking_old_arguments
def aggregate(
    stream: Stream,
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    *,
    method: str = "auto",
    emit: Emit = "trigger",
    functions: Mapping[str, Function] | None = None,
    share: Shared = "auto",
    error: float | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    spark: SparkOptions | None = None,
    progress: Progress = "auto",
) -> Aggregates | SeveralAggregates[Any] | ResultFrame | StreamFrame:
    """Aggregate the matches of a pattern, without detecting them if possible.

    The live matches at a moment are those whose events have all occurred by then and whose first
    event is still in the window, if there is one. A *trigger* is an event that can be the last of a
    match: no other event must follow it, and it satisfies its own conditions. GROUP BY partitions
    the stream as PARTITION BY does (null equals null), and the output as well.

    As in SQL, missing values (null, NaN) are left out. COUNT of no values is 0, the other
    aggregates of no values are null; VARIANCE and STDDEV (of a sample) of a single value are null
    as well. Sums and counts of whole numbers are exact, of any size. Under KL an aggregate covers
    all members of all sets: COUNT(b) counts members, COUNT counts matches. Aggregates of values
    that each match has, as MEDIAN(b.ts - a.ts) or COUNT(DISTINCT a.user), are totals.

    Args:
        stream: From `events`.
        pattern: The query with AGG, or its text; or several, as a list or as
            {"name": query}.
        method: "prefix-counters" (the source's DPC, SEM and HPC) or "window-product"; "a-seq"
            chooses between the two; "detect" detects the matches and aggregates them; "auto"
            detects only if it must, and the result says why. All give the same rows.
        emit: Which rows. "trigger": at each trigger the aggregates of its group's live matches. If
            several triggers have the same time, each has a row, after all events of that time.
            "changes": also when live matches expire, including those after the end of the stream;
            the column `cause` says which. With a window in events a match expires when an event of
            any type arrives that no longer fits into the window with it. "new": at each trigger the
            aggregates of the matches that it completes. "total": one row over all matches of the
            stream; with GROUP BY one for each group that has matches.
        functions: Further aggregates by the name of their column (`aggregation.semirings.functions`
            describes them). On Spark they also need an attribute `arrow_type`, the type of their
            values.
        share: What several queries share: "prefix" common prefixes, "chop-connect" also common
            parts elsewhere, "none" nothing, "auto" what is cheapest by the rates of the stream (for
            a streaming DataFrame, whose rates are unknown, "prefix"); or a plan: that of an earlier
            result, or for each query the lengths of its pieces, as [(2, 3), (3, 2)], with None for
            a query that shares nothing. Sequences share, in all functions of the language; the rows
            are always the same.
        error: Estimate the aggregates of all matches from random walks until the half width of each
            interval is at most this share of the estimate, as 0.02. For COUNT, SUM and AVG; the
            rows are those of emit="total", with the ends of the intervals in columns such as
            "count low" and "count high" (docs/how-to/samples.md). Spark's events are fetched.
        confidence: The probability that an interval, taken by itself, has the exact value.
        seed: The seed of the walks.
        threads: The most threads that search; None for all cores that the process may use, which
            `CEPKIT_THREADS` limits as well. Results do not depend on it; on Spark its executors
            divide the work.
        spark: Options that only Spark has, as `SparkOptions(slice_seconds=60)`: the length of
            a time slice.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        From Spark a Spark DataFrame in no particular order, otherwise a result with `to_pandas()`
        and `to_arrow()`. The columns are ts, those of GROUP BY, one for each aggregate as "count"
        or "sum(c.volume)", and new_matches: the number of matches that the trigger completes.
        "total" has neither ts nor new_matches. For several queries a sequence of such results, each
        also under its name, with the `plan` of what was shared; on Spark it also has `together`,
        the rows of all queries as one DataFrame from one pass over the stream, and `persist`, after
        which the results share that pass. For a streaming DataFrame a streaming one, in append
        mode: each row is emitted once, when no earlier event can come any more; for several queries
        one result like `together`.

    Raises:
        StreamError: `stream` is not a stream, or an option has an unknown value.
        PlanError: A sharing plan that is not one of these queries.
        PatternError: There is no AGG, the pattern reads a column that the stream does not have, or
            an aggregate cannot take its values.
        UnsupportedError: The method cannot aggregate such a pattern; the message says what in it.
        LimitError: Detection would make too many sets, or matches are live that do not fit the
            free memory. When rows are asked for on Spark: an integer beyond 64 bits.

    Example:
        >>> import cepkit as ck
        >>> trades = [
        ...     {"ts": 1, "type": "MSFT", "price": 30.0},
        ...     {"ts": 2, "type": "GOOG", "price": 31.0},
        ...     {"ts": 3, "type": "GOOG", "price": 29.0},
        ... ]
        >>> stream = ck.events(trades, time="ts", type="type", unit="s")
        >>> pattern = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 5 seconds AGG COUNT, AVG(b.price)"
        >>> ck.aggregate(stream, pattern, emit="total").to_pandas()
           count  avg(b.price)
        0      2          30.0
        >>> ck.aggregate(stream, pattern).to_pandas()[["count", "new_matches"]]
           count  new_matches
        0      1            1
        1      2            1
    """
    if method == "two-step":
        raise StreamError(
            "method='two-step' was removed", hint="method='detect' constructs all matches, too"
        )
    check_name("method", method, METHODS)
    check_name("emit", emit, EMITS)
    check_share(share, SHARES) if isinstance(share, str) else check_pieces(share)
    check_functions(functions)
    check_stream(stream)
    options = DEFAULTS if spark is None else options_for(spark, "aggregate", stream)
    if stream.schema.by_arrival:
        method = _with_ties(method)
    by_query = []
    several = are_several(pattern)

    def read(each: Pattern) -> Query:
        query = checked(stream, each)
        if of_values.has_values(query):
            beside = "functions=" if functions else "other patterns" if several else None
            beside = beside if stream.lateness is None else ""
            of_values.refuse_other_ways(query, emit, method, beside)
            check_names(query.group_by, [column_of(each) for each in query.aggregates])
            return query
        columns = functions_of(query, functions or {})
        check_names(query.group_by, tuple(columns))
        way_of(query, method)
        by_query.append(columns)
        return query

    by_name = queries_of(pattern, read) if several else {ALONE: read(pattern)}
    if not by_query:
        return _of_values(stream, by_name[ALONE], threads, spark, progress)
    if error is not None:
        other = "several patterns" if several else "functions=" if functions else ""
        other = "a streaming DataFrame" if stream.lateness is not None else other
        if other:
            raise UnsupportedError(f"error= with {other}", hint="leave one of the two out")
        from cepkit.api.sampling import estimate

        with limited_to(threads), showing("drawing", progress):
            return estimate(stream, by_name[ALONE], error, confidence, seed, method, emit)
    if stream.lateness is not None:
        from cepkit.spark.streaming import aggregate as on_stream

        return on_stream.aggregate(stream, by_name, by_query, method, emit, share)
    with limited_to(threads), showing("aggregating", progress):
        result: Any = _aggregate_recorded(
            stream, by_name, by_query, several, method, emit, share, options.slice_seconds
        )
    if stream.place == "spark":
        result = result.with_progress(progress)  # its rows are computed on demand
    aggregates: Aggregates | SeveralAggregates[Any] | ResultFrame = result
    return aggregates


def _of_values(
    stream: Stream,
    query: Query,
    threads: int | None,
    spark: SparkOptions | None,
    progress: Progress,
) -> Aggregates | ResultFrame:
    """Return the totals of a query with aggregates of values that matches have."""
    rows = of_values.returned(query, stream.schema)
    stream = carrying(stream, None)  # RETURN takes its own
    matches: Any = detect(stream, rows.query, threads=threads, spark=spark, progress=progress)
    if stream.place == "spark":
        from cepkit.spark.aggregates.of_values import aggregate_frame

        return aggregate_frame(matches, rows, query).with_progress(progress)
    return of_values.aggregate_matches(matches, rows, query, stream.schema)


def _with_ties(method: str) -> str:
    """Return the method for a stream in which events of equal time have an order.

    Raises:
        UnsupportedError: Another one is wanted.
    """
    if method not in ("auto", "detect"):
        raise UnsupportedError(
            f"method='{method}' with ties='arrival': A-Seq counts the events of one time together",
            hint="method='detect', or leave method out",
        )
    return "detect"


def _aggregate_recorded(
    stream: Stream,
    by_name: Mapping[str, Query],
    by_query: Sequence[Mapping[str, Function]],
    several: bool,
    method: str,
    emit: Emit,
    share: Shared,
    slice_seconds: float | None,
) -> Any:
    """Return the aggregates of a recorded stream; see `aggregate`."""
    queries = [*by_name.values()]
    if stream.place == "spark":
        from cepkit.spark.aggregates import aggregate as on_spark

        plans = _plans_on_spark(stream, queries, method)
        workers = partial(
            on_spark.aggregate, stream, by_name, by_query, method, emit,
            share if several else "none", plans=plans,
        )  # fmt: skip
        if several:
            return workers(slice_seconds=slice_seconds)
        attributes = {*queries[0].group_by, *attributes_of(by_query[0])}
        quick = slice_seconds is None and all(map(choosing.is_quick, plans.values()))
        where: Where = "auto" if quick else "workers"
        part = at_hand(stream, queries, attributes, where=where, output=False)
        if part.place == "spark":
            return workers(slice_seconds=slice_seconds)[0]
        return on_spark.aggregate_fetched(
            stream, part, queries[0], by_query[0], method, emit, lambda: workers()[0], plans.get(0)
        )
    results = aggregate_here(stream, by_name, by_query, method, emit, share if several else "none")
    return results if several else results[0]


def _plans_on_spark(stream: Stream, queries: Sequence[Query], method: str) -> dict[int, Plan]:
    """Return, by number, the plans of the queries whose evaluation depends on an order."""
    from cepkit.routes.detected import without_aggregates

    plans = {}
    for q, query in enumerate(queries):
        if way_of(query, method).sequence is None and order_matters(query):
            bare = without_aggregates(query)
            plans[q] = choosing.plan_to_run(bare, measured(stream, bare, seed=0))
    return plans
