"""The best of all orders, by dynamic programming over sets of variables.

The best order of a set ends with some variable, after the best order of the others; which one is
tried for every set. Cross products are allowed. O(n 2^n) time, O(2^n) memory.
Source: DP-LD of *Join Query Optimization Techniques for Complex Event Processing Applications*
(VLDB 2018), section 7.1, after Selinger et al.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.planners.contract import Observer
from cepkit.planners.exact import best_plan
from cepkit.planners.greedy import greedy_order
from cepkit.planners.search import Search
from cepkit.planners.set_kernels import Tables, best_orders
from cepkit.statistics.model import Statistics

_SECONDS_A_STEP = 4e-9
"""Of one variable tried as the last of one set; measured, and more than most need."""


@dataclass(frozen=True, slots=True)
class DpOrder:
    """The order that costs least.

    Attributes:
        seconds: The most that it may take.
    """

    seconds: float = 60.0
    name: str = "dp-order"

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> OrderPlan:
        """Return the best order (see `contract.Planner`)."""
        ready = cost.on(branch, statistics)
        search = Search(ready, observe, self.seconds)
        n = len(branch.variables)
        known = OrderPlan(greedy_order(ready))
        estimate = n * 2.0**n * _SECONDS_A_STEP
        best = best_plan(known, _Orders, search, self.seconds, estimate)
        assert isinstance(best, OrderPlan)
        return best


class _Orders:
    """The cheapest order of each set: what it costs, and its last variable."""

    def __init__(self, cost: BranchCost, tables: Tables) -> None:
        self.parts = 1 << len(cost.variables)
        self._cost = cost
        self._tables = tables
        self._best = np.zeros(self.parts)
        self._last = np.full(self.parts, -1, dtype=np.int32)

    def fill(self, begin: int, end: int) -> None:
        """Fill in these sets; the empty one is known."""
        n = len(self._cost.variables)
        best_orders(max(begin, 1), end, n, self._tables, self._best, self._last)

    def plan(self) -> OrderPlan:
        """Return the order of which the last variable of each set is known."""
        order: list[str] = []
        left = self._cost.full
        while left:
            variable = int(self._last[left])
            order.append(self._cost.variables[variable])
            left ^= 1 << variable
        return OrderPlan(tuple(reversed(order)))
