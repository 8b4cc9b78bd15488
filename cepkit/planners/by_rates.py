"""The best plans of a branch for many rates: what rates do not change is computed once.

What a set of variables costs is a number that selectivities, order and window decide, times the
counts of its variables in a window. So the tables over all sets are made once, and for other rates
the counts are added to them. O(2^n) for other rates and O(n 2^n) for the best order; the best tree
is O(3^n). Source: ours; the dynamic programming is that of `dp-order` and `dp-tree`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cepkit.costs.contract import BranchCost
from cepkit.costs.expectation import log_sets, window_seconds
from cepkit.costs.set_functions import Floats
from cepkit.costs.work import WORK
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log, log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan, leaves
from cepkit.planners.dp_order import Orders
from cepkit.planners.dp_tree import Trees
from cepkit.planners.set_kernels import Tables
from cepkit.statistics.model import Statistics

MOST_VARIABLES = 12
"""For more, the tables cost more than they save."""
_NOTHING = np.zeros(0)


class RatePlanner:
    """The best plans of one branch, by work, under statistics that differ in their rates.

    Args:
        branch: The branch, under skip-till-any-match.
        statistics: Of these the selectivities are taken.
    """

    def __init__(self, branch: Branch, statistics: Statistics) -> None:
        self.branch = branch
        self._cost: BranchCost = WORK.on(branch, statistics)
        kept, pairs = self._cost.alive, self._cost.pairs
        assert kept is not None
        assert pairs is not None
        nothing = (0.0,) * len(branch.variables)
        self._kept = replace(kept, members=nothing).table()
        self._between = replace(pairs.between, members=nothing).table()
        self._side = pairs.side.table()
        self._bounds = {variable: (least, most) for variable, least, most in branch.repeated}

    def under(self, statistics: Statistics) -> RatedCosts:
        """Return the costs under other rates."""
        window = window_seconds(self.branch, statistics)
        counts = np.zeros(len(self._kept))
        for i, variable in enumerate(self.branch.variables):
            events = window * statistics.rate(variable)
            bounds = self._bounds.get(variable)
            member = log(events) if bounds is None else log_sets(events, *bounds)
            np.add(counts[: 1 << i], member, out=counts[1 << i : 2 << i])
        return RatedCosts(self._cost, self._kept + counts, self._between + counts, self._side)


class RatedCosts:
    """What the plans of a branch cost under some rates.

    Args:
        cost: Of the branch; only what its masks mean is asked.
        kept: For each set the logarithm of what its partial matches cost.
        between: For each set the logarithm of what joining to it looks at, without `side`.
        side: The logarithm of each side's part of it.
    """

    def __init__(self, cost: BranchCost, kept: Floats, between: Floats, side: Floats) -> None:
        self._cost = cost
        self._kept, self._between, self._side = kept, between, side

    def of(self, plan: BranchPlan) -> float:
        """Return the logarithm of what a plan costs."""
        steps = self._cost.steps(plan)
        if not isinstance(plan, OrderPlan):
            steps = [*steps, *((0, self._cost.mask((v,))) for v in leaves(plan.root))]
        left, right = np.array(steps).T
        both = left | right
        looked_at = self._between[both] + self._side[left] + self._side[right]
        return log_sum((*self._kept[both].tolist(), *looked_at.tolist()))

    def best_order(self, known: BranchPlan) -> BranchPlan:
        """Return the order that costs least; `known` is any order."""
        orders = Orders(self._cost, self._tables(self.of(known)))
        orders.fill(0, orders.parts)
        return orders.plan()

    def best_tree(self, known: BranchPlan) -> BranchPlan:
        """Return the tree that costs least; `known` is any tree."""
        trees = Trees(self._cost, self._tables(self.of(known)))
        trees.fill(0, trees.parts)
        return trees.plan()

    def _tables(self, known: float) -> Tables:
        """Return what sets cost as multiples of a plan that is known: see `exact`."""
        shift = known + 1e-9 + 1e-14 * abs(known) if known > -np.inf else -1e5
        with np.errstate(over="ignore"):
            kept = np.exp(self._kept - shift)
        kept[0] = kept[-1] = 0.0
        return Tables(kept, self._between - shift, self._side, _NOTHING, _NOTHING)
