"""Iterative improvement: from an order, moves that make it cheaper, until no move does.

A move swaps two variables or passes three of them round. All moves are tried, in random order,
again and again; when none helps the order is a local minimum, and the search begins anew elsewhere.
O(n^3) moves a round, O(n) steps a move. Anytime: at the time limit the best order so far is
returned. Not optimal.
Source: II-RANDOM and II-GREEDY of *Join Query Optimization Techniques for Complex Event Processing
Applications* (VLDB 2018), section 7.1, after Swami.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.costs.set_functions import Floats, Packed, SetFunction
from cepkit.errors import PlanError
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.planners.contract import Observer
from cepkit.planners.greedy import greedy_order
from cepkit.planners.kernels import Orders, improve
from cepkit.planners.search import Search
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class IterativeImprovement:
    """Improves orders, random ones or the greedy one, by swaps and cycles.

    Attributes:
        name: ``ii-random`` or ``ii-greedy``.
        greedy: Whether the first order is the greedy one; all others are random.
        starts: From how many orders to search.
        seed: Of the random orders and of the order of the moves.
        seconds: The most that it may take; None for no limit.
    """

    name: str
    greedy: bool
    starts: int
    seed: int = 0
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise PlanError(f"a search from {self.starts} orders", expected="1 or more")

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> OrderPlan:
        """Return the best order found (see `contract.Planner`)."""
        ready = cost.on(branch, statistics)
        search = Search(ready, observe, self.seconds)
        rng = np.random.default_rng(self.seed)
        # Where all orders cost the same, that of the pattern stays.
        search.found(OrderPlan(branch.variables))
        for start in range(self.starts):
            if start == 0 and self.greedy:
                names = greedy_order(ready)
                order = np.array([branch.variables.index(v) for v in names], dtype=np.int64)
            else:
                order = rng.permutation(len(branch.variables)).astype(np.int64)
            _descend(order, ready, search, rng)
            if search.out_of_time:
                break
        search.end()
        assert isinstance(search.plan, OrderPlan)
        return search.plan


def _descend(order: Orders, cost: BranchCost, search: Search, rng: np.random.Generator) -> None:
    """Improve an order until no move helps, or the time is over."""
    moves = _moves(len(order))
    packed = _packed(cost)
    search.examined += 1
    _found(order, cost, search)
    made = 1
    while made and len(moves) and not search.out_of_time:
        shift = cost.of(_plan(order, cost))
        if shift == -math.inf:
            return
        _, made = improve(order, moves[rng.permutation(len(moves))], *packed, shift)
        search.examined += len(moves)
        _found(order, cost, search)


def _found(order: Orders, cost: BranchCost, search: Search) -> None:
    search.found(_plan(order, cost))


def _plan(order: Orders, cost: BranchCost) -> OrderPlan:
    return OrderPlan(tuple(cost.variables[i] for i in order))


def _packed(cost: BranchCost) -> tuple[Packed, Packed, Packed, Packed, Floats]:
    """Return the cost as the compiled loop takes it; what costs nothing has no members."""
    nothing = SetFunction((-math.inf,) * len(cost.variables)).packed
    absent = SetFunction(()).packed
    looked, waited = cost.looked, cost.waited
    return (
        nothing if cost.kept is None else cost.kept.packed,
        nothing if looked is None else looked.between.packed,
        absent if looked is None else looked.side.packed,
        nothing if waited is None else waited.held.packed,
        np.array(() if waited is None else waited.last, dtype=np.float64),
    )


@lru_cache(maxsize=32)
def _moves(size: int) -> Orders:
    """Return all swaps and cycles of three, as `kernels.improve` takes them."""
    swaps = [(i, j, j) for i, j in combinations(range(size), 2)]
    threes = list(combinations(range(size), 3))
    cycles = [turn for i, j, k in threes for turn in ((i, j, k), (i, k, j))]
    return np.array(swaps + cycles, dtype=np.int64).reshape(-1, 3)
