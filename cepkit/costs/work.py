"""The cost of a plan as the engine's work: candidates examined, and partial matches written.

    cost of a step = candidates + 3 * partial matches

A join of L and R examines the pairs that lie in one window, in order, and have equal keys (an index
finds these); the residual predicates then reduce them to partial matches:

    candidates(L, R) = PM(L and R), without the other conditions between L and R

The weight 3 is measured: least squares over all orders of six patterns gave 2 to 4. Unlike partial
matches alone, work tells a step that examines much and keeps little from one that does not.
O(number of selectivities) a step. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepkit.costs.contract import BranchCost, PairCost
from cepkit.costs.expectation import Expectation, alive
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import PER_PARTIAL_MATCH, OrderPlan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Work:
    """The cost model that adds candidates and a multiple of the partial matches.

    Attributes:
        per_partial_match: The cost of writing one partial match, in candidates.
    """

    per_partial_match: float = PER_PARTIAL_MATCH
    name: str = "work"

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the costs of `branch` (see `contract.CostModel`)."""
        return statistics.once(branch, self._on)

    def _on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        expected = Expectation.of(branch, statistics)
        survivors = alive(branch, statistics)
        in_scope = replace(survivors, groups=expected.in_scope.groups)
        pairs = PairCost(in_scope, expected.filters)
        return BranchCost(branch.variables, survivors.times(self.per_partial_match), pairs)


def work_of_order(branch: Branch, statistics: Statistics, order: OrderPlan) -> float:
    """Return ln(work) of an order in which FIRST ends steps early, unlike `Work`."""
    cost, expected = WORK.on(branch, statistics), Expectation.of(branch, statistics)
    assert cost.alive is not None
    assert cost.pairs is not None
    costs = []
    for (left, right), variable in zip(cost.steps(order), order.order, strict=True):
        bound = order.order[: order.order.index(variable)]
        candidates = cost.pairs.between(left | right) + cost.pairs.side(left)
        candidates += cost.pairs.side(right) + expected.log_end(bound, variable)
        costs += [cost.alive(left | right), candidates]
    return log_sum(costs)


WORK = Work()
"""The model with the measured weight."""
