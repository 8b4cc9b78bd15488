"""Iterative improvement: from an order, moves that make it cheaper, until no move does.

A move swaps two variables or rotates three. All moves are tried in random order, again and again;
when none helps the order is a local minimum, and the search restarts elsewhere. O(n^3) moves a
round, O(n) steps a move. Anytime: at the time limit the best order so far is returned. Not optimal.
Source: II-RANDOM and II-GREEDY of *Join Query Optimization Techniques for Complex Event Processing
Applications* (VLDB 2018), section 7.1, after Swami.

The inner loop is compiled by Numba. There, sets of variables are bit masks, and costs are divided
by the cost of a known order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cepkit.compiling import compiled
from cepkit.costs.contract import BranchCost, Floats, Packed, SetFunction
from cepkit.errors import LimitError, PlanError
from cepkit.plan.nodes import OrderPlan
from cepkit.planners.greedy import greedy_order
from cepkit.planners.search import Search, SearchingPlanner

Orders = npt.NDArray[np.int64]

MAX_VARIABLES = 63
"""As many variables as a signed 64-bit mask can hold."""


@dataclass(frozen=True, slots=True)
class IterativeImprovement(SearchingPlanner):
    """The best order that swaps and cycles lead to, from random orders or the greedy one.

    Attributes:
        name: ``ii-random`` or ``ii-greedy``.
        greedy: Whether the first order is the greedy one; all others are random.
        starts: The number of orders to start from.
        seed: Seed of the random orders and of the order of the moves.
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

    def find(self, search: Search) -> None:
        """Offer the orders that moves lead to."""
        branch, ready = search.branch, search.cost
        if len(branch.variables) > MAX_VARIABLES:
            raise LimitError(
                f"{self.name} for {len(branch.variables)} variables",
                expected=f"at most {MAX_VARIABLES}",
                hint="planner='greedy' takes any number",
            )
        rng = np.random.default_rng(self.seed)
        # If all orders cost the same, keep the pattern's.
        search.offer(OrderPlan(branch.variables))
        with search.interruptible():
            for start in range(self.starts):
                search.done = start / self.starts
                if start == 0 and self.greedy:
                    names = greedy_order(ready)
                    order = np.array([branch.variables.index(v) for v in names], dtype=np.int64)
                else:
                    order = rng.permutation(len(branch.variables)).astype(np.int64)
                _descend(order, ready, search, rng)
                search.report()
                if search.out_of_time:
                    break


def _descend(order: Orders, cost: BranchCost, search: Search, rng: np.random.Generator) -> None:
    """Improve an order until no move helps or time runs out."""
    moves = _moves(len(order))
    packed = _packed(cost)
    search.examined += 1
    _report(order, cost, search)
    improvements = 1
    while improvements and len(moves) and not search.out_of_time:
        shift = cost.of(_plan(order, cost))
        if shift == -math.inf:
            return
        _, improvements = improve(order, moves[rng.permutation(len(moves))], *packed, shift)
        search.examined += len(moves)
        _report(order, cost, search)


def _report(order: Orders, cost: BranchCost, search: Search) -> None:
    search.offer(_plan(order, cost))


def _plan(order: Orders, cost: BranchCost) -> OrderPlan:
    return OrderPlan(tuple(cost.variables[i] for i in order))


def _packed(cost: BranchCost) -> tuple[Packed, Packed, Packed, Packed, Floats]:
    """Return the cost in the form of the compiled loop; a free part has no members."""
    nothing = SetFunction((-math.inf,) * len(cost.variables)).packed
    absent = SetFunction(()).packed
    pairs, waiting = cost.pairs, cost.waiting
    return (
        nothing if cost.alive is None else cost.alive.packed,
        nothing if pairs is None else pairs.between.packed,
        absent if pairs is None else pairs.side.packed,
        nothing if waiting is None else waiting.held.packed,
        np.array(() if waiting is None else waiting.last, dtype=np.float64),
    )


@lru_cache(maxsize=32)
def _moves(size: int) -> Orders:
    """Return all swaps and rotations of three, in the form of `improve`."""
    swaps = [(i, j, j) for i, j in combinations(range(size), 2)]
    threes = list(combinations(range(size), 3))
    cycles = [turn for i, j, k in threes for turn in ((i, j, k), (i, k, j))]
    return np.array(swaps + cycles, dtype=np.int64).reshape(-1, 3)


