"""Dynamic programming over all sets of variables: the tables that the exact planners fill in.

The best plan of a set consists of best plans of its parts, because the cost of a step depends only
on the sets that it joins. Costs are divided by the cost of a quickly found plan: if the partial
matches of a set alone cost more than that plan, no better plan contains the set, and the search
skips it and everything built on it. Costs that all plans have in common are left out.

The inner loops are compiled by Numba. Sets of variables are bit masks; costs are plain numbers, not
logarithms, divided by the cost of the known plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cepkit.compiling import called, compiled
from cepkit.costs.contract import BranchCost, Floats
from cepkit.errors import LimitError
from cepkit.plan.logarithms import log_sum
from cepkit.plan.nodes import BranchPlan, OrderPlan
from cepkit.planners.search import Search

Choices = npt.NDArray[np.int32]

_EQUAL = 1.0 - 1e-12
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
        # Divided by a much greater cost, small costs could not be distinguished.
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


class Tables(NamedTuple):
    """Costs of sets of variables: tables with a number for every set.

    Attributes:
        alive: The cost of keeping a set's partial matches.
        between: The logarithm of the cost of examining pairs, without `side`; empty if that is
            free.
        side: The logarithm of each side's part of it; empty if that is free.
        last: The probability that the last event is of this set; empty if latency costs nothing.
        held: The cost of examining a set after the last event.
    """

    alive: Floats
    between: Floats
    side: Floats
    last: Floats
    held: Floats


@compiled
def best_orders(
    begin: int, end: int, variables: int, tables: Tables, best: Floats, choice: Choices
) -> None:
    """Fill in, for the sets from `begin` to `end`, the cheapest order's cost and last variable.

    Args:
        begin: The first set, at least 1.
        end: The one after the last.
        best: The least costs; those of smaller sets must be known, the empty set's is 0.
        choice: The last variable of the best order, -1 if it costs more than 1.
    """
    alive, between, side, last, held = tables
    for subset in range(begin, end):
        least, last_of_best = np.inf, -1
        if alive[subset] <= 1.0:
            for variable in range(variables - 1, -1, -1):
                bit = 1 << variable
                if not subset & bit:
                    continue
                rest = subset ^ bit
                cost = best[rest]
                if between.size:
                    cost += np.exp(between[subset] + side[rest] + side[bit])
                if last.size:
                    cost += last[rest] * held[bit]
                if cost < least * _EQUAL:
                    least, last_of_best = cost, variable
        least += alive[subset]
        best[subset] = least if least <= 1.0 else np.inf
        choice[subset] = last_of_best if least <= 1.0 else -1


@compiled
def best_split(subset: int, variables: int, tables: Tables, best: Floats) -> int:
    """Return the right side of the best tree of a set, as a set.

    Args:
        subset: The set, of two variables at least.
        tables: The costs of sets.
        best: The least costs, leaves not counted, as `least_trees` fills them in.
    """
    least, choice = np.inf, -1
    # First the trees that lean left, the last variable first: they win ties.
    for variable in range(variables - 1, -1, -1):
        right = 1 << variable
        if subset & right:
            cost = _joined(subset, right, tables, best)
            if cost < least * _EQUAL:
                least, choice = cost, right
    # Each split once: the lowest variable is always on the left.
    rest = subset & (subset - 1)
    right = rest
    while right:
        if best[subset ^ right] + best[right] < least:
            cost = _joined(subset, right, tables, best)
            if cost < least * _EQUAL:
                least, choice = cost, right
        right = (right - 1) & rest
    return choice


@called
def _joined(subset: int, right: int, tables: Tables, best: Floats) -> float:
    """Return the cost of the best tree with this right side, without keeping its own matches."""
    _, between, side, last, held = tables
    left = subset ^ right
    cost = best[left] + best[right]
    if between.size:
        cost += np.exp(between[subset] + side[left] + side[right])
    if last.size:
        cost += last[left] * held[right] + last[right] * held[left]
    return float(cost)


@compiled
def least_trees(
    begin: int,
    end: int,
    low_bits: int,
    variables: int,
    tables: Tables,
    best: Floats,
    rows: Floats,
    floors: Floats,
) -> None:
    """Fill in the least cost of a tree of each set, leaves not counted.

    A set has a low part, its first `low_bits` variables, and a high part. Each high part has a row
    with the costs for all low parts. A split joins an element of one row with an element of
    another; the least costs of the two rows tell whether the pair of rows can contain a better
    split. Most pairs cannot and are skipped; the others are scanned in memory order.

    Args:
        begin: The first low part.
        end: The one after the last; those before `begin` are known.
        low_bits: How many variables a low part has.
        best: The least costs, filled in; 0 for single variables.
        rows: Scratch space, one number for each set.
        floors: Scratch space, one number for each high part.
    """
    alive = tables.alive
    plain = not tables.between.size and not tables.last.size
    lows = np.empty(1 << low_bits, np.int64)
    for low in range(begin, end):
        width = 0
        part = 0
        while part != low:
            lows[width] = part
            width += 1
            part = (part - low) & low
        lows[width] = low
        width += 1
        for high in range(1 << (variables - low_bits)):
            first, subset = high * width, high << low_bits | low
            floor = np.inf
            for i in range(width - 1):
                known = best[high << low_bits | lows[i]]
                rows[first + i] = known
                floor = min(floor, known)
            # Neither the empty set nor the whole set can be a side.
            rows[0] = rows[first + width - 1] = np.inf
            floors[high] = floor
            if not subset & (subset - 1):
                if subset:
                    rows[first + width - 1] = floors[high] = 0.0
                continue
            least = np.inf
            if alive[subset] <= 1.0:
                # Each split once: the lowest variable of the high part is always on the left.
                rest = high & (high - 1)
                right = rest
                while True:
                    left = high ^ right
                    if floors[left] + floors[right] < least:
                        cost = _least_sum(rows, left * width, right * width, width)
                        if cost < least and not plain:
                            cost = least
                            for i in range(width):
                                sides = rows[left * width + i]
                                sides += rows[right * width + width - 1 - i]
                                if sides < cost:
                                    one = left << low_bits | lows[i]
                                    cost = min(cost, _joined(subset, one, tables, best))
                        least = min(least, cost)
                    if not right:
                        break
                    right = (right - 1) & rest
                least += alive[subset]
            best[subset] = least if least <= 1.0 else np.inf
            rows[first + width - 1] = best[subset]
            floors[high] = min(floor, best[subset])


@called
def _least_sum(rows: Floats, left: int, right: int, width: int) -> float:
    """Return the least sum of an element of one row and its complement in the other row.

    Args:
        left: Where the one row begins.
        right: Where the other row begins.
        width: The width of a row, a power of two.
    """
    i, j = np.uintp(left), np.uintp(right + width - 1)
    least = np.inf
    if width < 4:
        for _ in range(width):
            least = min(least, rows[i] + rows[j])
            i += np.uintp(1)
            j -= np.uintp(1)
        return least
    # Four independent accumulators, so that none waits for the one before.
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    a = b = c = d = np.inf
    end = i + np.uintp(width)
    while i < end:
        e, f = rows[i] + rows[j], rows[i + one] + rows[j - one]
        g, h = rows[i + two] + rows[j - two], rows[i + three] + rows[j - three]
        a = e if e < a else a
        b = f if f < b else b
        c = g if g < c else c
        d = h if h < d else d
        i += np.uintp(4)
        j -= np.uintp(4)
    return min(a, b, c, d)
