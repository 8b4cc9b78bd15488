"""The cost of a plan as the engine's work: candidates looked at, and partial matches written.

    cost of a step = candidates + 3 * partial matches

Joining L and R looks at the pairs that lie in one window, in order, and have equal keys, for equal
keys are looked up; the other conditions between the two then decide which of them are kept:

    candidates(L, R) = PM(L and R), without the other conditions between L and R

The weight 3 is measured: the least squares over all orders of six patterns gave 2 to 4. Unlike
partial matches alone it knows a step that looks at much and keeps little from one that does not.
O(number of selectivities) a step. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepkit.costs.contract import BranchCost, PairCost
from cepkit.costs.expectation import Expectation
from cepkit.costs.partial_matches import alive
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import OrderPlan
from cepkit.statistics.model import Statistics

PER_PARTIAL_MATCH = 3.0
"""What a partial match costs, in candidates."""


@dataclass(frozen=True, slots=True)
class Work:
    """Candidates that are looked at, and partial matches at a multiple of their price.

    Attributes:
        per_partial_match: What writing one costs, in candidates.
    """

    per_partial_match: float = PER_PARTIAL_MATCH
    name: str = "work"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the model made ready for `branch` (see `contract.CostModel`)."""
        return statistics.once(branch, self._on)

    def _on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        expected = Expectation.of(branch, statistics)
        survivors = alive(branch, statistics)
        in_scope = replace(survivors, groups=expected.in_scope.groups)
        pairs = PairCost(in_scope, expected.filters)
        return BranchCost(branch.variables, survivors.times(self.per_partial_match), pairs)


def work_of_order(branch: Branch, statistics: Statistics, order: OrderPlan) -> float:
    """Return ln(work) of an order, where FIRST ends a step early: costs of sets cannot tell.

    Args:
        statistics: The rates and selectivities.
    """
    cost, expected = WORK.on(branch, statistics), Expectation.of(branch, statistics)
    assert cost.alive is not None
    assert cost.pairs is not None
    costs = []
    for (left, right), variable in zip(cost.steps(order), order.order, strict=True):
        bound = order.order[: order.order.index(variable)]
        looked_at = cost.pairs.between(left | right) + cost.pairs.side(left)
        looked_at += cost.pairs.side(right) + expected.log_end(bound, variable)
        costs += [cost.alive(left | right), looked_at]
    return log_sum(costs)


WORK = Work()
"""With the measured weight."""
