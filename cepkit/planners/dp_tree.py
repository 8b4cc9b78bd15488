"""The best of all trees, by dynamic programming over sets of variables.

The best tree of a set joins the best trees of two parts of it; all splits are tried, but those that
cannot be better are skipped in whole rows. Cross products are allowed. O(3^n) time, O(2^n) memory:
1.6e10 splits for 22 variables, most of which are skipped.
Source: DP-B of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Selinger et al.; pruning by the cost of a known plan, and the rows,
are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cepkit.compiling import interpreted
from cepkit.costs.contract import BranchCost
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, Pair, Tree, TreePlan, as_tree, leaves, nodes_of
from cepkit.planners.deciding import DecidingCondition, check_deciding, tightest
from cepkit.planners.exact import Tables, best_split, least_trees, offer_best
from cepkit.planners.greedy import greedy_order
from cepkit.planners.search import Search, SearchingPlanner
from cepkit.planners.zstream import best_tree

_LOW_BITS = 8
"""Bits of the low part of a set: rows of at most 256 numbers stay in the cache."""
_SECONDS_A_SPLIT = 1e-9
_SECONDS_A_DEAR_SPLIT = 2e-9
"""The same if examined pairs or latency cost as well: measured, on the safe side."""

_FEW = 4
"""The number of variables for which plain Python tries all splits within a millisecond."""

MOST_DECIDED = 7
"""The most variables for which the deciding conditions take less than a second."""


@dataclass(frozen=True, slots=True)
class DpTree(SearchingPlanner):
    """The tree that costs least.

    Attributes:
        seconds: The most that it may take.
    """

    seconds: float = 60.0
    name: str = "dp-tree"

    def find(self, search: Search) -> None:
        """Offer the best tree."""
        ready, variables = search.cost, search.branch.variables
        orders = (greedy_order(ready), variables)
        known = min((TreePlan(best_tree(ready, order)) for order in orders), key=ready.of)
        plain = ready.pairs is None and ready.waiting is None
        each = _SECONDS_A_SPLIT if plain else _SECONDS_A_DEAR_SPLIT
        offer_best(known, Trees, search, 3.0 ** len(variables) / 2 * each)

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return for each node the comparisons with the best trees of its other splits.

        Raises:
            LimitError: There are too many variables.
        """
        check_deciding(self.name, cost, MOST_DECIDED)
        best: dict[int, tuple[float, Tree]] = {}
        conditions: list[DecidingCondition] = []
        for step, node in enumerate(nodes_of(as_tree(plan).root), 1):
            left, right = cost.mask(leaves(node.left)), cost.mask(leaves(node.right))
            others = [
                TreePlan(Pair(_best_tree(one, cost, best)[1], _best_tree(other, cost, best)[1]))
                for one, other in _parts(left | right)
                if {one, other} != {left, right}
            ]
            conditions += tightest(step, TreePlan(node), others, cost)
        return tuple(conditions)


def _parts(subset: int) -> Iterator[tuple[int, int]]:
    """Yield each split of a set in two, once."""
    rest = subset & (subset - 1)
    right = rest
    while right:
        yield subset ^ right, right
        right = (right - 1) & rest


def _best_tree(
    subset: int, cost: BranchCost, best: dict[int, tuple[float, Tree]]
) -> tuple[float, Tree]:
    """Return the best tree of a set and its cost without leaves; `best` caches them."""
    if subset not in best:
        if subset & (subset - 1) == 0:
            best[subset] = -math.inf, cost.variables[subset.bit_length() - 1]
        else:
            options = []
            for one, other in _parts(subset):
                (first, left), (second, right) = (_best_tree(s, cost, best) for s in (one, other))
                total = log_sum((first, second, cost.join(one, other)))
                options.append((total, Pair(left, right)))
            best[subset] = min(options, key=lambda option: option[0])
    return best[subset]


class Trees:
    """The least cost of a tree of each set; splits are recovered only for the best tree."""

    def __init__(self, cost: BranchCost, tables: Tables) -> None:
        n = len(cost.variables)
        self._low_bits = min(_LOW_BITS, n // 2)
        self.parts = 1 << self._low_bits
        self._cost = cost
        self._tables = tables
        self._best = np.zeros(1 << n)
        self._rows = np.empty(1 << n)
        self._floors = np.empty(1 << (n - self._low_bits))

    def fill(self, begin: int, end: int) -> None:
        """Fill in the sets with these low parts."""
        n, low_bits = len(self._cost.variables), self._low_bits
        # Plain Python handles so few sets before the compiled loop is even loaded.
        run = interpreted(least_trees) if n <= _FEW else least_trees
        with np.errstate(all="ignore"):
            run(begin, end, low_bits, n, self._tables, self._best, self._rows, self._floors)

    @property
    def least(self) -> float:
        """The cost of the best tree, without leaves and without keeping the matches at its root."""
        return float(self._best[-1])

    def plan(self) -> TreePlan:
        """Return the tree of the best splits."""
        return TreePlan(self._tree(self._cost.full))

    def _tree(self, mask: int) -> Tree:
        """Return the best tree of a set, its sides in the order of the pattern.

        A single variable always goes on the right, so that trees lean left where they can.
        """
        variables = self._cost.variables
        if mask & (mask - 1) == 0:
            return variables[mask.bit_length() - 1]
        split = interpreted(best_split) if len(variables) <= _FEW else best_split
        with np.errstate(all="ignore"):
            one = int(split(mask, len(variables), self._tables, self._best))
        parts = sorted((mask ^ one, one), key=lambda part: (part.bit_count() == 1, part & -part))
        left, right = map(self._tree, parts)
        return Pair(left, right)
