"""The loops of skip-till-next-match, compiled by Numba; `next_match_plain.py` is their judge.

`scan` walks from each event that can be a last one to the first match that it completes. A walk
is a search in depth that stops at its first success. What is consumed is skipped by pointers that
join as they are followed, so that many consumed events in a row cost one look; a range in which
nothing fits the last event sends the search back to the step that could change that.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numba import njit, uintp

from cepkit.columnar.compiled import F, compiled
from cepkit.columnar.next_match_walks import (
    ABSENT,
    ABSENT_END,
    CHAIN,
    CHECKS,
    CHECKS_END,
    CODES,
    COLUMN,
    DEPTH,
    DISTINCT,
    FINAL,
    FIXED_END,
    JUMP,
    LEAST,
    LIMITS,
    LIMITS_END,
    MOST,
    OWN,
    PARTNER,
    POSITION,
    ROWS,
    SIDE,
    SIZE,
    STARTS,
    STRICT,
    TABLE,
    UPPER,
    WANTED,
    Walks,
)

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def lent(function: F) -> F:
    """Compile a function that allocates nothing: the arrays it is lent are not counted again.

    Numba would count the references to the arrays of a `Walks` at every call, which took more than
    half of the time. `_nrt` is what its own functions that allocate nothing say.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    return cast("F", njit(**options)(function))


