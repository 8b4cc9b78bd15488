"""The order of the pattern, as engines without a planner take it. O(n).

Source: TRIVIAL of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1. It looks at neither statistics nor cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.costs.contract import CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class GivenOrder:
    """Binds the variables as they stand in the pattern."""

    name: str = "given-order"

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,  # noqa: ARG002 - what the contract gives
        cost: CostModel,  # noqa: ARG002
    ) -> OrderPlan:
        """Return the order of the pattern (see `contract.Planner`)."""
        return OrderPlan(branch.variables)
