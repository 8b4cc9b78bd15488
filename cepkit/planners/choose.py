"""A planner by its name, and a plan for a whole query: one order for each of its branches."""

from __future__ import annotations

from cepkit.costs.contract import CostModel, plan_cost
from cepkit.costs.partial_matches import PARTIAL_MATCHES
from cepkit.costs.steps import expected_steps
from cepkit.errors import PlanError, nearest
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.query import Query
from cepkit.plan.checks import check_plan
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import Plan
from cepkit.planners import PLANNERS
from cepkit.planners.contract import Planner
from cepkit.statistics.model import Statistics


def get_planner(planner: str | Planner) -> Planner:
    """Return the planner of that name; a planner itself is returned unchanged.

    Raises:
        PlanError: There is none of that name.
    """
    if not isinstance(planner, str):
        return planner
    try:
        return PLANNERS[planner]
    except KeyError:
        raise PlanError(
            f"there is no planner '{planner}'",
            expected=f"one of {', '.join(PLANNERS)}",
            hint=nearest(planner, PLANNERS),
        ) from None


def choose_plan(
    query: Query,
    statistics: Statistics,
    planner: str | Planner = "greedy",
    cost: CostModel = PARTIAL_MATCHES,
) -> Plan:
    """Return the plan that `planner` finds for `query`, with its cost and expected numbers.

    Args:
        query: The query.
        statistics: What is known of the stream.
        planner: A name of the shelf, or a planner with settings of its own.
        cost: The cost model.

    Raises:
        PlanError: There is no planner of that name.
        StatisticsError: The statistics lack a variable of the query.
        UnsupportedError: The cost model does not know a part of the query.
    """
    chosen = get_planner(planner)
    orders = (chosen.plan(branch, statistics, cost) for branch in normal_form(query))
    return cost_plan(Plan(tuple(orders), chosen.name), query, statistics, cost)


def cost_plan(
    plan: Plan, query: Query, statistics: Statistics, cost: CostModel = PARTIAL_MATCHES
) -> Plan:
    """Return the same plan with the cost and the expected numbers that `statistics` give it.

    The cost is the sum over the branches. Raises as `choose_plan`, and PlanError where the plan
    does not belong to the query.
    """
    pairs = list(zip(check_plan(plan, query).branches, normal_form(query), strict=True))
    return Plan(
        plan.branches,
        plan.planner,
        log_sum(plan_cost(cost.on(branch, statistics), p) for p, branch in pairs),
        statistics,
        tuple(expected_steps(branch, statistics, p) for p, branch in pairs),
    )
