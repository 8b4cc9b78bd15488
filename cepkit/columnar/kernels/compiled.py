"""The inner loops of the engine, compiled by Numba and cached on disk.

They know nothing of a query: types, keys, bounds and bands come as arrays, so that one
compilation serves every query and only the first run on a machine waits for it.
`plain.py` has the same functions in NumPy: the judge of these, and their stand-in.

Loops count in unsigned integers: signed indices cost a wrap-around test on each access. Output
is written always and the cursor moved by the outcome, which costs less than a branch that the
processor cannot guess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import uintp

from cepkit.compiling import compiled

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@compiled
def partition(types: Ints, slots: Ints, steps: Times, cursors: Times, rows: Ints) -> None:
    """Write the row of each event into the part of `rows` that its type's slot owns.

    Args:
        types: Type codes of all events.
        slots: The slot of each type code.
        steps: 1 for each slot, 0 for the one of the types that nobody asked for.
        cursors: Where in `rows` each slot begins; afterwards where it ends.
        rows: The output.
    """
    for i in range(uintp(types.size)):
        slot = slots[types[i]]
        rows[uintp(cursors[slot])] = i
        cursors[slot] += steps[slot]


@compiled
def counting_sort(keys: Ints, starts: Times, order: Ints) -> None:
    """Sort row numbers by key, equal keys in the order of the rows; negative keys are left out.

    Args:
        keys: A dense code for each row.
        starts: One more than there are keys, all zero; afterwards where each key begins.
        order: The output, as long as there are rows.
    """
    n = uintp(keys.size)
    for i in range(n):
        if keys[i] >= 0:
            starts[uintp(keys[i]) + uintp(1)] += 1
    for k in range(uintp(1), uintp(starts.size)):
        starts[k] += starts[k - uintp(1)]
    cursors = starts.copy()
    for i in range(n):
        if keys[i] >= 0:
            k = uintp(keys[i])
            order[uintp(cursors[k])] = i
            cursors[k] += 1


@compiled
def bounds(x_ts: Times, y_ts: Times, delta: int, table: Ints) -> None:
    """For each x, the first y with `ts(y) >= ts(x) + delta`; both in the order of time."""
    j = uintp(0)
    n = uintp(y_ts.size)
    for i in range(uintp(x_ts.size)):
        wanted = x_ts[i] + delta
        while j < n and y_ts[j] < wanted:
            j += uintp(1)
        table[i] = j


@compiled
def keyed_bounds(
    x_ts: Times, x_keys: Ints, y_ts: Times, starts: Times, delta: int, table: Ints
) -> None:
    """As `bounds`, among the y with the key of x; the y in the order of (key, time).

    The x may come in any order in which, for each key, time does not fall.
    """
    cursors = starts.copy()
    for i in range(uintp(x_ts.size)):
        key = uintp(x_keys[i])
        wanted = x_ts[i] + delta
        j = uintp(cursors[key])
        end = uintp(starts[key + uintp(1)])
        while j < end and y_ts[j] < wanted:
            j += uintp(1)
        cursors[key] = j
        table[i] = j


@compiled
def searched_bounds(wanted: Times, keys: Ints, y_ts: Times, starts: Times, out: Ints) -> None:
    """For each (key, time), the first y with that key and no earlier time, by binary search."""
    for p in range(uintp(wanted.size)):
        low = starts[uintp(keys[p])]
        high = starts[uintp(keys[p]) + uintp(1)]
        while low < high:
            middle = (low + high) >> 1
            if y_ts[uintp(middle)] < wanted[p]:
                low = middle + 1
            else:
                high = middle
        out[p] = low


@compiled
def take(values: npt.NDArray[Any], at: Ints) -> npt.NDArray[Any]:
    """Return `values[at]`; NumPy would first make 64-bit copies of the indices."""
    out = np.empty(at.size, values.dtype)
    for i in range(uintp(at.size)):
        out[i] = values[uintp(at[i])]
    return out


@compiled
def join0(low: Ints, high: Ints, first: int, parents: Ints, found: Ints) -> tuple[int, int]:
    """Write all pairs (p, y) with `low[p] <= y < high[p]`, from `first` on while there is room.

    Returns:
        The first p that found no room (the number of p where all did), and the number of pairs.
    """
    n = uintp(low.size)
    room = uintp(parents.size)
    m = uintp(0)
    for p in range(uintp(first), n):
        if high[p] <= low[p]:
            continue
        begin, end = uintp(low[p]), uintp(high[p])
        if m + (end - begin) > room:
            return int(p), int(m)
        for y in range(begin, end):
            parents[m] = p
            found[m] = y
            m += uintp(1)
    return int(n), int(m)


@compiled
def join1(
    low: Ints,
    high: Ints,
    first: int,
    parents: Ints,
    found: Ints,
    least0: Floats,
    most0: Floats,
    column0: Floats,
) -> tuple[int, int]:
    """As `join0`, for the pairs with `least0[p] <= column0[y] <= most0[p]`."""
    n = uintp(low.size)
    room = uintp(parents.size)
    m = uintp(0)
    for p in range(uintp(first), n):
        if high[p] <= low[p]:
            continue
        begin, end = uintp(low[p]), uintp(high[p])
        if m + (end - begin) > room:
            return int(p), int(m)
        l0, u0 = least0[p], most0[p]
        for y in range(begin, end):
            parents[m] = p
            found[m] = y
            v0 = column0[y]
            m += uintp((v0 >= l0) & (v0 <= u0))
    return int(n), int(m)


@compiled
def join2(
    low: Ints,
    high: Ints,
    first: int,
    parents: Ints,
    found: Ints,
    least0: Floats,
    most0: Floats,
    column0: Floats,
    least1: Floats,
    most1: Floats,
    column1: Floats,
) -> tuple[int, int]:
    """As `join1`, with two bands."""
    n = uintp(low.size)
    room = uintp(parents.size)
    m = uintp(0)
    for p in range(uintp(first), n):
        if high[p] <= low[p]:
            continue
        begin, end = uintp(low[p]), uintp(high[p])
        if m + (end - begin) > room:
            return int(p), int(m)
        l0, u0, l1, u1 = least0[p], most0[p], least1[p], most1[p]
        for y in range(begin, end):
            parents[m] = p
            found[m] = y
            v0, v1 = column0[y], column1[y]
            m += uintp((v0 >= l0) & (v0 <= u0) & (v1 >= l1) & (v1 <= u1))
    return int(n), int(m)


@compiled
def join3(
    low: Ints,
    high: Ints,
    first: int,
    parents: Ints,
    found: Ints,
    least0: Floats,
    most0: Floats,
    column0: Floats,
    least1: Floats,
    most1: Floats,
    column1: Floats,
    least2: Floats,
    most2: Floats,
    column2: Floats,
) -> tuple[int, int]:
    """As `join1`, with three bands."""
    n = uintp(low.size)
    room = uintp(parents.size)
    m = uintp(0)
    for p in range(uintp(first), n):
        if high[p] <= low[p]:
            continue
        begin, end = uintp(low[p]), uintp(high[p])
        if m + (end - begin) > room:
            return int(p), int(m)
        l0, u0, l1, u1 = least0[p], most0[p], least1[p], most1[p]
        l2, u2 = least2[p], most2[p]
        for y in range(begin, end):
            parents[m] = p
            found[m] = y
            v0, v1, v2 = column0[y], column1[y], column2[y]
            inside = (v0 >= l0) & (v0 <= u0) & (v1 >= l1) & (v1 <= u1)
            m += uintp(inside & (v2 >= l2) & (v2 <= u2))
    return int(n), int(m)


JOINS: tuple[Callable[..., tuple[int, int]], ...] = (join0, join1, join2, join3)
"""The join for each number of bands."""


@compiled
def exists0(low: Ints, high: Ints, present: npt.NDArray[np.bool_]) -> None:
    """For each p, whether there is any y with `low[p] <= y < high[p]`."""
    for p in range(uintp(low.size)):
        present[p] = low[p] < high[p]


@compiled
def exists1(
    low: Ints,
    high: Ints,
    present: npt.NDArray[np.bool_],
    least0: Floats,
    most0: Floats,
    column0: Floats,
) -> None:
    """As `exists0`, with `least0[p] <= column0[y] <= most0[p]`; stops at the first."""
    for p in range(uintp(low.size)):
        present[p] = False
        if high[p] <= low[p]:
            continue
        l0, u0 = least0[p], most0[p]
        for y in range(uintp(low[p]), uintp(high[p])):
            v0 = column0[y]
            if (v0 >= l0) & (v0 <= u0):
                present[p] = True
                break


@compiled
def exists2(
    low: Ints,
    high: Ints,
    present: npt.NDArray[np.bool_],
    least0: Floats,
    most0: Floats,
    column0: Floats,
    least1: Floats,
    most1: Floats,
    column1: Floats,
) -> None:
    """As `exists1`, with two bands."""
    for p in range(uintp(low.size)):
        present[p] = False
        if high[p] <= low[p]:
            continue
        l0, u0, l1, u1 = least0[p], most0[p], least1[p], most1[p]
        for y in range(uintp(low[p]), uintp(high[p])):
            v0, v1 = column0[y], column1[y]
            if (v0 >= l0) & (v0 <= u0) & (v1 >= l1) & (v1 <= u1):
                present[p] = True
                break


EXISTS: tuple[Callable[..., None], ...] = (exists0, exists1, exists2)
"""The search for each number of bands."""


@compiled
def subsets(
    begins: Ints,
    ends: Ints,
    least: Ints,
    most: Ints,
    firsts: Ints,
    lasts: Ints,
    members: Ints,
    weights: Floats,
    caps: Floats,
    state: Times,
    stack: Ints,
    sums: Floats,
    parents: Ints,
    starts: Times,
    rows: Ints,
    falling: bool,
) -> int:
    """Write sets chosen from lists, one list after the other, while there is room.

    The sets of one list come in lexicographic order, those that go on after those that stop:
    1, 12, 123, 13, 2, 23, 3. Or, `falling`, before them: 123, 12, 13, 1, 23, 2, 3. What can no
    longer reach its least size is not begun, and what weighs more than its cap is not gone on with.

    Args:
        begins: Where the list of each p begins in `members`.
        ends: Where it ends.
        least: The fewest members to choose from the list; 0 where there are ends.
        most: The most.
        firsts: A member that comes first in every set of p; -1: none.
        lasts: One that comes last; -1: none.
        members: The lists.
        weights: For each cap the weight of each of the members, none negative.
        caps: For each cap what the members chosen for p may weigh together.
        state: The list to go on with, the members chosen of it so far, -1 at its beginning;
            afterwards where to go on.
        stack: The places in the list of the members chosen so far, kept with `state`.
        sums: For each cap what they weigh, from none to all of them, kept with `state`.
        parents: The list that each set is of.
        starts: Where the members of each set begin, and the end.
        rows: The members of the sets.
        falling: Whether sets that go on come before those that stop.

    Returns:
        How many sets were written; all are when `state[0]` is the number of lists.
    """
    n = begins.size
    p, depth = state[0], state[1]
    sets = 0
    items = 0
    starts[0] = 0
    while p < n:
        begin = begins[p]
        length = ends[p] - begin
        if sets == parents.size or items + min(length, most[p]) + 2 > rows.size:
            break
        begun = depth > 0
        if falling:
            if depth == 0:
                p += 1
                depth = -1
                continue
            # The next in place of the last member and as many behind it as can be, or none.
            depth = max(depth, 1) - 1
            following = stack[depth] + 1 if begun else 0
            while depth < most[p]:
                fits = False
                while not fits and following + max(least[p] - depth, 1) <= length:
                    fits = True
                    for k in range(caps.shape[0]):
                        sums[k, depth + 1] = sums[k, depth] + weights[k, begin + following]
                        fits &= sums[k, depth + 1] <= caps[k, p]
                    following += 1
                if not fits:
                    break
                stack[depth] = following - 1
                depth += 1
            written = depth >= least[p]
            if depth == 0:
                for k in range(caps.shape[0]):
                    written &= caps[k, p] >= 0
        elif depth < 0:
            depth = 0
            written = least[p] <= 0 <= most[p]
            for k in range(caps.shape[0]):
                written &= caps[k, p] >= 0
        else:
            # The next member goes behind the last one, or takes the place of one before.
            level = depth
            following = stack[depth - 1] + 1 if depth > 0 else 0
            if depth == most[p]:
                level = depth - 1
            found = False
            while level >= 0:
                while following + max(least[p] - level, 1) <= length:
                    found = True
                    for k in range(caps.shape[0]):
                        sums[k, level + 1] = sums[k, level] + weights[k, begin + following]
                        found &= sums[k, level + 1] <= caps[k, p]
                    if found:
                        break
                    following += 1
                if found:
                    break
                level -= 1
                if level >= 0:
                    following = stack[level] + 1
            if not found:
                p += 1
                depth = -1
                continue
            stack[level] = following
            depth = level + 1
            written = depth >= least[p]
        if written:
            parents[sets] = p
            if firsts[p] >= 0:
                rows[items] = firsts[p]
                items += 1
            for i in range(depth):
                rows[items] = members[begin + stack[i]]
                items += 1
            if lasts[p] >= 0:
                rows[items] = lasts[p]
                items += 1
            sets += 1
            starts[sets] = items
    state[0], state[1] = p, depth
    return sets
