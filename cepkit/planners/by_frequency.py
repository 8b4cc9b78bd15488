"""The order by frequency: the rarest variable first. O(n log n).

Source: EFREQ of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1. It uses rates after each variable's own conditions (for a repeated
variable its planning rate) and ignores conditions between variables and the cost model.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from cepkit.costs.contract import BranchCost, CostModel, SetFunction
from cepkit.costs.expectation import Expectation
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.deciding import DecidingCondition, Next
from cepkit.planners.search import Search, SearchingPlanner
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
class ByFrequency(SearchingPlanner):
    """The order of ascending rates."""

    name: str = "by-frequency"
    compares: CostModel = Frequency()

    def find(self, search: Search) -> None:
        """Take the order of ascending rates."""
        counts = self.compares.on(search.branch, search.statistics)
        rarest_first = sorted(counts.variables, key=lambda v: counts.step(0, counts.mask((v,))))
        search.found(OrderPlan(tuple(rarest_first)))

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return for each variable but the last that it is no more frequent than the next one."""
        place, order = cost.variables.index, plan.variables
        return tuple(
            DecidingCondition(step, Next((), one), Next((), other), place(one) < place(other))
            for step, (one, other) in enumerate(pairwise(order), 1)
        )
