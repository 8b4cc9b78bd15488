"""The order by frequency: the rarest variable first. O(n log n).

Source: EFREQ of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1. It uses rates after each variable's own conditions (for a repeated
variable its planning rate) and ignores conditions between variables and the cost model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.costs.expectation import Expectation
from cepkit.costs.set_functions import SetFunction
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.contract import Observer
from cepkit.planners.deciding import DecidingCondition, Next
from cepkit.planners.search import report_plan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Frequency:
    """The number of events, or sets of them, that a variable can take in a window."""

    name: str = "frequency"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the counts of the variables of `branch` (see `contract.CostModel`)."""
        counts = Expectation.of(branch, statistics).log_counts
        return BranchCost(branch.variables, SetFunction(tuple(counts[v] for v in branch.variables)))


@dataclass(frozen=True, slots=True)
class ByFrequency:
    """The order of ascending rates."""

    name: str = "by-frequency"
    compares: CostModel = Frequency()

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> OrderPlan:
        """Return the order of ascending rates (see `contract.Planner`)."""
        counts = self.compares.on(branch, statistics)
        rarest_first = sorted(branch.variables, key=lambda v: counts.step(0, counts.mask((v,))))
        order = OrderPlan(tuple(rarest_first))
        report_plan(order, branch, statistics, cost, observe)
        return order

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return for each variable but the last that it is no more frequent than the next one."""
        place, order = cost.variables.index, plan.variables
        return tuple(
            DecidingCondition(step, Next((), one), Next((), other), place(one) < place(other))
            for step, (one, other) in enumerate(pairwise(order), 1)
        )
