"""At each step the variable that makes the step cheapest.

O(n^2) steps evaluated. Not optimal: a cheap first step can lead to dear later ones.
Source: GREEDY of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Swami's greedy join order.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Greedy:
    """Binds next what costs least now."""

    name: str = "greedy"

    def plan(self, branch: Branch, statistics: Statistics, cost: CostModel) -> OrderPlan:
        """Return the order of cheapest next steps (see `contract.Planner`)."""
        ready = cost.on(branch, statistics)
        order: list[str] = []
        left = list(branch.variables)
        while left:
            costs = [ready.step(frozenset(order), variable) for variable in left]
            # The first of equals: the order of the pattern.
            cheapest = left[costs.index(min(costs))]
            order.append(cheapest)
            left.remove(cheapest)
        return OrderPlan(tuple(order))
