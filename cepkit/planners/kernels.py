"""The inner loops of the planners, compiled by Numba and cached on disk.

Sets of variables are bit masks; costs in the tables are numbers, not logarithms, divided by the
cost of a plan that is known: what is greater than 1 cannot be part of a better one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from cepkit.costs.set_functions import Floats, Packed

Orders = npt.NDArray[np.int64]
Choices = npt.NDArray[np.int32]

F = TypeVar("F", bound=Callable[..., Any])

_EQUAL = 1.0 - 1e-12


def compiled(function: F) -> F:
    """Compile `function` on its first call and keep the result on disk."""
    return cast("F", njit(cache=True, nogil=True, error_model="numpy")(function))


@compiled
def best_orders(
    begin: int,
    end: int,
    variables: int,
    kept: Floats,
    between: Floats,
    side: Floats,
    last: Floats,
    held: Floats,
    best: Floats,
    choice: Choices,
) -> None:
    """Fill in, for the sets from `begin` to `end`, the cheapest order's cost and last variable.

    Args:
        begin: The first set, at least 1.
        end: The one after the last.
        variables: How many there are.
        kept: What a set of partial matches costs.
        between: The logarithm of what looking at pairs costs, without `side`; empty for nothing.
        side: The logarithm of each side's part of it; empty for nothing.
        last: The probability that the last event is of this set; empty where latency costs nothing.
        held: What a set costs that is looked at after the last event.
        best: The least costs; those of smaller sets are known, that of the empty set is 0.
        choice: The last variable of the best order, -1 where it costs more than 1.
    """
    for chosen in range(begin, end):
        least, taken = np.inf, -1
        if kept[chosen] <= 1.0:
            for variable in range(variables - 1, -1, -1):
                bit = 1 << variable
                if not chosen & bit:
                    continue
                rest = chosen ^ bit
                cost = best[rest]
                if between.size:
                    cost += np.exp(between[chosen] + side[rest] + side[bit])
                if last.size:
                    cost += last[rest] * held[bit]
                if cost < least * _EQUAL:
                    least, taken = cost, variable
        least += kept[chosen]
        best[chosen] = least if least <= 1.0 else np.inf
        choice[chosen] = taken if least <= 1.0 else -1


@compiled
def best_trees(
    begin: int,
    end: int,
    variables: int,
    kept: Floats,
    between: Floats,
    side: Floats,
    last: Floats,
    held: Floats,
    best: Floats,
    choice: Choices,
) -> None:
    """Fill in the least cost of a tree, leaves not counted, and the set that its right side binds.

    The arguments are those of `best_orders`; `best` is 0 for single variables.
    """
    plain = not between.size and not last.size
    for chosen in range(begin, end):
        rest = chosen & (chosen - 1)
        if not rest:
            continue
        least, taken = np.inf, -1
        if kept[chosen] <= 1.0:
            # First the trees that lean left, the last variable first: they win ties.
            for variable in range(variables - 1, -1, -1):
                right = 1 << variable
                if not chosen & right:
                    continue
                left = chosen ^ right
                cost = best[left]
                if between.size:
                    cost += np.exp(between[chosen] + side[left] + side[right])
                if last.size:
                    cost += last[left] * held[right] + last[right] * held[left]
                if cost < least * _EQUAL:
                    least, taken = cost, right
            # Each split once: the lowest variable is always on the left.
            right = rest
            if plain:
                bound = least * _EQUAL
                while right:
                    cost = best[right] + best[chosen ^ right]
                    if cost < bound:
                        least, taken = cost, right
                        bound = least * _EQUAL
                    right = (right - 1) & rest
            else:
                while right:
                    left = chosen ^ right
                    cost = best[left] + best[right]
                    if cost < least:
                        if between.size:
                            cost += np.exp(between[chosen] + side[left] + side[right])
                        if last.size:
                            cost += last[left] * held[right] + last[right] * held[left]
                        if cost < least * _EQUAL:
                            least, taken = cost, right
                    right = (right - 1) & rest
        least += kept[chosen]
        best[chosen] = least if least <= 1.0 else np.inf
        choice[chosen] = taken if least <= 1.0 else -1


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

    Where the least member counts, no member is in the sum.
    """
    _, further, members, least, groups, values, starts, _, _ = function
    new = bound | (1 << variable)
    total = running
    if bound:
        total += further
    if not least:
        total += members[variable]
    for g in range(starts[variable], starts[variable + 1]):
        if groups[g] & new == groups[g]:
            total += values[g]
    return total


@compiled
def _whole(function: Packed, running: float, least_member: float, mask: int) -> float:
    """Return ln f of a set from that sum."""
    weight, _, _, least, _, _, _, among, powers = function
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
    kept: Packed,
    between: Packed,
    side: Packed,
    held: Packed,
    last: Floats,
    shift: float,
    most: float,
) -> float:
    """Return the cost of an order divided by exp(shift); something above `most` where it is more.

    `last` is empty where latency costs nothing; `side` has no members where looking does not.
    """
    looks, waits = side[2].size > 0, last.size > 0
    cost, bound, arrived = 0.0, 0, 0.0
    of_kept, of_between, of_side, of_bound = 0.0, 0.0, 0.0, 0.0
    least_kept, least_between = np.inf, np.inf
    for place in range(order.size):
        variable = order[place]
        new = bound | (1 << variable)
        of_kept = _extended(kept, of_kept, bound, variable)
        least_kept = min(least_kept, kept[2][variable])
        cost += np.exp(_whole(kept, of_kept, least_kept, new) - shift)
        if looks:
            of_between = _extended(between, of_between, bound, variable)
            least_between = min(least_between, between[2][variable])
            alone = _extended(side, 0.0, 0, variable)
            looked = _whole(between, of_between, least_between, new) + of_side + alone
            cost += np.exp(looked - shift)
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
    kept: Packed,
    between: Packed,
    side: Packed,
    held: Packed,
    last: Floats,
    shift: float,
) -> tuple[float, int]:
    """Try moves one after the other and make those that help; return the cost and their number.

    Args:
        order: The variables; changed in place.
        moves: Rows of three places: what stands at the first goes to the second, from there to
            the third, from there to the first; where the last two are equal the two are swapped.
        kept: Of the cost, as are the four below: see `contract.BranchCost`.
        between: Of looking at pairs.
        side: Of looking at pairs; without members for nothing.
        held: Of waiting.
        last: Of waiting; empty for nothing.
        shift: A logarithm that costs are divided by.
    """
    cost = _order_cost(order, kept, between, side, held, last, shift, np.inf)
    made = 0
    for move in range(moves.shape[0]):
        i, j, k = moves[move]
        at_i, at_j, at_k = order[i], order[j], order[k]
        if j == k:
            order[i], order[j] = at_j, at_i
        else:
            order[i], order[j], order[k] = at_k, at_i, at_j
        most = cost * (1.0 - 1e-9)
        new = _order_cost(order, kept, between, side, held, last, shift, most)
        if new < most:
            cost = new
            made += 1
        else:
            order[i], order[j], order[k] = at_i, at_j, at_k
    return cost, made
