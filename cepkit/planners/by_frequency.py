"""The order by frequency: the rarest variable first. O(n log n).

Source: EFREQ of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1. It uses rates after each variable's own conditions (for a repeated
variable its planning rate) and ignores conditions between variables and the cost model.
"""

from __future__ import annotations

from cepkit.costs.contract import CostModel
from cepkit.costs.expectation import Expectation
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.planners.contract import Observer
from cepkit.planners.search import report_plan
from cepkit.statistics.model import Statistics
from cepkit.values import dataclass


@dataclass(frozen=True, slots=True)
class ByFrequency:
    """The order of ascending rates."""

    name: str = "by-frequency"

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> OrderPlan:
        """Return the order of ascending rates (see `contract.Planner`)."""
        counts = Expectation.of(branch, statistics).log_counts
        order = OrderPlan(tuple(sorted(branch.variables, key=counts.__getitem__)))
        report_plan(order, branch, statistics, cost, observe)
        return order
