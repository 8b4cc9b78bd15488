"""The inner loops of `compiled.py` in NumPy: their judge, and their stand-in without Numba.

Same names, same arguments, same results; 5 to 10 times slower (benchmarks/engine.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def partition(types: Ints, slots: Ints, steps: Times, cursors: Times, rows: Ints) -> None:
    """Write the row of each event into the part of `rows` that its type's slot owns."""
    slot_of_event = slots[types]
    for slot in np.flatnonzero(steps):
        members = np.flatnonzero(slot_of_event == slot)
        rows[cursors[slot] : cursors[slot] + len(members)] = members
        cursors[slot] += len(members)


def counting_sort(keys: Ints, starts: Times, order: Ints) -> None:
    """Sort row numbers by key, equal keys in the order of the rows; negative keys are left out."""
    kept = np.flatnonzero(keys >= 0)
    counts = np.bincount(keys[kept], minlength=len(starts) - 1)
    starts[1:] = np.cumsum(counts)
    order[: len(kept)] = kept[np.argsort(keys[kept], kind="stable")]


def bounds(x_ts: Times, y_ts: Times, delta: int, table: Ints) -> None:
    """For each x, the first y with `ts(y) >= ts(x) + delta`."""
    table[:] = np.searchsorted(y_ts, x_ts + delta)


def keyed_bounds(
    x_ts: Times, x_keys: Ints, y_ts: Times, starts: Times, delta: int, table: Ints
) -> None:
    """As `bounds`, among the y with the key of x; the y in the order of (key, time)."""
    searched_bounds(x_ts + delta, x_keys, y_ts, starts, table)


def searched_bounds(wanted: Times, keys: Ints, y_ts: Times, starts: Times, out: Ints) -> None:
    """For each (key, time), the first y with that key and no earlier time."""
    # One number orders by (key, time) once the times are replaced by their ranks.
    moments = np.unique(np.concatenate((wanted, y_ts)))
    span = len(moments) + 1
    y_keys = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    y_ranks = y_keys * span + np.searchsorted(moments, y_ts)
    out[:] = np.searchsorted(
        y_ranks, keys.astype(np.int64) * span + np.searchsorted(moments, wanted)
    )


def take(values: npt.NDArray[Any], at: Ints) -> npt.NDArray[Any]:
    """Return `values[at]`."""
    return values[at]


def _join(
    low: Ints, high: Ints, first: int, parents: Ints, found: Ints, *bands: Floats
) -> tuple[int, int]:
    """Write the pairs (p, y) with `low[p] <= y < high[p]` and all columns in their bands.

    `bands` are triples: least[p], most[p], column[y].
    """
    widths = np.maximum(high[first:].astype(np.int64) - low[first:], 0)
    # The compiled loop stops at the first p whose whole range finds no room; kept pairs are
    # fewer than candidates, so stopping by candidates stops no later, and memory stays bounded.
    ends = np.cumsum(widths)
    taken = int(np.searchsorted(ends, len(parents), side="right"))
    if taken == 0 and len(widths):
        return first, 0
    widths, ends = widths[:taken], ends[:taken]
    p = np.repeat(np.arange(first, first + taken), widths)
    y = np.arange(len(p)) - np.repeat(ends - widths, widths) + low[p]
    kept = np.ones(len(p), dtype=np.bool_)
    for band in range(0, len(bands), 3):
        least, most, column = bands[band : band + 3]
        values = column[y]
        kept &= (values >= least[p]) & (values <= most[p])
    size = int(np.count_nonzero(kept))
    parents[:size] = p[kept]
    found[:size] = y[kept]
    return first + taken, size


JOINS = (_join, _join, _join, _join)


def _exists(low: Ints, high: Ints, present: npt.NDArray[np.bool_], *bands: Floats) -> None:
    """For each p, whether there is a y in its range with all columns in their bands."""
    if not bands:
        present[:] = low < high
        return
    present[:] = False
    room = max(1 << 16, int((high.astype(np.int64) - low).max(initial=0)))
    parents, found = np.empty(room, np.int32), np.empty(room, np.int32)
    done = 0
    while done < len(low):
        done, count = _join(low, high, done, parents, found, *bands)
        present[parents[:count]] = True


EXISTS = (_exists, _exists, _exists)


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
    """Write sets chosen from lists, one list after the other, while there is room."""
    p, depth = int(state[0]), int(state[1])
    sets = items = 0
    starts[0] = 0
    while p < len(begins):
        length = int(ends[p] - begins[p])
        fewest, greatest = int(least[p]), int(most[p])
        if sets == len(parents) or items + min(length, greatest) + 2 > len(rows):
            break
        if falling:
            if depth == 0:
                p, depth = p + 1, -1
                continue
            own = weights[:, begins[p] : ends[p]]
            depth = _next_falling(depth, fewest, greatest, own, caps[:, p], stack, sums)
            written = depth >= fewest and (depth > 0 or bool((caps[:, p] >= 0).all()))
        elif depth < 0:
            depth, written = 0, fewest <= 0 <= greatest and bool((caps[:, p] >= 0).all())
        else:
            own = weights[:, begins[p] : ends[p]]
            chosen = _next_member(depth, fewest, greatest, own, caps[:, p], stack, sums)
            if chosen is None:
                p, depth = p + 1, -1
                continue
            depth = chosen
            written = depth >= fewest
        if written:
            among = members[begins[p] + stack[:depth]].tolist()
            whole = [firsts[p], *among, lasts[p]]
            found = [row for row in whole if row >= 0]
            rows[items : items + len(found)] = found
            parents[sets] = p
            items, sets = items + len(found), sets + 1
            starts[sets] = items
    state[:] = p, depth
    return sets


def _next_falling(
    depth: int, least: int, most: int, weights: Floats, caps: Floats, stack: Ints, sums: Floats
) -> int:
    """Choose the set after one of `depth` members, -1 the first one; return its size."""
    following = int(stack[depth - 1]) + 1 if depth > 0 else 0
    depth = max(depth, 1) - 1
    while depth < most and following + max(least - depth, 1) <= weights.shape[1]:
        together = sums[:, depth] + weights[:, following]
        if (together <= caps).all():
            sums[:, depth + 1] = together
            stack[depth] = following
            depth += 1
        following += 1
    return depth


def _next_member(
    depth: int, least: int, most: int, weights: Floats, caps: Floats, stack: Ints, sums: Floats
) -> int | None:
    """Choose the next set after one of `depth` members; return its size, None: there is none."""
    length = weights.shape[1]
    for level in range(depth if depth < most else depth - 1, -1, -1):
        following = int(stack[depth - 1 if level == depth else level]) + 1 if depth else 0
        while following + max(least - level, 1) <= length:
            together = sums[:, level] + weights[:, following]
            if (together <= caps).all():
                sums[:, level + 1] = together
                stack[level] = following
                return level + 1
            following += 1
    return None
