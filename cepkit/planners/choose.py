"""A plan for a whole query: one for each of its branches."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

from cepkit.costs.contract import CostModel, query_cost
from cepkit.costs.partial_matches import PARTIAL_MATCHES
from cepkit.costs.steps import expected_steps, work_with_sets
from cepkit.costs.work import WORK, work_of_order
from cepkit.pattern.normal_form import Branch, normal_form
from cepkit.pattern.query import Query
from cepkit.plan.checks import check_plan
from cepkit.plan.nodes import BranchPlan, OrderPlan, Plan, as_tree, sets_begun
from cepkit.planners import DEFAULT, PLANNERS
from cepkit.planners.contract import Observer, Planner, SearchInterrupted
from cepkit.planners.deciding import Decisions
from cepkit.planners.iterative_improvement import MAX_VARIABLES
from cepkit.statistics.measuring.estimate import SIZE, estimate_by_slices
from cepkit.statistics.measuring.file_parts import of_whole
from cepkit.statistics.model import Statistics
from cepkit.stream.columns import EventColumns


def choose_plan(
    query: Query,
    statistics: Statistics,
    planner: str | Planner = DEFAULT,
    cost: CostModel = PARTIAL_MATCHES,
    observe: Observer | None = None,
) -> Plan:
    """Return the plan that `planner` finds for `query`, with its cost and expected numbers.

    Args:
        planner: A name of the shelf, or a planner with settings of its own.
        observe: Called with the state of the search, which starts anew for each branch.

    Raises:
        PlanError: There is no planner of that name.
        StatisticsError: The statistics lack a variable of the query.
        LimitError: The planner is exact, and the query is too large for it.
        KeyboardInterrupt: The user interrupted before there was a plan. After that an interrupt
            returns the best plan so far, and its planner's name says so.
    """
    answer = answer_of(query, statistics, planner, cost, observe)
    return cost_plan(answer, query, statistics, cost)


def answer_of(
    query: Query,
    statistics: Statistics,
    planner: str | Planner,
    cost: CostModel,
    observe: Observer | None = None,
) -> Plan:
    """Return the plan that `choose_plan` returns, without its cost and expected numbers."""
    picked = PLANNERS.pick(planner)
    branches = normal_form(query)
    plans, whole = searched(picked, branches, statistics, cost, lambda _: observe)
    decided = Decisions(branches, plans, picked, cost, statistics)
    return Plan(plans, name_of(picked, whole=whole), statistics=statistics, decided=decided)


def searched(
    planner: Planner,
    branches: tuple[Branch, ...],
    statistics: Statistics,
    cost: CostModel,
    observer: Callable[[int], Observer | None],
) -> tuple[tuple[BranchPlan, ...], bool]:
    """Return the plans that a planner finds, and whether it finished.

    If the user interrupts a search that has a plan, this is the result; further branches get greedy
    orders.

    Args:
        observer: Takes the number of a branch and returns the observer of its search.

    Raises:
        KeyboardInterrupt: The user interrupted, and there is no plan yet.
    """
    plans: list[BranchPlan] = []
    whole = True
    for number, branch in enumerate(branches):
        try:
            one = planner if whole else PLANNERS["greedy"]
            plans.append(one.plan(branch, statistics, cost, observer(number)))
        except SearchInterrupted as stop:
            plans.append(stop.best)
            whole = False
    return tuple(plans), whole


def name_of(planner: Planner, *, whole: bool) -> str:
    """Return the planner's name for display, with a note if it was interrupted."""
    return planner.name if whole else f"{planner.name}, interrupted"


_MOST_FOR_ORDERS, MOST_FOR_TREES = 18, 10
"""The most variables of a branch for which the best plan takes only milliseconds."""
_MOST_PERMUTED = 5
"""The most variables for which all orders are compared, if costs of sets cannot decide."""
WORTH_A_TREE = math.log(2)
"""A tree must promise to halve the work, because it writes out its subtrees' partial matches."""

_SHARE = 0.1
"""The share of a search's time that measuring may take."""
_MEASURING = 0.01
"""Seconds that the engine takes for one candidate, and for measuring `SIZE` events."""
_MEASURING_EACH = 1e-3
"""Seconds that measuring takes longer for each further query."""
_SOON = 3.0
"""A search shorter than this many seconds is not worth Spark's workers."""
_LARGER, _LARGEST = 4, 32
"""The factor by which the number of measured events grows, if that is worth its time."""


