"""The best tree over a fixed order of the leaves, by dynamic programming over its stretches.

`zstream` takes the leaves as they stand in the pattern, `zstream-ord` as the greedy order puts
them. All topologies are tried, so the result is the best tree with those leaves; a tree that needs
others, as ((a, c), b), is out of reach. O(n^3) joins evaluated.
Source: ZSTREAM and ZSTREAM-ORD of *Join Query Optimization Techniques for Complex Event Processing
Applications* (VLDB 2018), section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import Pair, Tree, TreePlan
from cepkit.planners.contract import Observer
from cepkit.planners.greedy import greedy_order
from cepkit.planners.search import TOLERANCE, Search
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class ZStream:
    """The best tree whose leaves stand in a given order.

    Attributes:
        name: ``zstream`` or ``zstream-ord``.
        greedy: Whether the leaves stand in the greedy order, not in that of the pattern.
    """

    name: str
    greedy: bool = False

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> TreePlan:
        """Return the best tree over the order (see `contract.Planner`)."""
        search = Search(cost.on(branch, statistics), observe)
        order = greedy_order(search.cost) if self.greedy else branch.variables
        tree = TreePlan(best_tree(search.cost, order))
        search.examined = max(1, len(order) * (len(order) ** 2 - 1) // 6)
        search.offer(tree)
        search.end()
        return tree


def best_tree(cost: BranchCost, order: Sequence[str]) -> Tree:
    """Return the cheapest tree whose leaves are, from left to right, those of `order`."""
    size = len(order)
    masks = [cost.mask((v,)) for v in order]
    # For each stretch of leaves, by its begin and its end: its best tree without the leaves' cost.
    best: dict[tuple[int, int], tuple[float, Tree]] = {
        (i, i + 1): (-math.inf, v) for i, v in enumerate(order)
    }
    for length in range(2, size + 1):
        for begin in range(size - length + 1):
            end = begin + length
            cheapest: tuple[float, Tree] | None = None
            # From the right: of equals the tree that leans left.
            for middle in range(end - 1, begin, -1):
                (left_cost, left), (right_cost, right) = best[begin, middle], best[middle, end]
                joined = cost.join(sum(masks[begin:middle]), sum(masks[middle:end]))
                total = log_sum((left_cost, right_cost, joined))
                if cheapest is None or total < cheapest[0] - TOLERANCE:
                    cheapest = total, Pair(left, right)
            assert cheapest is not None
            best[begin, end] = cheapest
    return best[0, size][1]