@lent
def _searched(walks: Walks, k: int, at: Times, size: int) -> int:
    """Return the first candidate at or after the time of limit `k`, with its key."""
    limits = walks.limits
    wanted = walks.times[limits[k, WANTED] + at[limits[k, DEPTH]]]
    low, high = 0, size
    if limits[k, PARTNER] >= 0:
        code = walks.ints[limits[k, CODES] + at[limits[k, PARTNER]]]
        low = walks.times[limits[k, STARTS] + code]
        high = walks.times[limits[k, STARTS] + code + 1]
    while low < high:
        middle = (low + high) >> 1
        if walks.times[limits[k, OWN] + middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@lent
def _range(walks: Walks, node: int, at: Times) -> tuple[int, int]:
    """Return where the candidates of `node` begin and end, given what is bound."""
    nodes, limits = walks.nodes, walks.limits
    low, high = 0, nodes[node, SIZE]
    for k in range(nodes[node, LIMITS], nodes[node, LIMITS_END]):
        if limits[k, TABLE] >= 0:
            found = int(walks.ints[uintp(limits[k, TABLE] + at[limits[k, DEPTH]])])
        else:
            found = int(_searched(walks, k, at, nodes[node, SIZE]))
        if limits[k, UPPER]:
            high = min(high, found)
        else:
            low = max(low, found)
    return low, high


@lent
def _same_event(walks: Walks, first: int, bound: int, at: Times, row: int) -> bool:
    """Whether one of the first `bound` steps of the walk at node `first` has the event `row`."""
    for depth in range(bound):
        if walks.ints[walks.nodes[first + depth, ROWS] + at[depth]] == row:
            return True
    return False


@lent
def _bands(walks: Walks, node: int, at: Times, least: Floats, most: Floats) -> None:
    """Look up what the columns of `node` are compared with."""
    checks = walks.checks
    for k in range(walks.nodes[node, CHECKS], walks.nodes[node, CHECKS_END]):
        other = at[checks[k, SIDE]]
        least[k] = walks.floats[checks[k, LEAST] + other] if checks[k, LEAST] >= 0 else -np.inf
        most[k] = walks.floats[checks[k, MOST] + other] if checks[k, MOST] >= 0 else np.inf


@lent
def _inside(walks: Walks, node: int, y: int, least: Floats, most: Floats) -> bool:
    """Whether candidate `y` of `node` passes all checks."""
    for k in range(walks.nodes[node, CHECKS], walks.nodes[node, CHECKS_END]):
        value = walks.floats[uintp(walks.checks[k, COLUMN] + y)]
        if not (value >= least[k] and value <= most[k]):
            return False
    return True


@lent
def _broken(walks: Walks, first: int, depth: int, at: Times, least: Floats, most: Floats) -> int:
    """Whether there is an event that must not be there once the step at `depth` is bound.

    Returns:
        0: there is none; 1: there is; 2: there is, for all later candidates of the step too.
    """
    nodes = walks.nodes
    for node in range(nodes[first + depth, ABSENT], nodes[first + depth, ABSENT_END]):
        low, high = _range(walks, node, at)
        _bands(walks, node, at, least, most)
        for y in range(low, high):
            if _inside(walks, node, y, least, most):
                row = walks.ints[nodes[node, ROWS] + y]
                if not (nodes[node, DISTINCT] and _same_event(walks, first, depth + 1, at, row)):
                    return 2 if nodes[node, FINAL] else 1
    return 0


@lent
def _free(ints: Ints, begin: int, y: int, high: int, consumed: Flags, skips: Ints) -> int:
    """Return the first candidate from `y` on that is not consumed, or one at or after `high`."""
    root = y
    while root < high and consumed[uintp(ints[uintp(begin + root)])]:
        root += 1 + skips[uintp(begin + root)]
    while y < root:
        step = 1 + skips[uintp(begin + y)]
        skips[uintp(begin + y)] = root - y - 1
        y += step
    return root


@lent
def _first(
    walks: Walks,
    first: int,
    steps: int,
    before: int,
    at: Times,
    begins: Times,
    ends: Times,
    fitting: Flags,
    least: Floats,
    most: Floats,
    consumed: Flags,
    skips: Ints,
    looked: Times,
    removed: Times,
) -> bool:
    """Find the first match with the last event `at[0]`; leaves its candidates in `at`.

    The rows from `before` on are not before the last event in time. For each step `begins` has its
    first candidate, `ends` the end of its range, and `fitting` whether any fits the last event.
    """
    nodes, ints, floats, checks = walks.nodes, walks.ints, walks.floats, walks.checks
    last = int(ints[uintp(nodes[first, ROWS] + at[0])])
    if _broken(walks, first, 0, at, least, most):
        removed[first] += 1
        return False
    depth, entered = 1, False
    while 0 < depth < steps:
        node = first + depth
        begin = nodes[node, ROWS]
        if not entered:
            low, high = _range(walks, node, at)
            at[depth] = begins[depth] = _free(ints, begin, low, high, consumed, skips)
            ends[depth], fitting[depth] = high, False
            _bands(walks, node, at, least, most)
        y, high, found = at[depth], ends[depth], False
        fixed, fixed_end = nodes[node, CHECKS], nodes[node, FIXED_END]
        checks_end, distinct = nodes[node, CHECKS_END], nodes[node, DISTINCT]
        absent = nodes[node, ABSENT] < nodes[node, ABSENT_END]
        stop = before if nodes[node, STRICT] else last
        count = 0
        while y < high:
            row = int(ints[uintp(begin + y)])
            if row >= stop:
                break
            if consumed[uintp(row)]:
                y = _free(ints, begin, y, high, consumed, skips)
                continue
            count += 1
            inside = True
            for k in range(uintp(fixed), uintp(fixed_end)):
                value = floats[uintp(checks[k, COLUMN] + y)]
                inside &= (value >= least[k]) & (value <= most[k])
            if inside:
                fitting[depth] = True
                for k in range(uintp(fixed_end), uintp(checks_end)):
                    value = floats[uintp(checks[k, COLUMN] + y)]
                    inside &= (value >= least[k]) & (value <= most[k])
            if inside and not (distinct and _same_event(walks, first, depth, at, row)):
                at[depth] = y
                broken = _broken(walks, first, depth, at, least, most) if absent else 0
                if broken == 0:
                    found = True
                    break
                removed[node] += 1
                if broken == 2:
                    break
            y += 1
        looked[node] += count
        if found:
            depth, entered = depth + 1, False
            continue
        depth = depth - 1 if fitting[depth] else _back(walks, first, depth, at, begins)
        entered = True
        at[depth] += 1
    return depth == steps


@lent
def _back(walks: Walks, first: int, depth: int, at: Times, begins: Times) -> int:
    """Return the step to go on with where nothing in the range of `depth` fits the last event."""
    nodes = walks.nodes
    while True:
        below = nodes[first + depth, CHAIN]
        # The first of its range led into an empty one: so would any later range below.
        if below == 0 or at[below] != begins[below]:
            return int(nodes[first + depth, JUMP])
        depth = below


@lent
def _smaller(trial: Ints, taken: Ints, m: int) -> bool:
    """Whether `trial` comes before row `m` of `taken` in lexicographic order."""
    for k in range(trial.size):
        if trial[k] != taken[m, k]:
            return bool(trial[k] < taken[m, k])
    return False


@lent
def _scan(
    walks: Walks,
    ts: Times,
    trigger_walks: Ints,
    trigger_at: Ints,
    trigger_rows: Ints,
    consumed: Flags,
    taken: Ints,
    taken_walks: Ints,
    looked: Times,
    removed: Times,
    at: Times,
    begins: Times,
    ends: Times,
    fitting: Flags,
    least: Floats,
    most: Floats,
    skips: Ints,
    trial: Ints,
) -> int:
    """Do what `scan` says, in arrays to work in."""
    n, width = trigger_rows.size, taken.shape[1]
    m, t, before = 0, 0, 0
    while t < n:
        row = int(trigger_rows[t])
        if ts[before] < ts[row]:
            before = row
            while ts[before - 1] == ts[row]:
                before -= 1
        best = -1
        while t < n and trigger_rows[t] == row:
            walk = trigger_walks[t]
            first, steps = walks.begins[walk], walks.begins[walk + 1] - walks.begins[walk]
            at[0] = trigger_at[t]
            t += 1
            if consumed[row]:
                continue
            looked[first] += 1
            if not _first(
                walks,
                first,
                steps,
                before,
                at,
                begins,
                ends,
                fitting,
                least,
                most,
                consumed,
                skips,
                looked,
                removed,
            ):
                continue
            for k in range(width):
                trial[k] = -1
            for depth in range(steps):
                node = first + depth
                trial[walks.nodes[node, POSITION]] = walks.ints[walks.nodes[node, ROWS] + at[depth]]
            if best < 0 or _smaller(trial, taken, m):
                best = walk
                for k in range(width):
                    taken[m, k] = trial[k]
        if best >= 0:
            for k in range(width):
                if taken[m, k] >= 0:
                    consumed[taken[m, k]] = True
            taken_walks[m] = best
            m += 1
    return m


@compiled
def scan(
    walks: Walks,
    ts: Times,
    trigger_walks: Ints,
    trigger_at: Ints,
    trigger_rows: Ints,
    consumed: Flags,
    taken: Ints,
    taken_walks: Ints,
    looked: Times,
    removed: Times,
) -> int:
    """Take the first match at each event that completes any, in stream order.

    Args:
        walks: The walks.
        ts: The time of each row.
        trigger_walks: For each event that can be last in a walk, that walk; in stream order, for
            one event in the order of walks.
        trigger_at: Its number among the candidates of the walk's first step.
        trigger_rows: Its row.
        consumed: For each row whether a match has it; what is taken is added.
        taken: The matches: rows of the variables in pattern order, then -1; room for one match
            at each event that can be last.
        taken_walks: The walk of each.
        looked: For each node the candidates looked at; added to.
        removed: For each node the partial matches that NOT ruled out; added to.

    Returns:
        The number of matches.
    """
    width, checks = taken.shape[1], len(walks.checks)
    at = np.zeros(width, dtype=np.int64)
    return _scan(
        walks,
        ts,
        trigger_walks,
        trigger_at,
        trigger_rows,
        consumed,
        taken,
        taken_walks,
        looked,
        removed,
        at,
        np.zeros_like(at),
        np.zeros_like(at),
        np.zeros(width, dtype=np.bool_),
        np.empty(checks),
        np.empty(checks),
        np.zeros(walks.ints.size, dtype=np.int32),
        np.empty(width, dtype=np.int32),
    )


@compiled
def take_in_order(rows: Ints, order: Times, consumed: Flags, taken: Times) -> int:
    """Take each match all of whose events are free, one after the other.

    Args:
        rows: For each match the rows of its events, then -1.
        order: The numbers of the matches, in the order in which they are offered.
        consumed: For each row whether a match has it; what is taken is added.
        taken: The numbers of those that are taken; room for all.

    Returns:
        How many are taken.
    """
    m = 0
    for i in order:
        free = True
        for k in range(rows.shape[1]):
            if rows[i, k] >= 0 and consumed[rows[i, k]]:
                free = False
                break
        if free:
            for k in range(rows.shape[1]):
                if rows[i, k] >= 0:
                    consumed[rows[i, k]] = True
            taken[m] = i
            m += 1
    return m
