"""The best tree over a fixed order of the leaves, by dynamic programming over its stretches.

`zstream` takes the leaves in pattern order, `zstream-ord` in greedy order. All topologies are
tried, so the result is the best tree over that order of leaves; it cannot reach trees with another
order, as ((a, c), b). O(n^3) joins evaluated.
Source: ZSTREAM and ZSTREAM-ORD of *Join Query Optimization Techniques for Complex Event Processing
Applications* (VLDB 2018), section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepkit.costs.contract import BranchCost
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, Pair, Tree, TreePlan, as_tree, leaves, nodes_of
from cepkit.planners.deciding import DecidingCondition
from cepkit.planners.greedy import greedy_order, order_conditions
from cepkit.planners.search import TOLERANCE, Search, SearchingPlanner


@dataclass(frozen=True, slots=True)
class ZStream(SearchingPlanner):
    """The best tree with its leaves in a given order.

    Attributes:
        name: ``zstream`` or ``zstream-ord``.
        greedy: Whether the leaves are in greedy order instead of pattern order.
    """

    name: str
    greedy: bool = False

    def find(self, search: Search) -> None:
        """Take the best tree over the order."""
        order = greedy_order(search.cost) if self.greedy else search.branch.variables
        examined = max(1, len(order) * (len(order) ** 2 - 1) // 6)
        search.found(TreePlan(best_tree(search.cost, order)), examined)

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return for each node the comparisons of its tree with the best tree of every other split.

        The comparisons that decided the order of the leaves, if any, come first.
        """
        tree = as_tree(plan).root
        order = leaves(tree)
        of_order = order_conditions(order, cost) if self.greedy else ()
        before = len(order) if self.greedy else 0
        return (*of_order, *_node_conditions(tree, _splits(cost, order), before))


def _node_conditions(
    tree: Tree, splits: Mapping[tuple[str, ...], Sequence[Tree]], before: int
) -> Iterator[DecidingCondition]:
    """Yield the deciding conditions of the nodes of a tree, bottom-up."""
    for step, node in enumerate(nodes_of(tree), before + 1):
        for other in splits[leaves(node)]:
            if other != node:
                yield DecidingCondition(
                    step, TreePlan(node), TreePlan(other), tolerance=2 * TOLERANCE
                )


def best_tree(cost: BranchCost, order: Sequence[str]) -> Tree:
    """Return the cheapest tree whose leaves are, from left to right, those of `order`."""
    return _best_trees(cost, order)[0, len(order)][1]


def _best_trees(
    cost: BranchCost, order: Sequence[str], splits: dict[tuple[str, ...], list[Tree]] | None = None
) -> dict[tuple[int, int], tuple[float, Tree]]:
    """Return the best tree of each stretch of leaves, and its cost without the leaves.

    Args:
        splits: For the leaves of each stretch the best tree of each split, filled in.
    """
    size = len(order)
    masks = [cost.mask((v,)) for v in order]
    best: dict[tuple[int, int], tuple[float, Tree]] = {
        (i, i + 1): (-math.inf, v) for i, v in enumerate(order)
    }
    for length in range(2, size + 1):
        for begin in range(size - length + 1):
            end = begin + length
            cheapest: tuple[float, Tree] | None = None
            trees = []
            # From the right, so that ties go to the tree that leans left.
            for middle in range(end - 1, begin, -1):
                (left_cost, left), (right_cost, right) = best[begin, middle], best[middle, end]
                joined = cost.join(sum(masks[begin:middle]), sum(masks[middle:end]))
                total = log_sum((left_cost, right_cost, joined))
                trees.append(Pair(left, right))
                if cheapest is None or total < cheapest[0] - TOLERANCE:
                    cheapest = total, trees[-1]
            assert cheapest is not None
            best[begin, end] = cheapest
            if splits is not None:
                splits[tuple(order[begin:end])] = list(trees)
    return best


def _splits(cost: BranchCost, order: Sequence[str]) -> dict[tuple[str, ...], list[Tree]]:
    splits: dict[tuple[str, ...], list[Tree]] = {}
    _best_trees(cost, order, splits)
    return splits
