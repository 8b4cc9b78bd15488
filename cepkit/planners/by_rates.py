"""The best plans of a branch under changing rates; everything else is computed once.

The cost of a set of variables is a factor from selectivities, order and window, times the counts of
its variables in a window. So the tables of all sets are computed once, and new rates only add the
logarithms of the counts. O(2^n) for other rates and O(n 2^n) for the best order; the best tree is
O(3^n). Source: ours; the dynamic programming is that of `dp-order` and `dp-tree`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cepkit.costs.contract import BranchCost, Floats, Masks
from cepkit.costs.expectation import log_sets, window_in
from cepkit.costs.work import WORK
from cepkit.pattern.normal_form import Branch
from cepkit.plan.logarithms import log
from cepkit.plan.nodes import BranchPlan, OrderPlan, TreePlan, as_tree, leaves
from cepkit.planners.choose import MOST_FOR_TREES, WORTH_A_TREE
from cepkit.planners.dp_order import Orders
from cepkit.planners.dp_tree import Trees
from cepkit.planners.exact import Tables
from cepkit.statistics.model import Statistics

MOST_VARIABLES = 12
"""With more variables, the tables cost more than they save."""
_NOTHING = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of events in one stretch of a stream.

    Attributes:
        of: For each variable the events per second of its types, before its own conditions.
        events: The events of all types.
        span_seconds: The length of the stretch.
    """

    of: Mapping[str, float]
    events: int
    span_seconds: float


class RatePlanner:
    """Finds the plan of least work of one branch for one stretch of a stream after the other.

    Args:
        branch: The branch, of few variables, under skip-till-any-match.
        statistics: Everything but the rates comes from here.
    """

    def __init__(self, branch: Branch, statistics: Statistics) -> None:
        self.branch = branch
        self._cost: BranchCost = WORK.on(branch, statistics)
        alive, pairs = self._cost.alive, self._cost.pairs
        assert alive is not None
        assert pairs is not None
        nothing = (0.0,) * len(branch.variables)
        self._kept = replace(alive, members=nothing).table()
        self._between = replace(pairs.between, members=nothing).table()
        self._side = pairs.side.table()
        self._filters = tuple(statistics.filters.get(v, 1.0) for v in branch.variables)
        self._same_key = statistics.same_key
        self._bounds = {variable: (least, most) for variable, least, most in branch.repeated}
        self._steps: dict[BranchPlan, tuple[Masks, Floats]] = {}

    def under(self, rates: Rates) -> RatedCosts:
        """Return the costs under other rates."""
        window = window_in(self.branch, rates.span_seconds, rates.events, self._same_key)
        counts = np.zeros(len(self._kept))
        for i, variable in enumerate(self.branch.variables):
            events = window * rates.of[variable] * self._filters[i]
            bounds = self._bounds.get(variable)
            member = log(events) if bounds is None else log_sets(events, *bounds)
            np.add(counts[: 1 << i], member, out=counts[1 << i : 2 << i])
        return RatedCosts(self, counts, window)

    def steps(self, plan: BranchPlan) -> tuple[Masks, Floats]:
        """Return for each step of a plan the variables it binds, and the cost its sides add."""
        if plan not in self._steps:
            steps = self._cost.steps(plan)
            if not isinstance(plan, OrderPlan):
                steps = [*steps, *((0, self._cost.mask((v,))) for v in leaves(plan.root))]
            left, right = np.array(steps).T
            self._steps[plan] = left | right, self._side[left] + self._side[right]
        return self._steps[plan]

    def tables(self, counts: Floats, shift: float) -> Tables:
        """Return the costs of all sets, divided by a number given as its logarithm."""
        with np.errstate(over="ignore"):
            alive = np.exp(self._kept + counts - shift)
        alive[0] = alive[-1] = 0.0
        return Tables(alive, self._between + counts - shift, self._side, _NOTHING, _NOTHING)

    def log_costs(self, plan: BranchPlan, counts: Floats) -> Floats:
        """Return the logarithms of the costs of a plan's steps: for keeping, and for examining."""
        both, sides = self.steps(plan)
        of_sets = counts[both]
        return np.concatenate((self._kept[both] + of_sets, self._between[both] + of_sets + sides))

    def order(self, tables: Tables) -> OrderPlan:
        """Return the cheapest order; one that costs less than 1 must exist."""
        orders = Orders(self._cost, tables)
        orders.fill(0, orders.parts)
        return orders.plan()

    def trees(self, tables: Tables) -> Trees:
        """Return the cheapest trees."""
        trees = Trees(self._cost, tables)
        trees.fill(0, trees.parts)
        return trees


class RatedCosts:
    """The costs of the plans of a branch under some rates.

    Args:
        counts: For each set the logarithm of the counts of its variables in a window.
        window: Its length in seconds.
    """

    def __init__(self, planner: RatePlanner, counts: Floats, window: float) -> None:
        self._planner, self._counts, self.window = planner, counts, window

    def of(self, plan: BranchPlan) -> float:
        """Return the logarithm of a plan's cost."""
        costs = self._planner.log_costs(plan, self._counts)
        greatest = float(costs.max())
        if math.isinf(greatest):
            return greatest
        return greatest + math.log(float(np.exp(costs - greatest).sum()))

    def weight(self, plan: BranchPlan) -> float:
        """Return the cost by which slices choose a plan; a tree counts double, with its leaves.

        Its joins examine more pairs than expected.
        """
        doubled = WORTH_A_TREE if isinstance(plan, TreePlan) else 0.0
        return self.of(plan) + doubled

    def best(self, known: BranchPlan) -> BranchPlan:
        """Return the plan of least work; a tree only if it promises to halve the work."""
        order = self._planner.order(self._divided(known))
        variables = len(self._planner.branch.variables)
        if not 4 <= variables <= MOST_FOR_TREES:
            return order
        as_a_tree = as_tree(order)
        trees = self._planner.trees(self._divided(as_a_tree))
        # Without the leaves and without the partial matches at the root: all trees have these in
        # common.
        if trees.least > math.exp(-WORTH_A_TREE):
            return order
        tree = trees.plan()
        return tree if self.of(tree) + WORTH_A_TREE < self.of(as_a_tree) else order

    def _divided(self, known: BranchPlan) -> Tables:
        """Return the costs of sets as multiples of a known plan's cost: see `exact`."""
        cost = self.of(known)
        shift = cost + 1e-9 + 1e-14 * abs(cost) if cost > -math.inf else -1e5
        return self._planner.tables(self._counts, shift)
