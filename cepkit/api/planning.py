"""The verbs that measure streams and choose plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from cepkit.api.arguments import (
    Pattern,
    are_several,
    at_hand,
    check_statistics,
    checked,
    measured_together,
    refuse,
    statistics_given,
)
from cepkit.arguments import check_range, typed
from cepkit.costs import COSTS, CostModel
from cepkit.errors import UnsupportedError
from cepkit.pattern.builder import as_query
from cepkit.pattern.policies import Strategy
from cepkit.pattern.several import queries_of
from cepkit.planners import DEFAULT, contract
from cepkit.planners import choose as choosing
from cepkit.progress import Progress, showing
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream, check_stream
from cepkit.threads import limited_to

if TYPE_CHECKING:
    from cepkit.plan.nodes import Plan
    from cepkit.sharing import SharedPlan, SharingObserved, SharingObserver, SharingSearch
    from cepkit.sharing.parts import Share
    from cepkit.statistics.summary import StreamSummary


@overload
def profile(
    stream: Stream,
    pattern: None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = "auto",
) -> StreamSummary: ...


@overload
def profile(
    stream: Stream,
    pattern: Pattern | list[Any] | tuple[Any, ...] | Mapping[str, Any],
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = "auto",
) -> Statistics: ...


@typed
def profile(
    stream: Stream,
    pattern: Pattern | list[Any] | tuple[Any, ...] | Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
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
        threads: The most threads that count and sample a stream in memory, or that read the row
            groups of files which do not fit there; None for all cores that the process may use.
        progress: "auto" for a bar where it takes more than two seconds; True, or False.

    Returns:
        Rates in events per second, selectivities with their standard errors, shares of equal
        keys, and what the stream is like: events over time, frequent keys, missing values, events
        out of order, dropped rows, types that never occur. `forecast` says how many matches of
        a single pattern to expect, with a warning where they or the work explode.

    Raises:
        PatternError: A pattern reads a column that the stream lacks; or the list is empty.
        UnsupportedError: There is no pattern, and the events are in Spark.

    Example:
        >>> import cepkit as ck
        >>> stream = ck.events(ck.sample_stocks(1_000), time="ts", type="ticker")
        >>> ck.profile(stream).events
        1000
    """
    from cepkit.stream.warnings import warn_of_absent, warn_of_dropped, warn_of_no_events

    if pattern is None:
        with limited_to(threads), showing("measuring", progress):
            return _summary(stream)
    several = are_several(pattern)
    read = partial(checked, stream)
    queries = [*queries_of(pattern, read).values()] if several else [read(pattern)]
    check_range("seed", seed, 0)
    with limited_to(threads), showing("measuring", progress):
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


@overload
def choose_plan(
    pattern: list[Any] | tuple[Any, ...] | dict[str, Any],
    statistics: Statistics,
    planner: str | SharingSearch | None = None,
    *,
    share: Share = "auto",
    cost: str | CostModel | None = None,
    observe: SharingObserver | None = None,
    progress: Progress = "auto",
) -> SharedPlan: ...


@overload
def choose_plan(
    pattern: Pattern,
    statistics: Statistics,
    planner: str | contract.Planner | None = None,
    *,
    cost: str | CostModel | None = None,
    observe: contract.Observer | None = None,
    progress: Progress = "auto",
) -> Plan: ...


@typed
def choose_plan(
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    statistics: Statistics,
    planner: str | contract.Planner | SharingSearch | None = None,
    *,
    share: Literal["auto", "none", "prefix", "tree"] = "auto",
    cost: str | CostModel | None = None,
    observe: Callable[[Any], None] | None = None,
    progress: Progress = "auto",
) -> Plan | SharedPlan:
    """Return the plan that a planner makes; of several patterns one that shares common parts.

    Plans of several patterns are those of *Real-Time Multi-Pattern Detection over Event Streams*,
    a published patent application (US 2022/0091909 A1); the greedy merge is cepkit's own, and
    `share="none"` needs nothing of it.

    Args:
        pattern: The query, or its text; or several, as a list or as {"name": query}.
        statistics: From `profile`, of several patterns of all of them; or made by hand.
        planner: A name, as `compare_plans` shows them, or a planner of one's own; None for
            "dp-order". Of several patterns a search of `cepkit.sharing.SEARCHES`; None for
            "greedy-merge".
        share: What several patterns share: "prefix" for orders that begin alike, "tree" for
            subtrees, "none" for each pattern's best order, "auto" for prefixes, and subtrees where
            they promise to halve the work.
        cost: What makes one plan better than another: "partial-matches" (None for one pattern),
            "latency", "work" (candidates and partial matches: what the engine does; None for
            several), or a model with settings, as `cepkit.costs.Blend(alpha=0.5)` of partial
            matches and latency. Each pattern waits for its own matches: by latency alone nothing is
            gained by sharing.
        observe: Called with where the search stands (`cepkit.planners.Observed`, or
            `cepkit.sharing.SharingObserved`) when there is a better plan, while a search goes on,
            and at the end.
        progress: "auto" for a bar where a search takes more than two seconds; True, or False.
            Interrupted, a search that goes from plan to plan returns its best until then.

    Raises:
        PatternError: There is no pattern, or one that means nothing; the error says which.
        PlanError: No planner, no search, no cost model or no way of sharing has that name.
        StatisticsError: The statistics lack an event or a condition of a pattern.
        LimitError: The planner is exact and the pattern, or their number, too large for it.

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 1, "d": 1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.1})
        >>> plan = ck.choose_plan(pattern, statistics)
        >>> str(plan).splitlines()[:2]
        ['planner: dp-order, cost 2,177', 'c → a → b']
        >>> other = "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds"
        >>> print(ck.choose_plan({"p": pattern, "q": other}, statistics))
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
    several = are_several(pattern)
    what = "searching for shared plans" if several else "planning"
    with showing(what, progress) as work:

        def tell(state: contract.Observed | SharingObserved) -> None:
            work.tell(what, state.done)
            if observe is not None:
                observe(state)

        if several:
            from cepkit.sharing.choose import share_plans

            check_statistics(statistics)
            search: Any = "greedy-merge" if planner is None else planner
            model = COSTS.pick("work" if cost is None else cost)
            return share_plans(queries_of(pattern), statistics, share, search, model, tell)
        refuse("for one pattern", share=share != "auto")
        one: Any = pattern
        query = as_query(one)
        known = statistics_given(statistics, query)
        chosen: Any = DEFAULT if planner is None else planner
        model = COSTS.pick("partial-matches" if cost is None else cost)
        return choosing.choose_plan(query, known, chosen, model, tell)
