"""The order of the pattern, as engines without a planner take it. O(n).

Source: TRIVIAL of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1. It uses neither statistics nor cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import BranchCost
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.deciding import DecidingCondition
from cepkit.planners.search import Search, SearchingPlanner


@dataclass(frozen=True, slots=True)
class GivenOrder(SearchingPlanner):
    """The order of the variables in the pattern."""

    name: str = "given-order"

    def find(self, search: Search) -> None:
        """Take the order of the pattern."""
        search.found(OrderPlan(search.branch.variables))

    def deciding(self, _plan: BranchPlan, _cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return no conditions: this planner compares no costs."""
        return ()
