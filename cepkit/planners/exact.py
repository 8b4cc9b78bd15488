"""Dynamic programming over all sets of variables: the tables that the exact planners fill in.

The best plan of a set consists of best plans of its parts, because the cost of a step depends only
on the sets that it joins. Costs are divided by the cost of a quickly found plan: if the partial
matches of a set alone cost more than that plan, no better plan contains the set, and the search
skips it and everything built on it. Costs that all plans have in common are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np

from cepkit.costs.contract import BranchCost
from cepkit.costs.set_functions import Floats
from cepkit.errors import LimitError
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.search import Search
from cepkit.planners.set_kernels import Tables

_STRETCHES = 128
"""The tables are filled in this many parts, with a look at the clock in between."""
_NOTHING = np.zeros(0)
_DIGITS = 300.0
"""Costs whose logarithm is this much smaller than the known plan's are lost beside it."""
_MOST_VARIABLES = 25
"""More variables need more than 2 GB of memory."""


def _tables(cost: BranchCost, shift: float) -> Tables:
    """Return the tables of a branch's costs.

    Args:
        shift: The logarithm of the divisor: the cost of a known plan without the cost of keeping
            the matches.
    """
    n = len(cost.variables)
    alive = np.zeros(1 << n) if cost.alive is None else _divided(cost.alive.table(), shift)
    alive[0] = alive[-1] = 0.0
    between = side = last = held = _NOTHING
    if cost.pairs is not None:
        between = cost.pairs.between.table() - shift
        side = cost.pairs.side.table()
    if cost.waiting is not None:
        # Finite, because it is multiplied by probabilities, which may be 0.
        held = np.minimum(_divided(cost.waiting.held.table(), shift), 1e300)
        held[0] = 0.0
        last = np.zeros(1 << n)
        for i, probability in enumerate(cost.waiting.last):
            last[1 << i : 2 << i] = last[: 1 << i] + probability
    return Tables(alive, between, side, last, held)


def _divided(logarithms: Floats, shift: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logarithms - shift))


class CostTable(Protocol):
    """The least costs of all sets, for one kind of plans."""

    @property
    def parts(self) -> int:
        """The number of parts that can be filled in separately."""
        ...

    def fill(self, begin: int, end: int) -> None:
        """Fill in the parts from `begin` to `end`; earlier ones must be filled in."""
        ...

    def plan(self) -> BranchPlan:
        """Return the best plan; all parts must be filled in."""
        ...


def offer_best(
    known: BranchPlan,
    start: Callable[[BranchCost, Tables], CostTable],
    search: Search,
    estimate: float,
) -> None:
    """Offer the best plan of its kind.

    Args:
        known: A quickly found plan of that kind.
        start: Allocates the tables.
        estimate: The seconds that it will take at most, as estimated.

    Raises:
        LimitError: It would exceed, or exceeds, the limit of time or memory.
    """
    n = len(search.cost.variables)
    if n > _MOST_VARIABLES:
        raise LimitError(
            f"an exact search over {n} variables needs {2.0**n * 44 / 1e9:.0f} GB",
            expected=f"{_MOST_VARIABLES} variables or fewer",
            hint="greedy, ii-greedy and zstream-ord plan any number",
        )
    _check_time(estimate, search)
    best, cost = known, -math.inf if n == 1 else _own_cost(search.cost, known)
    while n > 1:
        before = cost
        best = _filled(start, search, before).plan()
        cost = _own_cost(search.cost, best)
        # Divided by a much greater cost, small costs could not be told apart.
        if cost >= before - _DIGITS or cost == -math.inf:
            break
    search.examined = max(search.examined, 1)
    search.offer(best)


def _own_cost(cost: BranchCost, plan: BranchPlan) -> float:
    """Return the cost of a plan without the costs that all plans of its kind have in common."""
    *inner, last = cost.steps(plan)
    joining = cost.step if isinstance(plan, OrderPlan) else cost.join
    stepwise = replace(cost, alive=None)
    of_last = (stepwise.step if isinstance(plan, OrderPlan) else stepwise.join)(*last)
    return log_sum([*(joining(*step) for step in inner), of_last])


def _filled(
    start: Callable[[BranchCost, Tables], CostTable], search: Search, known: float
) -> CostTable:
    """Return the least costs of all sets, given the logarithm of a known plan's cost."""
    n = len(search.cost.variables)
    # A little more than that cost: logarithms of large numbers have few decimal places. If the
    # known plan is free, divide by almost nothing: then every positive cost is too high.
    shift = known + 1e-9 + 1e-14 * abs(known) if known > -math.inf else -1e5
    filling = start(search.cost, _tables(search.cost, shift))
    parts = filling.parts
    edges = sorted({parts * i // _STRETCHES for i in range(_STRETCHES + 1)})
    for begin, end in pairwise(edges):
        filling.fill(begin, end)
        search.examined = (end << n) // parts
        if search.out_of_time and end < parts:
            _check_time(math.inf, search)
        search.report(done=end / parts)
    return filling


def _check_time(estimate: float, search: Search) -> None:
    if estimate <= search.limit:
        return
    may_take = f"may take {estimate:,.0f} s" if math.isfinite(estimate) else "takes longer"
    raise LimitError(
        f"an exact search over {len(search.branch.variables)} variables {may_take}",
        expected=f"at most {search.limit:,.0f} s",
        hint="give the planner more seconds, or take greedy, ii-greedy or zstream-ord",
    )
