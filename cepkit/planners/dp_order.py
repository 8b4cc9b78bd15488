"""The best of all orders, by dynamic programming over sets of variables.

The best order of a set is the best order of all but one variable, followed by that variable; every
choice of the last variable is tried. Cross products are allowed. O(n 2^n) time, O(2^n) memory.
Source: DP-LD of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Selinger et al.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cepkit.compiling import interpreted
from cepkit.costs.contract import BranchCost
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.deciding import DecidingCondition, check_deciding, tightest
from cepkit.planners.exact import Tables, best_orders, offer_best
from cepkit.planners.greedy import greedy_order
from cepkit.planners.search import Search, SearchingPlanner

_SECONDS_A_STEP = 4e-9
"""Seconds to try one variable as the last of one set: measured, on the safe side."""

_FEW = 5
"""The number of variables for which plain Python fills in all sets in 0.1 ms."""

MOST_DECIDED = 10
"""The most variables for which the deciding conditions take less than a second."""


@dataclass(frozen=True, slots=True)
class DpOrder(SearchingPlanner):
    """The order that costs least.

    Attributes:
        seconds: The most that it may take.
    """

    seconds: float = 60.0
    name: str = "dp-order"

    def find(self, search: Search) -> None:
        """Offer the best order."""
        n = len(search.branch.variables)
        known = OrderPlan(greedy_order(search.cost))
        offer_best(known, Orders, search, n * 2.0**n * _SECONDS_A_STEP)

    def deciding(self, plan: BranchPlan, cost: BranchCost) -> tuple[DecidingCondition, ...]:
        """Return for each prefix the comparisons with the best orders that end in another variable.

        Raises:
            LimitError: There are too many variables.
        """
        check_deciding(self.name, cost, MOST_DECIDED)
        best: dict[int, tuple[float, tuple[str, ...]]] = {0: (-math.inf, ())}
        order = plan.variables
        conditions = []
        for size in range(2, len(order) + 1):
            prefix, full = OrderPlan(order[:size]), cost.mask(order[:size])
            others = [
                OrderPlan((*_best_order(full ^ last, cost, best)[1], variable))
                for variable in order[: size - 1]
                for last in [cost.mask((variable,))]
            ]
            conditions += tightest(size, prefix, others, cost)
        return tuple(conditions)


def _best_order(
    subset: int, cost: BranchCost, best: dict[int, tuple[float, tuple[str, ...]]]
) -> tuple[float, tuple[str, ...]]:
    """Return the cost of the best order of a set, and the order; `best` caches the results."""
    if subset not in best:
        options = []
        for i, variable in enumerate(cost.variables):
            if subset >> i & 1:
                rest, order = _best_order(subset ^ 1 << i, cost, best)
                options.append(
                    (log_sum((rest, cost.step(subset ^ 1 << i, 1 << i))), order, variable)
                )
        least, order, variable = min(options, key=lambda option: option[0])
        best[subset] = least, (*order, variable)
    return best[subset]


class Orders:
    """The cheapest order of each set: its cost and its last variable."""

    def __init__(self, cost: BranchCost, tables: Tables) -> None:
        self.parts = 1 << len(cost.variables)
        self._cost = cost
        self._tables = tables
        self._best = np.zeros(self.parts)
        self._last = np.full(self.parts, -1, dtype=np.int32)

    def fill(self, begin: int, end: int) -> None:
        """Fill in these sets; the empty set is known."""
        n = len(self._cost.variables)
        # Plain Python handles so few sets before the compiled loop is even loaded.
        fill = interpreted(best_orders) if n <= _FEW else best_orders
        with np.errstate(all="ignore"):
            fill(max(begin, 1), end, n, self._tables, self._best, self._last)

    def plan(self) -> OrderPlan:
        """Return the order, given the last variable of each set."""
        order: list[str] = []
        left = self._cost.full
        while left:
            variable = int(self._last[left])
            order.append(self._cost.variables[variable])
            left ^= 1 << variable
        return OrderPlan(tuple(reversed(order)))
