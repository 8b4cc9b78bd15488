"""Detection of several patterns, planned together and found in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cepkit.api.arguments import Pattern, at_hand, detectable, measured, measured_together
from cepkit.api.spark_options import SparkOptions
from cepkit.columnar.pieces import is_large, sample_of
from cepkit.errors import PlanError, UnsupportedError, telling
from cepkit.pattern.query import Query
from cepkit.pattern.several import called, queries_of
from cepkit.pattern.zones import without_zones
from cepkit.plan.checks import as_plan, plan_without_rates
from cepkit.plan.nodes import Plan
from cepkit.planners.choose import size_worth
from cepkit.sharing.choose import plans_to_run
from cepkit.sharing.parts import Share
from cepkit.sharing.shared_plan import SharedPlan
from cepkit.statistics.measuring.estimate import SIZE, estimate_by_slices
from cepkit.statistics.measuring.file_parts import of_whole
from cepkit.statistics.model import Statistics
from cepkit.statistics.stream_counts import attributes_read
from cepkit.statistics.together import alike, together
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.columnar.compile.query import Sets
    from cepkit.columnar.results.several import SeveralMatches
    from cepkit.spark.streaming.prepare import PlansOf
    from cepkit.spark.streaming.result import StreamFrame


def detect_several(
    stream: Stream,
    patterns: Mapping[str, Pattern] | Sequence[Pattern],
    plan: Any,
    share: Share,
    options: SparkOptions,
    *,
    limit: int | None,
    sets: Sets,
    adapt: Any,
) -> SeveralMatches[Any]:
    """Return the matches of several patterns; see `detect`."""
    follow = None
    if adapt != "static":
        from cepkit.adaptation.several import FollowingTogether

        follow = FollowingTogether.of(adapt, stream.place)
    queries = queries_of(patterns, partial(detectable, stream))
    plans = _plans(stream, queries, plan, share)
    queries = as_the_plan_names_them(queries, plans)
    if follow is not None and not isinstance(plans, SharedPlan):
        raise UnsupportedError(
            "adapt= with a plan of its own for each of several patterns",
            hint="leave plan= out, or plan=choose_plan(patterns, statistics)",
        )
    measure = partial(measured, stream, seed=0)
    place: Any
    if stream.place == "spark":
        from cepkit.spark.matches.several import OnSpark

        fetch = None if options.given else partial(at_hand, stream)
        place = partial(
            OnSpark,
            slice_seconds=options.slice_seconds,
            slice_events=options.slice_events,
            fetch=fetch,
        )
    else:
        from cepkit.columnar.results.together import InFiles, InMemory

        in_files = follow is None and all(is_large(stream, q) for q in queries.values())
        place = InFiles if in_files else partial(InMemory, follow=follow)
    from cepkit.columnar.results.several import SeveralMatches

    return SeveralMatches(
        stream, queries, plans, measure, place, limit=limit, sets=sets, share=share != "none"
    )


def detect_live(
    stream: Stream,
    queries: Mapping[str, Query],
    plan: Any,
    share: Share,
    options: SparkOptions,
    *,
    sets: Sets,
    follow: PlansOf | None,
) -> StreamFrame:
    """Return the matches of patterns in a streaming DataFrame; see `detect`.

    A live stream cannot be profiled: without a plan each uses `plan_without_rates`.

    Args:
        queries: The patterns by their names; a single one is called `ALONE`.
        plan: None, or a plan for each.
    """
    from cepkit.spark.streaming.detect import detect

    plans: SharedPlan | list[Plan]
    if plan is None:
        plans = [plan_without_rates(query) for query in queries.values()]
    else:
        plans = plans_given(queries, plan)
    queries = as_the_plan_names_them(queries, plans)
    return detect(
        stream, queries, plans, sets=sets, share=share != "none", follow=follow,
        buckets=options.buckets, late=options.late, slice_seconds=options.slice_seconds,
        timeouts=options.timeouts,
    )  # fmt: skip


def _plans(
    stream: Stream, queries: Mapping[str, Query], plan: Any, share: Share
) -> SharedPlan | list[Plan]:
    """Return a plan for each query.

    Raises:
        PlanError: There is not one plan for each query.
    """
    if plan is None:
        listed = [*queries.values()]
        if stream.place == "spark":
            return plans_to_run(queries, measured_together(stream, listed), share)
        briefly = partial(_measured_briefly, stream, listed)
        return plans_to_run(queries, briefly(SIZE), share, partial(_worth, briefly, len(listed)))
    return plans_given(queries, plan)


def _measured_briefly(stream: Stream, queries: Sequence[Query], size: int) -> Statistics:
    """Return statistics of slices of a stream, with `size` events."""

    def of(query: Query) -> Statistics:
        sampled, joins = sample_of(stream, query), len(queries) == 1
        if sampled is None:
            columns = stream.columns(attributes_read(query))
            return estimate_by_slices(columns, query, size=size, joins=joins)
        columns, parts = sampled
        statistics = estimate_by_slices(columns, query, size=size, joins=joins)
        return of_whole(statistics, parts.rows, parts.ends)

    first, *others = map(of, map(together, alike(queries)))
    return replace(first, others=tuple(others))


def _worth(measure: Callable[[int], Statistics], queries: int, seconds: float) -> Statistics | None:
    size = size_worth(seconds, queries)
    return None if size is None else measure(size)


def as_the_plan_names_them(
    queries: Mapping[str, Query], plans: SharedPlan | Sequence[Plan]
) -> dict[str, Query]:
    """Return queries by the names in their shared plan, or by their own without one."""
    names = plans.names if isinstance(plans, SharedPlan) else queries
    return dict(zip(names, queries.values(), strict=True))


def plans_given(queries: Mapping[str, Query], plan: Any) -> SharedPlan | list[Plan]:
    """Return the given plans of several queries, one for each.

    Raises:
        PlanError: There is not one plan for each query.
    """
    if isinstance(plan, SharedPlan):
        if [*map(without_zones, plan.queries)] != [*map(without_zones, queries.values())]:
            raise PlanError(
                f"the shared plan belongs to {len(plan.queries)} other patterns",
                expected="choose_plan of the same patterns, in the same order",
            )
        return plan
    plans_by_query = [plan.get(name) for name in queries] if isinstance(plan, Mapping) else plan
    if (
        not isinstance(plans_by_query, Sequence)
        or isinstance(plans_by_query, str)
        or len(plans_by_query) != len(queries)
    ):
        raise PlanError(
            f"a {type(plan).__name__} as the plans of {len(queries)} queries",
            expected="a list with a plan for each, or the result of choose_plan",
        )
    plans = []
    for (name, query), one in zip(queries.items(), plans_by_query, strict=True):
        with telling(called(name)):
            plans.append(as_plan(one, query))
    return plans