def plan_to_run(query: Query, statistics: Statistics) -> Plan:
    """Return the plan with the least work for the engine that a quick search finds.

    It prefers orders to trees that are only a little better.
    """
    branches = normal_form(query)
    most = max(len(branch.variables) for branch in branches)
    exact = most <= _MOST_FOR_ORDERS
    quick = "ii-greedy" if most <= MAX_VARIABLES else "greedy"
    order = choose_plan(query, statistics, DEFAULT if exact else quick, WORK)
    order = _as_executed(order, query, statistics)
    if not 4 <= most <= MOST_FOR_TREES:
        return order
    tree = choose_plan(query, statistics, "dp-tree", WORK)
    assert tree.log_cost is not None
    as_trees = [as_tree(plan) for plan in order.branches]
    work = query_cost([WORK.on(branch, statistics) for branch in branches], as_trees)
    return tree if tree.log_cost + WORTH_A_TREE < work else order


def _as_executed(plan: Plan, query: Query, statistics: Statistics) -> Plan:
    """Return a cheaper plan of orders by costs that `Work` does not know, or the plan itself.

    These are steps that FIRST ends early, and sets that are not begun in their place.
    """
    branches = normal_form(query)
    plans: list[BranchPlan] = []
    for branch, known in zip(branches, plan.branches, strict=True):
        best = known
        if isinstance(best, OrderPlan) and branch is not branch.as_written:
            best = _best_with_firsts(branch, statistics, best)
        if isinstance(best, OrderPlan) and sets_begun(branch, best):
            best = _best_with_sets(branch, statistics, best)
        plans.append(best)
    if tuple(plans) == plan.branches:
        return plan
    return cost_plan(Plan(tuple(plans), plan.planner), query, statistics, WORK)


def _best_with_firsts(branch: Branch, statistics: Statistics, known: OrderPlan) -> OrderPlan:
    """Return the best of all orders; with many variables, the known one or the pattern's."""
    variables = branch.variables
    few = len(variables) <= _MOST_PERMUTED
    orders = map(OrderPlan, permutations(variables) if few else (variables,))
    return min((known, *orders), key=lambda order: work_of_order(branch, statistics, order))


def _best_with_sets(branch: Branch, statistics: Statistics, known: OrderPlan) -> OrderPlan:
    """Return the best of an order and those that have some of the sets it begins at the end."""
    begun = [v for v in known.order if v in sets_begun(branch, known)]
    orders = [known]
    for last in (begun, *([v] for v in begun)):
        rest = tuple(v for v in known.order if v not in last)
        orders.append(OrderPlan((*rest, *last)))
    return min(orders, key=lambda order: work_with_sets(branch, statistics, order))


def plan_in_memory(query: Query, columns: EventColumns) -> Plan:
    """Return the plan to run over a stream in memory, by slices of it.

    Measuring may take a tenth of the expected running time, and 20 ms in any case.

    Args:
        columns: The stream, with the attributes of `attributes_read`.
    """
    plan = plan_to_run(query, estimate_by_slices(columns, query))
    seconds, statistics = plan.seconds, plan.statistics
    if seconds is None or statistics is None or statistics.measured_events is None:
        return plan
    size = size_worth(seconds)
    if size is None:
        return plan
    return plan_to_run(query, estimate_by_slices(columns, query, size=size))


def plan_in_pieces(query: Query, sample: EventColumns, rows: int, ends: tuple[int, int]) -> Plan:
    """Return the plan to run over a stream that is too large to be in memory.

    Args:
        sample: Stretches of the stream, with the attributes of `attributes_read`.
    """
    plan = plan_in_memory(query, sample)
    statistics = plan.statistics
    if statistics is None or statistics.first is None:
        return plan
    whole = of_whole(statistics, rows, ends)
    return cost_plan(plan, query, whole, WORK)


def size_worth(seconds: float, queries: int = 1) -> int | None:
    """Return how many events to measure before a search of this length; None: `SIZE` is enough."""
    larger = int(min(_SHARE * seconds / (_MEASURING + _MEASURING_EACH * (queries - 1)), _LARGEST))
    return larger * SIZE if larger >= _LARGER else None


def is_quick(plan: Plan) -> bool:
    """Return whether one core runs a plan faster than distributing it would take."""
    seconds = plan.seconds
    return seconds is None or seconds < _SOON


def cost_plan(
    plan: Plan, query: Query, statistics: Statistics, cost: CostModel = PARTIAL_MATCHES
) -> Plan:
    """Return the same plan with the cost and the expected numbers that `statistics` give it.

    Work adds up over the branches; of waiting only the longest counts. Raises what `choose_plan`
    raises, and PlanError if the plan does not fit the query.
    """
    plans, branches = check_plan(plan, query).branches, normal_form(query)
    return Plan(
        plan.branches,
        plan.planner,
        query_cost([cost.on(branch, statistics) for branch in branches], plans),
        statistics,
        tuple(map(expected_steps, branches, (statistics,) * len(branches), plans)),
        plan.decided,
    )
