"""The inner loop of local search, compiled by Numba and cached on disk.

Sets of variables are bit masks; costs are divided by that of an order that is known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.compiling import compiled
from cepkit.costs.set_functions import Floats, Packed

Orders = npt.NDArray[np.int64]


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
