"""The verbs that set plans side by side: `compare_plans` and `what_if`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from cepkit.api.arguments import (
    Pattern,
    are_several,
    check_statistics,
    detectable,
    refuse,
    statistics_given,
)
from cepkit.arguments import typed
from cepkit.costs import COSTS, CostModel
from cepkit.costs.latency import NOTHING_KNOWN
from cepkit.errors import ArgumentError, PlanError, StreamError, shown
from cepkit.pattern.builder import as_query
from cepkit.pattern.several import queries_of
from cepkit.plan.checks import check_plan
from cepkit.planners import compare, contract, tradeoff
from cepkit.planners import what_if as asking
from cepkit.progress import Progress, showing
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream

if TYPE_CHECKING:
    from cepkit.columnar.results.matches import Matches
    from cepkit.plan.nodes import Plan
    from cepkit.planners.compare import PlanComparison
    from cepkit.planners.tradeoff import Tradeoff
    from cepkit.planners.what_if import WhatIf
    from cepkit.sharing import SharingComparison, SharingSearch


@overload
def compare_plans(
    pattern: list[Any] | tuple[Any, ...] | dict[str, Any],
    statistics: Statistics,
    planners: Sequence[str | SharingSearch] | None = None,
    *,
    share: Literal["auto", "prefix", "tree"] = "auto",
    cost: str | CostModel | None = None,
    progress: Progress = "auto",
) -> SharingComparison: ...


@overload
def compare_plans(
    pattern: Pattern,
    statistics: Statistics,
    planners: Sequence[str | contract.Planner] | None = None,
    *,
    alphas: Literal["auto"] | Sequence[float],
    matches: Matches | None = None,
    progress: Progress = "auto",
) -> Tradeoff: ...


@overload
def compare_plans(
    pattern: Pattern,
    statistics: Statistics,
    planners: Sequence[str | contract.Planner] | None = None,
    *,
    cost: str | CostModel | None = None,
    run: bool = False,
    stream: Stream | None = None,
    events: int = 100_000,
    progress: Progress = "auto",
) -> PlanComparison: ...


@typed
def compare_plans(
    pattern: Pattern | Sequence[Pattern] | Mapping[str, Pattern],
    statistics: Statistics,
    planners: Sequence[Any] | None = None,
    *,
    share: Literal["auto", "prefix", "tree"] = "auto",
    cost: str | CostModel | None = None,
    alphas: Literal["auto"] | Sequence[float] | None = None,
    matches: Matches | None = None,
    run: bool = False,
    stream: Stream | None = None,
    events: int = 100_000,
    progress: Progress = "auto",
) -> PlanComparison | Tradeoff | SharingComparison:
    """Return the plans of several planners with their costs and how long each planned.

    With `alphas`, return the best plans for each weight of latency against throughput. Of several
    patterns, compare the shared plans that searches find, and tell the two parts of the gain apart:
    reordering, and sharing.

    Args:
        pattern: The query, or its text; or several, as a list or as {"name": query}.
        statistics: From `profile`, of several patterns of all of them; or made by hand.
        planners: Which; None for all, with `alphas` for "dp-order" and "dp-tree". Of several
            patterns names of `cepkit.sharing.SEARCHES`, or searches of one's own; None for all.
        share: Of several patterns: "prefix" for orders, "tree" for trees, "auto" for both.
        cost: What makes one plan better than another, as for `choose_plan`.
        alphas: What a unit of latency is worth in partial matches, as [0, 0.1, 1], 0 for nothing;
            "auto" for a range of them.
        matches: For `alphas`: matches of a local stream; they show which event comes last under
            AND. Without them that is what independent arrivals would make it.
        run: Whether to run each plan over the beginning of the stream as well, and to count its
            candidates, its partial matches and the time.
        stream: For `run`: the stream; from Spark its beginning is fetched.
        events: For `run`: how many events.
        progress: "auto" for a bar where a search takes more than two seconds; True, or False.
            Interrupted, it returns the plans until then.

    Raises:
        PatternError: There is no pattern, or one that means nothing; the error says which.
        PlanError: A planner, search or cost model that does not exist.
        StreamError: Plans are to be run, but over what?
        LimitError: Every one of the planners refused.

    Example:
        >>> import cepkit as ck
        >>> pattern = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 seconds"
        >>> rates = {"a": 10, "b": 10, "c": 1, "d": 1}
        >>> statistics = ck.Statistics.assumed(rates, {("a", "b"): 0.1})
        >>> comparison = ck.compare_plans(pattern, statistics, ["given-order", "dp-order"])
        >>> comparison.to_pandas()[["planner", "plan", "cost"]]
               planner       plan         cost
        0  given-order  a → b → c  2266.666667
        1     dp-order  c → a → b  2176.666667
        >>> print(ck.compare_plans(pattern, statistics, ["dp-order"], alphas=[0, 10]))
        planner     alpha  plan       partial matches  latency
        dp-order ★  0      c → a → b            2,177      200
        dp-order ★  10     a → b → c            2,267        0
        a: A, b: B, c: C
        ★ no plan is as good in both and better in one
        >>> rules = [pattern, "PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 seconds"]
        >>> searches = ["own-plans", "greedy-merge"]
        >>> compared = ck.compare_plans(rules, statistics, searches, share="prefix")
        >>> compared.to_pandas()[["search", "cost", "gain", "nodes", "shared"]].round(1)
                 search    cost  gain  nodes  shared
        0     own-plans  2073.3   1.3      4       2
        1  greedy-merge  2073.3   1.3      4       2
    """
    several = are_several(pattern)
    if several:
        refuse("for several patterns", alphas=alphas is not None, run=run)
    else:
        refuse("for one pattern", share=share != "auto")
    if alphas is None:
        refuse("without alphas=", matches=matches is not None)
    else:
        refuse("together with alphas=", run=run, cost=cost is not None)
        return _weighed(pattern, statistics, planners, alphas, matches, progress)
    if several:
        from cepkit.sharing.compare import compare_shared_plans

        check_statistics(statistics)
        queries, model, searches = (
            queries_of(pattern),
            COSTS.pick("work" if cost is None else cost),
            planners,
        )
        return compare_shared_plans(queries, statistics, searches, share, model, progress=progress)
    if run and stream is None:
        raise StreamError(
            "run=True without a stream",
            hint="compare_plans(pattern, statistics, run=True, stream=stream)",
        )
    if events < 1:
        raise StreamError(f"events={events}", expected="1 or more")
    # Refuse what cannot run before searching plans.
    one: Any = pattern
    query = detectable(stream, one) if run and stream is not None else as_query(one)
    known, model = (
        statistics_given(statistics, query),
        COSTS.pick("partial-matches" if cost is None else cost),
    )
    comparison = compare.compare_plans(query, known, planners, model, progress=progress)
    if not run or stream is None:
        return comparison
    from cepkit.columnar.results.measuring import run_plans

    with showing("running plans", progress):
        return run_plans(comparison, stream.head(events))


def _weighed(
    pattern: Pattern,
    statistics: Statistics,
    planners: Any,
    alphas: str | Sequence[float],
    matches: Matches | None,
    progress: Progress,
) -> Tradeoff:
    """Return the best plans for each alpha; see `compare_plans`."""
    query = as_query(pattern)
    if isinstance(alphas, str):
        if alphas != "auto":
            raise ArgumentError(f"alphas={shown(alphas)}", expected="'auto', or a list of numbers")
        alphas = tradeoff.ALPHAS
    output = NOTHING_KNOWN
    if matches is not None:
        from cepkit.columnar.results.matches import Matches
        from cepkit.columnar.results.measuring import output_profile

        if not isinstance(matches, Matches):
            raise ArgumentError(
                f"matches= is of the type {type(matches).__name__}",
                expected="the result of detect over a local stream",
            )
        output = output_profile(matches)
    known = statistics_given(statistics, query)
    planners = ("dp-order", "dp-tree") if planners is None else planners
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
            expected="the result of compare_plans, or a list of plans",
        )
    for plan in plans:
        check_plan(plan, query)
    model = COSTS.pick(cost)
    known = statistics_given(statistics, query)
    with showing("computing costs", progress):
        return asking.what_if(query, known, plans, variable, rates, model)
