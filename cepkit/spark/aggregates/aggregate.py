"""Aggregates over a Spark DataFrame, as Spark DataFrames: each cell runs like a local stream.

Source: ASEQ; `query.py` tells how a stream may be cut for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cepkit.aggregation.semirings.functions import Function
from cepkit.aggregation.sequence.elements import Emit
from cepkit.pattern.query import Query
from cepkit.plan.nodes import Plan
from cepkit.routes.result import SeveralAggregates
from cepkit.routes.sharing import Shared, SharingPlan, plan_sharing, shareable
from cepkit.routes.ways import way_of
from cepkit.spark.aggregates.one_pass import AggregationPass, start
from cepkit.spark.aggregates.query import AggregateQuery, prepare
from cepkit.spark.aggregates.result import Passes, RowsHere, aggregates_frame
from cepkit.spark.passes.delivery import Route
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.here import Here
from cepkit.spark.passes.part import origin_of
from cepkit.spark.passes.rows import batch_frame
from cepkit.spark.profile.counting import sampled_rates, unknown_rates
from cepkit.stream.stream import Stream


def aggregate(
    stream: Stream,
    patterns: Mapping[str, Query],
    functions: Sequence[Mapping[str, Function]],
    method: str,
    emit: Emit,
    share: Shared = "none",
    *,
    plans: Mapping[int, Plan] | None = None,
    slice_seconds: float | None = None,
    route: Route | None = None,
) -> SeveralAggregates[ResultFrame]:
    """Return the aggregates of queries in a Spark stream, as Spark DataFrames.

    Nothing is aggregated before an action; if neither a plan's statistics nor Parquet footers tell
    the size of the stream, one job counts it now.

    Sharing is decided now, once for all cells. If it depends on rates ("auto", "chop-connect"), two
    jobs count the stream and fetch a sample of it.

    Sequences with windows run in one pass over time slices with a halo of the widest window, and by
    keys only if all have the same; sequences without a window in a pass for each key; and queries
    that need detection separately.

    Args:
        stream: Events in a Spark DataFrame, which is read again for each action.
        method: As for `cepkit.aggregate`; each cell chooses between A-Seq's methods.
        share: One of `routes.sharing.SHARES`, or a plan.
        plans: How the matches of some queries, by number, are detected; else in pattern order.
        slice_seconds: The length of a time slice; None: chosen.
        route: How the events reach the workers; None: chosen.

    Raises:
        PlanError: The sharing plan is not one of these queries.
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: The method is not for one of the queries.
    """
    frame = batch_frame(stream)
    plans = plans or {}
    queries = tuple(patterns.values())
    prepared = {
        q: prepare(stream, query, each, way_of(query, method), emit, plans.get(q))
        for q, (query, each) in enumerate(zip(queries, functions, strict=True))
    }
    ways = [one.request.way for one in prepared.values()]
    sequences, reasons = shareable(ways, functions, method)
    rates = sampled_rates(stream, frame) if share in ("auto", "chop-connect") else unknown_rates
    plan = plan_sharing(tuple(patterns), sequences, functions, reasons, rates, share)
    passes: list[AggregationPass] = []
    for members in passes_of(prepared, plan):
        known = plans.get(min(members))
        passes.append(
            start(
                stream,
                {q: prepared[q] for q in members},
                [cluster for cluster in plan.clusters if members.issuperset(cluster.queries)],
                statistics=None if known is None else known.statistics,
                slice_seconds=slice_seconds,
                route=route,
                reported=any(each.pass_.reports.reported for each in passes),
            )
        )
    workers = Passes(tuple(passes))
    return SeveralAggregates(workers.results(), plan, workers)


def aggregate_fetched(
    stream: Stream,
    part: Stream,
    query: Query,
    functions: Mapping[str, Function],
    method: str,
    emit: Emit,
    workers: Callable[[], ResultFrame],
    plan: Plan | None = None,
) -> ResultFrame:
    """Return the aggregates of a Spark stream that has been fetched, computed in this process.

    Args:
        part: Those that the query needs, fetched.
        workers: Returns the same aggregates, computed by workers.
        plan: How the matches are detected where they have to be.

    Raises:
        PatternError: An aggregate cannot take the column that it is of.
        UnsupportedError: As for `aggregate`.
    """
    batch_frame(stream)
    prepared = prepare(stream, query, functions, way_of(query, method), emit, plan)
    rows = Here(
        RowsHere.of(part, prepared, method), prepared.output, stream.source.sparkSession, workers
    )
    route = f"computed in this process, where the events were {origin_of(part)}"
    return aggregates_frame(rows, prepared, prepared.method, prepared.reason, route)


def passes_of(prepared: Mapping[int, AggregateQuery], plan: SharingPlan) -> list[set[int]]:
    """Group queries into passes, in the order of the first query of each."""
    keys = {q: one.cut.key for q, one in prepared.items()}
    for cluster in plan.clusters:
        if len({keys[q] for q in cluster.queries}) > 1:
            keys.update(dict.fromkeys(cluster.queries))
    together: dict[object, set[int]] = {}
    for q, one in prepared.items():
        if one.request.way.sequence is None:
            name: object = q
        else:
            by = "windows" if one.cut.window is not None else keys[q]
            name = by, one.request.sending.numbers  # which take jobs of their own
        together.setdefault(name, set()).add(q)
    return list(together.values())
