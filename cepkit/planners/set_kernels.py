"""The inner loops of dynamic programming over sets of variables, compiled by Numba.

Sets of variables are bit masks; costs are plain numbers, not logarithms, divided by the cost of a
known plan: a set that costs more than 1 cannot be part of a better plan.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.compiling import called, compiled
from cepkit.costs.set_functions import Floats

Choices = npt.NDArray[np.int32]

_EQUAL = 1.0 - 1e-12


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
