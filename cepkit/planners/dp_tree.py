"""The best of all trees, by dynamic programming over sets of variables.

The best tree of a set joins the best trees of two parts of it; all ways to part it are tried.
Cross products are allowed. O(3^n) time, O(2^n) memory: 1.6e10 splits for 22 variables.
Source: DP-B of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Selinger et al.; leaving out what is dearer than a plan that is
known is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import Pair, Tree, TreePlan
from cepkit.planners.contract import Observer
from cepkit.planners.exact import best_plan
from cepkit.planners.greedy import greedy_order
from cepkit.planners.kernels import Choices, best_trees
from cepkit.planners.search import Search
from cepkit.planners.zstream import best_tree
from cepkit.statistics.model import Statistics

_SECONDS_A_SPLIT = 4e-9
_SECONDS_A_DEAR_SPLIT = 1.2e-8
"""Where pairs that are looked at, or latency, cost as well. Measured, and more than most need."""


@dataclass(frozen=True, slots=True)
class DpTree:
    """The tree that costs least.

    Attributes:
        seconds: The most that it may take.
    """

    seconds: float = 60.0
    name: str = "dp-tree"

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> TreePlan:
        """Return the best tree (see `contract.Planner`)."""
        ready = cost.on(branch, statistics)
        search = Search(ready, observe, self.seconds)
        n = len(branch.variables)
        orders = (greedy_order(ready), branch.variables)
        known = min((TreePlan(best_tree(ready, order)) for order in orders), key=ready.of)
        plain = ready.looked is None and ready.waited is None
        estimate = 3.0**n / 2 * (_SECONDS_A_SPLIT if plain else _SECONDS_A_DEAR_SPLIT)
        best = best_plan(known, best_trees, partial(_made, ready), search, self.seconds, estimate)
        assert isinstance(best, TreePlan)
        return best


def _made(cost: BranchCost, right: Choices) -> TreePlan:
    return TreePlan(_tree(right, cost.full, cost.variables))


def _tree(right: Choices, mask: int, variables: tuple[str, ...]) -> Tree:
    """Return the tree that the choices make of a set, its sides in the order of the pattern.

    Only a single variable is always on the right: trees that can lean left do.
    """
    if mask & (mask - 1) == 0:
        return variables[mask.bit_length() - 1]
    one = int(right[mask])
    parts = sorted((mask ^ one, one), key=lambda part: (part.bit_count() == 1, part & -part))
    left, other = (_tree(right, part, variables) for part in parts)
    return Pair(left, other)