@compiled
def _bits(mask: int) -> int:
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@compiled
def _extended(function: Packed, running: float, bound: int, variable: int) -> float:
    """Return the sum of a set function over members and groups when one more variable is bound.

    If only the least member counts, the sum has no members.
    """
    _, further, members, least, groups, values, starts, _, _, classes, shares = function
    new = bound | (1 << variable)
    total = running
    if bound:
        total += further
    if not least:
        total += members[variable]
    for g in range(starts[variable], starts[variable + 1]):
        if groups[g] & new == groups[g]:
            total += values[g]
    for k in range(classes.size):
        if classes[k] & bound and classes[k] >> variable & 1:
            total += shares[k]
    return total


@compiled
def _whole(function: Packed, running: float, least_member: float, mask: int) -> float:
    """Return ln f of a set from that sum."""
    weight, _, _, least, _, _, _, among, powers, _, _ = function
    total = weight + running
    if least:
        total += least_member
    for f in range(among.size):
        for k in range(2, _bits(among[f] & mask) + 1):
            total += powers[f] * np.log(k)
    return total


@compiled
def _order_cost(
    order: Orders,
    alive: Packed,
    between: Packed,
    side: Packed,
    held: Packed,
    last: Floats,
    shift: float,
    most: float,
) -> float:
    """Return the cost of an order divided by exp(shift), or any number above `most` if it is more.

    `last` is empty if latency costs nothing; `side` has no members if examining pairs costs
    nothing.
    """
    looks, waits = side[2].size > 0, last.size > 0
    cost, bound, arrived = 0.0, 0, 0.0
    of_alive, of_between, of_side, of_bound = 0.0, 0.0, 0.0, 0.0
    least_alive, least_between = np.inf, np.inf
    for place in range(order.size):
        variable = order[place]
        new = bound | (1 << variable)
        of_alive = _extended(alive, of_alive, bound, variable)
        least_alive = min(least_alive, alive[2][variable])
        cost += np.exp(_whole(alive, of_alive, least_alive, new) - shift)
        if looks:
            of_between = _extended(between, of_between, bound, variable)
            least_between = min(least_between, between[2][variable])
            alone = _extended(side, 0.0, 0, variable)
            candidates = _whole(between, of_between, least_between, new) + of_side + alone
            cost += np.exp(candidates - shift)
            of_side = _extended(side, of_side, bound, variable)
        if waits:
            if arrived > 0.0:
                of_bound = _extended(held, 0.0, 0, variable)
                one = _whole(held, of_bound, held[2][variable], 1 << variable)
                cost += arrived * np.exp(one - shift)
            arrived += last[variable]
        if cost > most:
            break
        bound = new
    return float(cost)


@compiled
def improve(
    order: Orders,
    moves: Orders,
    alive: Packed,
    between: Packed,
    side: Packed,
    held: Packed,
    last: Floats,
    shift: float,
) -> tuple[float, int]:
    """Try moves one after the other, make those that help; return the cost and how many helped.

    Args:
        order: The variables; changed in place.
        moves: Rows of three places to rotate: first to second, second to third, third to first; if
            the last two are equal, swap the two.
        alive: Part of the cost, as the four below: see `contract.BranchCost`.
        between: The cost of examining pairs.
        side: The cost of examining pairs; without members if that costs nothing.
        held: The cost of waiting.
        last: The cost of waiting; empty if that costs nothing.
        shift: A logarithm that costs are divided by.
    """
    cost = _order_cost(order, alive, between, side, held, last, shift, np.inf)
    improvements = 0
    for move in range(moves.shape[0]):
        i, j, k = moves[move]
        at_i, at_j, at_k = order[i], order[j], order[k]
        if j == k:
            order[i], order[j] = at_j, at_i
        else:
            order[i], order[j], order[k] = at_k, at_i, at_j
        most = cost * (1.0 - 1e-9)
        new = _order_cost(order, alive, between, side, held, last, shift, most)
        if new < most:
            cost = new
            improvements += 1
        else:
            order[i], order[j], order[k] = at_i, at_j, at_k
    return cost, improvements
