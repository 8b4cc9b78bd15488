"""The verbs that measure streams, and make and compare plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from cepkit.api.arguments import (
    Pattern,
    at_hand,
    check_stream,
    checked,
    detectable,
    measured_together,
    statistics_given,
)
from cepkit.api.checks import are_several
from cepkit.arguments import check_range, typed
from cepkit.costs import COSTS, CostModel
from cepkit.costs.latency import NOTHING_KNOWN
from cepkit.errors import ArgumentError, PlanError, StatisticsError, StreamError, UnsupportedError
from cepkit.pattern.builder import as_query
from cepkit.pattern.policies import Strategy
from cepkit.pattern.several import queries_of
from cepkit.plan.checks import check_plan
from cepkit.planners import choose as choosing
from cepkit.planners import compare, contract, tradeoff
from cepkit.planners import what_if as asking
from cepkit.planners.tradeoff import ALPHAS
from cepkit.progress import Progress, showing
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.columnar.results.matches import Matches
    from cepkit.pattern.query import Query
    from cepkit.plan.nodes import Plan
    from cepkit.planners.compare import PlanComparison
    from cepkit.planners.tradeoff import Tradeoff
    from cepkit.planners.what_if import WhatIf
    from cepkit.sharing import (
        PatternGraph,
        SharedPlan,
        SharingComparison,
        SharingObserved,
        SharingSearch,
    )
    from cepkit.sharing.parts import Share
    from cepkit.statistics.summary import StreamSummary


@overload
def profile(
    stream: Stream, pattern: None = None, *, seed: int = 0, progress: Progress = "auto"
) -> StreamSummary: ...


@overload
def profile(
    stream: Stream,
    pattern: Pattern | list[Any] | tuple[Any, ...] | Mapping[str, Any],
    *,
    seed: int = 0,
    progress: Progress = "auto",
) -> Statistics: ...


@typed
def profile(
    stream: Stream,
    pattern: Pattern | list[Any] | tuple[Any, ...] | Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    progress: Progress = "auto",
) -> Statistics | StreamSummary:
    """Measure the statistics that plans depend on: rates, and selectivities of conditions.

    Without a pattern, say what is in the stream: its types with their rates and gaps, and its
    columns with what they hold.

    Several patterns are measured together, those of one window and partition in one pass, and
    events and pairs that they have in common once. Their statistics serve each of them - what asks
    for a pattern and statistics takes both - and any other pattern of the same events and
    conditions; `of(pattern)` names them as it does.

    Args:
        stream: From `events`; on Spark the measuring runs there, over a sample of time slices.
        pattern: The query, or its text; or several, as a list or as {"name": query}; None for a
            summary of the stream.
        seed: Of the sample; the same seed gives the same statistics.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        Rates in events per second, selectivities with their standard errors, shares of equal
        keys, and what the stream is like: events over time, frequent keys, missing values, events
        out of order, dropped rows, types that never occur. `forecast` says how many matches of
        a single pattern to expect, with a warning where they or the work explode.

    Raises:
        PatternError: A pattern reads a column that the stream does not have; there is none.
        UnsupportedError: There is no pattern, and the events are in Spark.

    Example:
        >>> import cepkit as ck
        >>> stream = ck.events(ck.sample_stocks(1_000), time="ts", type="ticker")
        >>> ck.profile(stream).events
        1000
    """
    from cepkit.stream.warnings import warn_of_absent, warn_of_dropped, warn_of_no_events

    if pattern is None:
        with showing("measuring", progress):
            return _summary(stream)
    several = are_several(pattern)
    read = partial(checked, stream)
    queries = [*queries_of(pattern, read).values()] if several else [read(pattern)]
    check_range("seed", seed, 0)
    with showing("measuring", progress):
        statistics = measured_together(stream, queries, seed, details=True)
    warn_of_dropped(statistics.dropped, *queries)
    if not statistics.events:
        warn_of_no_events(*queries)
    for part in (statistics, *statistics.others) if statistics.events else ():
        assert part.query is not None
        warn_of_absent(part.never_occurring, (), part.query)
    query = queries[0]
    if several or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return statistics  # a forecast of all matches says little about the strategy's
    return replace(statistics, forecast=choosing.choose_plan(query, statistics, "greedy").forecast)


def _summary(stream: Stream) -> StreamSummary:
    from cepkit.statistics.summary import summarize

    check_stream(stream)
    stream = at_hand(stream, (), output=False)
    if stream.place == "spark":
        raise UnsupportedError(
            "without a pattern only a stream that fits this process is profiled",
            hint="profile(stream.head(200_000)), or pass a pattern to measure on Spark",
        )
    return summarize(stream.columns(()), stream.schema.time, stream.schema.type)


@typed
def choose_plan(
    pattern: Pattern,
    statistics: Statistics,
    planner: str | contract.Planner = "dp-order",
    *,
    cost: str | CostModel = "partial-matches",
    observe: contract.Observer | None = None,
    progress: Progress = "auto",
) -> Plan:
    """Return the plan that a planner makes.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        planner: A name, as `compare_plans` shows them, or a planner of one's own.
        cost: What makes one plan better than another: "partial-matches", "latency", "work"
            (candidates and partial matches: what the engine does), or a model with settings, as
            `cepkit.costs.Blend(alpha=0.5)` of partial matches and latency.
        observe: Called with where the search stands (`cepkit.planners.Observed`) when there is a
            better plan, while a search goes on, and at the end.
        progress: "auto" for a bar where a search takes more than two seconds; True, or False.
            Interrupted, a search that goes from plan to plan returns its best until then.

    Raises:
        PlanError: No planner, or no cost model, has that name.
        StatisticsError: The statistics are not about the pattern's variables.
        LimitError: The planner is exact and the pattern too large for it.

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 0.1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
        >>> plan = ck.choose_plan(pattern, statistics)
        >>> str(plan).splitlines()[:2]
        ['planner: dp-order, cost 884.3', 'c → a → b']
    """
    query = as_query(pattern)
    known = statistics_given(statistics, query)
    with showing("planning", progress) as work:

        def tell(state: contract.Observed) -> None:
            work.tell("planning", state.done)
            if observe is not None:
                observe(state)

        return choosing.choose_plan(query, known, planner, COSTS.pick(cost), tell)


@typed
def compare_plans(
    pattern: Pattern,
    statistics: Statistics,
    planners: Sequence[str | contract.Planner] | None = None,
    *,
    cost: str | CostModel = "partial-matches",
    run: bool = False,
    stream: Stream | None = None,
    events: int = 100_000,
    progress: Progress = "auto",
) -> PlanComparison:
    """Return the plans of several planners with their costs and how long each planned.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        planners: Which; None for all.
        cost: What makes one plan better than another, as for `choose_plan`.
        run: Whether to run each plan over the beginning of the stream as well, and to count its
            candidates, its partial matches and the time.
        stream: For `run`: the stream; from Spark its beginning is fetched.
        events: For `run`: how many events.
        progress: "auto" for a bar where a search takes more than two seconds; True, or False.
            Interrupted, it returns the plans until then.

    Raises:
        PlanError: A planner or cost model that does not exist.
        StreamError: Plans are to be run, but over what?

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 0.1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
        >>> comparison = ck.compare_plans(pattern, statistics, ["given-order", "dp-order"])
        >>> comparison.to_pandas()[["planner", "plan", "cost"]]
               planner       plan         cost
        0  given-order  a → b → c  3433.333333
        1     dp-order  c → a → b   884.333333
    """
    if run and stream is None:
        raise StreamError(
            "run=True without a stream",
            hint="compare_plans(pattern, statistics, run=True, stream=stream)",
        )
    if events < 1:
        raise StreamError(f"events={events}", expected="1 or more")
    # Refuse what cannot run before searching plans.
    query = detectable(stream, pattern) if run and stream is not None else as_query(pattern)
    comparison = compare.compare_plans(
        query, statistics_given(statistics, query), planners, COSTS.pick(cost), progress=progress
    )
    if not run or stream is None:
        return comparison
    from cepkit.columnar.results.measuring import run_plans

    with showing("running plans", progress):
        return run_plans(comparison, stream.head(events))


@typed
def share_plans(
    patterns: list[Any] | tuple[Any, ...] | Mapping[str, Any],
    statistics: Statistics,
    share: Share = "auto",
    *,
    search: str | SharingSearch = "greedy-merge",
    cost: str | CostModel = "work",
    observe: Callable[[Any], None] | None = None,
    progress: Progress = "auto",
) -> SharedPlan:
    """Return a plan for each of several patterns that shares their common parts.

    The system of *Real-Time Multi-Pattern Detection over Event Streams*, a published patent
    application (US 2022/0091909 A1); the greedy merge is cepkit's own, and `share="none"` needs
    nothing of it.

    Args:
        patterns: Queries or their texts, in a list, or in a dict by name.
        statistics: From `profile` of all of them, or made by hand.
        share: "prefix" for orders that begin alike, "tree" for subtrees, "none" for each pattern's
            best order, "auto" for prefixes, and subtrees where they promise to halve the work.
        search: A name of `cepkit.sharing.SEARCHES`, or a search with settings of one's own.
        cost: "work" (candidates and partial matches for each second), "partial-matches",
            "latency", or a model such as `cepkit.costs.Blend(alpha=0.5)`. Each pattern waits for
            its own matches: by latency alone nothing is gained by sharing.
        observe: Called with where the search stands (`cepkit.sharing.SharingObserved`).
        progress: "auto" for a bar where a search takes more than two seconds; True, or False.
            Interrupted, it returns the best plans until then.

    Raises:
        PatternError: There is no pattern, or one that means nothing; the error says which.
        PlanError: No search, no cost model or no way of sharing has that name.
        StatisticsError: The statistics lack an event or a condition of a pattern.
        LimitError: The search is exact, and the patterns are too many for it.

    Example:
        >>> import cepkit as ck
        >>> rules = {
        ...     "p": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds",
        ...     "q": "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds",
        ... }
        >>> rates = {"a": 10, "b": 10, "c": 1, "d": 1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.1})
        >>> print(ck.share_plans(rules, statistics))
        shared plan of 2 patterns: 2 of 4 nodes shared; search: greedy-merge
        cost (work): 2,073, 2,713 without sharing, 24 % less
        <BLANKLINE>
        shared by  window      sub-pattern                alive  cost
        2          10 seconds  SEQ(A, B) where A.x < B.x    500   700
        2          10 seconds  A                            100    40
        <BLANKLINE>
        pattern  plan
        p        a → b → c
        q        a → b → d
    """
    from cepkit.sharing.choose import share_plans as shared

    queries = _several(patterns, statistics)
    with showing("searching for shared plans", progress) as work:

        def tell(state: SharingObserved) -> None:
            work.tell("searching for shared plans", state.done)
            if observe is not None:
                observe(state)

        return shared(queries, statistics, share, search, COSTS.pick(cost), tell)


@typed
def compare_shared_plans(
    patterns: list[Any] | tuple[Any, ...] | Mapping[str, Any],
    statistics: Statistics,
    searches: Sequence[str | SharingSearch] | None = None,
    *,
    share: Literal["auto", "prefix", "tree"] = "auto",
    cost: str | CostModel = "work",
    progress: Progress = "auto",
) -> SharingComparison:
    """Compare the shared plans that several searches find for several patterns.

    It tells the two parts of the gain apart: reordering, and sharing.

    Args:
        patterns: Queries or their texts, in a list, or in a dict by name.
        statistics: From `profile` of all of them, or made by hand.
        searches: Names of `cepkit.sharing.SEARCHES`, or searches of one's own; None for all.
        share: "prefix" for orders, "tree" for trees, "auto" for both.
        cost: The cost model, as for `share_plans`.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Raises:
        PatternError: There is no pattern, or one that means nothing; the error says which.
        PlanError: A search or cost model that does not exist.
        LimitError: Every one of the searches refused.

    Example:
        >>> import cepkit as ck
        >>> rules = {
        ...     "p": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds",
        ...     "q": "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds",
        ... }
        >>> rates = {"a": 10, "b": 10, "c": 1, "d": 1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.1})
        >>> searches = ["own-plans", "greedy-merge"]
        >>> compared = ck.compare_shared_plans(rules, statistics, searches, share="prefix")
        >>> compared.to_pandas()[["search", "cost", "gain", "nodes", "shared"]].round(1)
                 search    cost  gain  nodes  shared
        0     own-plans  2073.3   1.3      4       2
        1  greedy-merge  2073.3   1.3      4       2
    """
    from cepkit.sharing.compare import compare_shared_plans as compared

    queries = _several(patterns, statistics)
    return compared(queries, statistics, searches, share, COSTS.pick(cost), progress=progress)


@typed
def pattern_graph(
    patterns: list[Any] | tuple[Any, ...] | Mapping[str, Any],
) -> PatternGraph:
    """Return the common parts of several patterns: the maximal sub-patterns of each two.

    Args:
        patterns: Queries or their texts, in a list, or in a dict by name.

    Raises:
        PatternError: There is no pattern, or one that means nothing; the error says which.

    Example:
        >>> import cepkit as ck
        >>> rules = {
        ...     "p": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds",
        ...     "q": "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds",
        ... }
        >>> print(ck.pattern_graph(rules))
        2 patterns in 1 connected group; 1 of 1 pair have something in common
        patterns  variables  common sub-pattern         of
        2         2          SEQ(A, B) where A.x < B.x  p, q
    """
    from cepkit.sharing.graph import pattern_graph as graph_of

    return graph_of(queries_of(patterns))


def _several(
    patterns: Sequence[Any] | Mapping[str, Any], statistics: Statistics
) -> dict[str, Query]:
    """Return patterns as queries; refuse invalid statistics."""
    if not isinstance(statistics, Statistics):
        raise StatisticsError(
            f"a {type(statistics).__name__} instead of statistics",
            hint="cepkit.profile(stream, [pattern, another]) measures them",
        )
    return queries_of(patterns)


@typed
def weigh_plans(
    pattern: Pattern,
    statistics: Statistics,
    planners: Sequence[str | contract.Planner] = ("dp-order", "dp-tree"),
    *,
    alphas: Sequence[float] = ALPHAS,
    matches: Matches | None = None,
    progress: Progress = "auto",
) -> Tradeoff:
    """Return the best plans for each weight of latency against throughput.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        planners: Which.
        alphas: What a unit of latency is worth in partial matches; 0 for nothing.
        matches: Of a local stream; they show which event comes last under AND. Without them
            that is what independent arrivals would make it.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 0.1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
        >>> print(ck.weigh_plans(pattern, statistics, ["dp-order"], alphas=[0, 10]))
        planner     alpha  plan       partial matches  latency
        dp-order ★  0      c → a → b            884.3      200
        dp-order ★  10     a → c → b            983.3      100
        a: A, b: B, c: C
        ★ no plan is as good in both and better in one
    """
    query = as_query(pattern)
    output = NOTHING_KNOWN
    if matches is not None:
        from cepkit.columnar.results.matches import Matches
        from cepkit.columnar.results.measuring import output_profile

        if not isinstance(matches, Matches):
            raise ArgumentError(
                f"matches= is of the type {type(matches).__name__}",
                expected="what detect returns of a local stream",
            )
        output = output_profile(matches)
    known = statistics_given(statistics, query)
    return tradeoff.weigh(query, known, planners, alphas, output, progress=progress)


@typed
def what_if(
    pattern: Pattern,
    statistics: Statistics,
    plans: PlanComparison | Sequence[Plan],
    variable: str,
    *,
    rates: Sequence[float] | None = None,
    cost: str | CostModel = "partial-matches",
    progress: Progress = "auto",
) -> WhatIf:
    """Return the cost of each plan at other rates of one variable.

    Args:
        pattern: The query, or its text.
        statistics: From `profile`, or made by hand.
        plans: From `compare_plans` or `choose_plan`.
        variable: Whose rate changes.
        rates: In events per second; None for a hundredth to the hundredfold of the present one.
        cost: The cost model, as for `choose_plan`.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 0.1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.5})
        >>> plans = ck.compare_plans(pattern, statistics, ["given-order", "dp-order"])
        >>> print(ck.what_if(pattern, statistics, plans, "c"))
        cheapest plan by the rate of c: C, 0.001 to 10/s, now 0.1/s
        events/s       cheapest plan  found by
        up to 5.098 ★  c → a → b      dp-order
        beyond 5.098   a → b → c      given-order
        a: A, b: B, c: C
        ★ the current rate
        beyond 5.098/s (51 times the current rate) another plan is the cheapest
        cost: partial-matches
    """
    query = as_query(pattern)
    if isinstance(plans, compare.PlanComparison):
        plans = [row.plan for row in plans.rows]
    if not isinstance(plans, Sequence):
        raise PlanError(
            f"plans of the type {type(plans).__name__}",
            expected="what compare_plans returns, or a list of plans",
        )
    for plan in plans:
        check_plan(plan, query)
    model = COSTS.pick(cost)
    known = statistics_given(statistics, query)
    with showing("computing costs", progress):
        return asking.what_if(query, known, plans, variable, rates, model)
