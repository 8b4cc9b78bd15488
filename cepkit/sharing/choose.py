"""A shared plan for several queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cepkit.costs.contract import CostModel
from cepkit.costs.work import WORK
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.policies import Strategy
from cepkit.pattern.query import Query
from cepkit.pattern.several import check_share, named
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.planners.contract import SearchInterrupted
from cepkit.sharing.parts import WORTH, Part, Share, alone_costs, known_statistics, prepared_part
from cepkit.sharing.plan_graph import Mode, PlanGraph
from cepkit.sharing.prices import number_of
from cepkit.sharing.searches import SEARCHES, GreedyMerge, SharingObserver, SharingSearch
from cepkit.sharing.shared_plan import SharedPlan, assembled
from cepkit.sharing.start import own_plans
from cepkit.statistics.model import Statistics

SHARES: tuple[Share, ...] = ("auto", "none", "prefix", "tree")
_LEAST_FOR_TREES = 4
_WANTED: tuple[tuple[Mode, bool], ...] = (("order", False), ("tree", True))


def share_plans(
    queries: Sequence[Query] | Mapping[str, Query],
    statistics: Statistics,
    share: Share = "auto",
    search: str | SharingSearch = "greedy-merge",
    cost: CostModel = WORK,
    observe: SharingObserver | None = None,
) -> SharedPlan:
    """Return plans for several queries that share their common parts.

    Args:
        queries: The queries, by name; a list gets numbers as names.
        share: What plans may share. "prefix": orders that begin alike; "tree": subtrees;
            "none": nothing, each has its best order; "auto": prefixes, and subtrees if these
            promise to halve the work.
        search: A name of the shelf, or a search with settings of its own.
        cost: The cost model. By latency nothing is gained by sharing, because each pattern waits
            for its own matches: in a blend only the partial matches are shared.
        observe: Called with the state of the search.

    Raises:
        PatternError: There is no query.
        PlanError: There is no such search, or no such way of sharing.
        StatisticsError: The statistics lack an event or a condition of a query.
        LimitError: The search is exact and there are too many queries.
    """
    check_share(share, SHARES)
    picked = SEARCHES.pick(search)
    by_name = named(queries)
    names, listed = tuple(by_name), tuple(by_name.values())
    known = known_statistics(by_name, statistics)
    name = "none" if share == "none" else _name_of(picked, listed)
    whole = SharedPlan(names, listed, (), (), (), 0.0, 0.0, share, name, cost, statistics)
    orders = None if share == "tree" else prepared_part(listed, known, cost, "order")
    searching = _Searching(picked, observe)
    found = assembled(whole, _parts(listed, known, share, searching, cost, orders))
    return found if searching.whole else replace(found, search=f"{found.search}, interrupted")


_SEARCH_NS = 2_000_000.0
"""The least time of a search for each query; a unit of work takes about 1 ns."""

_FEW, _SEARCH_OF_MANY_NS = 200, 10_000_000.0
"""The time for each further query."""


def plans_to_run(
    queries: Mapping[str, Query],
    statistics: Statistics,
    share: Share = "auto",
    closer: Callable[[float], Statistics | None] | None = None,
    *,
    brief: bool = False,
) -> SharedPlan:
    """Return a plan for each of several queries, as `detect` runs them.

    If a search would take longer than all the work, each query gets its own best plan.

    Args:
        share: As for `share_plans`, whose errors are raised too.
        closer: Takes the expected seconds of running the queries one by one and returns statistics
            that are measured more closely; None if that is not worth it.
        brief: Whether also with "prefix" a search may not take longer than all the work; equal
            nodes of the queries' own plans are shared in any case.
    """
    if share == "tree":
        return share_plans(queries, statistics, share)
    names, listed = tuple(queries), tuple(queries.values())
    known = known_statistics(queries, statistics)
    orders = prepared_part(listed, known, WORK, "order")
    work = number_of(sum(alone_costs(orders))) * statistics.span_seconds
    if closer is not None and (better := closer(work / 1e9)) is not None:
        return plans_to_run(queries, better, share)
    kind, search = share, SEARCHES["greedy-merge"]
    if (share == "auto" or (brief and share == "prefix")) and work < len(listed) * (
        _SEARCH_NS if len(listed) <= _FEW else _SEARCH_OF_MANY_NS
    ):
        kind, search = "prefix", SEARCHES["own-plans"]
    name = "none" if share == "none" else _name_of(search, listed)
    whole = SharedPlan(names, listed, (), (), (), 0.0, 0.0, share, name, WORK, statistics)
    return assembled(whole, _parts(listed, known, kind, _Searching(search), WORK, orders))


def _name_of(search: SharingSearch, queries: Sequence[Query]) -> str:
    """Return the name of a search, with its block size if it works in blocks."""
    if isinstance(search, GreedyMerge) and len(queries) > search.at_once:
        return f"{search.name}, {search.at_once} at a time"
    return search.name


class _Searching:
    """A search of one part of the queries after the other.

    If the user interrupts it, the best plans so far are the result; queries of further parts get
    their own.

    Attributes:
        whole: Whether the search finished without an interrupt.
    """

    def __init__(self, search: SharingSearch, observe: SharingObserver | None = None) -> None:
        self._search, self._observe, self.whole = search, observe, True

    def of(self, part: Part) -> Part:
        """Search the plans of a part."""
        if not self.whole:
            part.choices = own_plans(part.prepared)
            return part
        try:
            part.choices = dict(self._search.search(part.prepared, self._observe))
        except SearchInterrupted as stop:
            part.choices, self.whole = dict(stop.best), False
        return part


def _parts(
    queries: Sequence[Query],
    known: Sequence[Statistics],
    share: Share,
    searching: _Searching,
    cost: CostModel,
    orders: Part | None,
) -> list[Part]:
    searched = searching.of
    if orders is None:
        return [searched(prepared_part(queries, known, cost, "tree"))]
    if share == "none":
        orders.choices = own_plans(orders.prepared, shared=False)
        return [orders]
    sizes = (sharer.size for sharer in orders.prepared.workload.sharers)
    if share == "prefix" or max(sizes) < _LEAST_FOR_TREES:
        return [searched(orders)]
    trees = prepared_part(queries, known, cost, "tree")
    pays = [
        tree * WORTH < order
        for tree, order in zip(alone_costs(trees), alone_costs(orders), strict=True)
    ]
    parts = [
        searched(prepared_part(queries, known, cost, mode, numbers))
        for mode, wanted in _WANTED
        if (numbers := [i for i, pay in enumerate(pays) if pay is wanted])
    ]
    total = sum(PlanGraph(part.prepared, part.choices).cost for part in parts)
    # A search saves only some tenths on top of equal nodes: skip it if costs are too high before.
    begun = PlanGraph(trees.prepared, own_plans(trees.prepared)).cost
    if all(pays) or 3 * begun >= 2 * total:
        return parts
    searched(trees)
    pay = PlanGraph(trees.prepared, trees.choices).cost * WORTH < total
    return [trees] if pay else parts


_LEAST_SECONDS = 0.02
"""The seconds of work for each branch from which on a search is made; it takes about as long."""


def with_shared_steps(plan: Plan, query: Query) -> Plan:
    """Return a plan whose branches share more of their orders; the same where that brings nothing.

    Branches share the first steps of their orders. The best plans of each by itself need not meet:
    a search over all of them finds plans that do, where that is cheaper. It is made only where the
    work is long.

    Args:
        plan: The best plan of each branch by itself.
    """
    branches, seconds = normal_form(query), plan.seconds
    if seconds is None or plan.statistics is None or seconds < _LEAST_SECONDS * len(branches):
        return plan
    orders = all(isinstance(each, OrderPlan) for each in plan.branches)
    # FIRST and GREEDY end steps early in some orders, which the search does not know.
    plain = orders and all(branch is branch.as_written for branch in branches)
    if len(branches) < 2 or not plain or query.strategy is not Strategy.SKIP_TILL_ANY_MATCH:
        return plan
    shared = share_plans([query], plan.statistics, "prefix")
    # Rows of weaker nodes need checks, which plans of single queries do not have.
    return plan if any(late is not None for late in shared.late[0]) else shared.plans[0]
