"""The greedy order: at each step the variable that makes the step cheapest.

O(n^2) steps evaluated. Not optimal: a cheap first step can lead to dear later ones.
Source: GREEDY of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Swami's greedy join order.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.planners.contract import Observer
from cepkit.planners.search import Search
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Greedy:
    """The order of cheapest next steps."""

    name: str = "greedy"

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> OrderPlan:
        """Return the order of cheapest next steps (see `contract.Planner`)."""
        search = Search(cost.on(branch, statistics), observe)
        order = OrderPlan(greedy_order(search.cost))
        search.examined = 1
        search.offer(order)
        search.end()
        return order


def greedy_order(cost: BranchCost) -> tuple[str, ...]:
    """Return the order of cheapest next steps."""
    order: list[str] = []
    left = list(cost.variables)
    bound = 0
    while left:
        costs = [cost.step(bound, cost.mask((variable,))) for variable in left]
        # The first of equals: the order of the pattern.
        cheapest = left[costs.index(min(costs))]
        order.append(cheapest)
        left.remove(cheapest)
        bound |= cost.mask((cheapest,))
    return tuple(order)
