"""What a cost model must be.

The cost of an order is a sum over its steps, and what a step costs depends only on the set of
variables bound before it and on the one it binds. Greedy and dynamic programming need just that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan, Tree, leaves
from cepkit.statistics.model import Statistics


class BranchCost(Protocol):
    """A cost model made ready for one branch."""

    def node(self, variables: frozenset[str]) -> float:
        """Return the logarithm of the cost of a node of a tree with these leaves."""
        ...

    def step(self, bound: frozenset[str], variable: str) -> float:
        """Return the logarithm of the cost of binding `variable` after those in `bound`."""
        ...


class CostModel(Protocol):
    """What makes one plan better than another. To add one: a file on this shelf."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    def on(self, branch: Branch, statistics: Statistics) -> BranchCost:
        """Return the model made ready for `branch`.

        Raises:
            StatisticsError: The statistics lack a variable of the branch.
            UnsupportedError: The model does not know a part of the branch.
        """
        ...


def plan_cost(cost: BranchCost, plan: BranchPlan) -> float:
    """Return the logarithm of the cost of a plan: of an order by steps, of a tree by nodes."""
    if isinstance(plan, OrderPlan):
        return order_cost(cost, plan.order)
    return log_sum(cost.node(frozenset(names)) for names in _nodes(plan.root))


def _nodes(tree: Tree) -> list[tuple[str, ...]]:
    if isinstance(tree, str):
        return [(tree,)]
    return [*_nodes(tree.left), *_nodes(tree.right), leaves(tree)]


def order_cost(cost: BranchCost, order: Sequence[str]) -> float:
    """Return the logarithm of the cost of an order of variables: the sum over its steps."""
    return log_sum(cost.step(frozenset(order[:i]), v) for i, v in enumerate(order))
