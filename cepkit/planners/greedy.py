"""The greedy order: at each step the variable that makes the step cheapest.

O(n^2) steps evaluated. Not optimal: a cheap first step can lead to expensive later ones.
Source: GREEDY of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Swami's greedy join order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.costs.contract import BranchCost
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.deciding import DecidingCondition, Next
from cepkit.planners.search import Search, SearchingPlanner


@dataclass(frozen=True, slots=True)
class Greedy(SearchingPlanner):
    """The order of cheapest next steps."""

    name: str = "greedy"

    def find(self, search: Search) -> None:
        """Take the order of cheapest next steps."""
        search.found(OrderPlan(greedy_order(search.cost)))

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return for each step the comparisons with the other variables still unbound."""
        return order_conditions(plan.variables, cost)


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


def order_conditions(order: Sequence[str], cost: BranchCost) -> tuple[DecidingCondition, ...]:
    """Return the deciding conditions of a greedy order: each step against all alternatives."""
    place = cost.variables.index
    return tuple(
        DecidingCondition(
            step,
            Next(tuple(order[: step - 1]), chosen),
            Next(tuple(order[: step - 1]), other),
            first=place(chosen) < place(other),
        )
        for step, chosen in enumerate(order, 1)
        for other in sorted(order[step:], key=place)
    )
