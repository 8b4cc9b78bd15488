"""The order of the pattern, as engines without a planner take it. O(n).

Source: TRIVIAL of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1. It uses neither statistics nor cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.contract import Observer
from cepkit.planners.deciding import DecidingCondition
from cepkit.planners.search import report_plan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class GivenOrder:
    """The order of the variables in the pattern."""

    name: str = "given-order"

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> OrderPlan:
        """Return the order of the pattern (see `contract.Planner`)."""
        order = OrderPlan(branch.variables)
        report_plan(order, branch, statistics, cost, observe)
        return order

    def deciding(self, _plan: BranchPlan, _cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return no conditions: this planner compares no costs."""
        return ()
