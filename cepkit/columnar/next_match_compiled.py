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
    MEMORY,
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
    WAKES,
    WANTED,
    Walks,
)

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


NEVER = (1 << 31) - 1
"""The row that a search waits for which can never succeed."""

RUN = 4
"""So many consumed candidates in a row are worth a look for where they end."""


def lent(function: F) -> F:
    """Compile a function that allocates nothing: the arrays it is lent are not counted again.

    Numba would count the references to the arrays of a `Walks` at every call, which took more than
    half of the time. `_nrt` is what its own functions that allocate nothing say.
    """
    options: dict[str, Any] = {
        "cache": True,
        "nogil": True,
        "error_model": "numpy",
        "_nrt": False,
        "forceinline": True,
    }
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
def _inside(walks: Walks, first: int, end: int, y: int, least: Floats, most: Floats) -> bool:
    """Whether candidate `y` passes the checks from `first` to `end`."""
    for k in range(first, end):
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
        first_check, end_check = nodes[node, CHECKS], nodes[node, CHECKS_END]
        for y in range(low, high):
            if _inside(walks, first_check, end_check, y, least, most):
                row = walks.ints[nodes[node, ROWS] + y]
                if not (nodes[node, DISTINCT] and _same_event(walks, first, depth + 1, at, row)):
                    return 2 if nodes[node, FINAL] else 1
    return 0


@lent
def _free(
    walks: Walks, node: int, y: int, high: int, consumed: Flags, wakes: Ints, skips: Ints
) -> int:
    """Return the first candidate from `y` on that can be in a match, or one at or after `high`."""
    begin, own = walks.nodes[node, ROWS], walks.nodes[node, WAKES]
    root = y
    while root < high and (
        consumed[uintp(walks.ints[uintp(begin + root)])] | (wakes[uintp(own + root)] == NEVER)
    ):
        root += 1 + skips[uintp(own + root)]
    while y < root:
        step = 1 + skips[uintp(own + y)]
        skips[uintp(own + y)] = root - y - 1
        y += step
    return root


@lent
def _first(
    walks: Walks,
    ts: Times,
    first: int,
    steps: int,
    before: int,
    at: Times,
    begins: Times,
    ends: Times,
    fitting: Flags,
    until: Times,
    least: Floats,
    most: Floats,
    consumed: Flags,
    skips: Ints,
    wakes: Ints,
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
        begin, asleep = nodes[node, ROWS], nodes[node, WAKES]
        if not entered:
            low, high = _range(walks, node, at)
            at[depth] = begins[depth] = _free(walks, node, low, high, consumed, wakes, skips)
            ends[depth], fitting[depth], until[depth] = high, False, NEVER
            _bands(walks, node, at, least, most)
        y, high, found = at[depth], ends[depth], False
        fixed, fixed_end = nodes[node, CHECKS], nodes[node, FIXED_END]
        checks_end, distinct = nodes[node, CHECKS_END], nodes[node, DISTINCT]
        absent = nodes[node, ABSENT] < nodes[node, ABSENT_END]
        stop = before if nodes[node, STRICT] else last
        fits_any, wake = fitting[depth], until[depth]
        count, run = 0, 0
        column = column_1 = 0
        low_0 = high_0 = low_1 = high_1 = 0.0
        if fixed < fixed_end:
            column, low_0, high_0 = checks[fixed, COLUMN], least[fixed], most[fixed]
        if fixed_end < checks_end:
            column_1, low_1, high_1 = checks[fixed_end, COLUMN], least[fixed_end], most[fixed_end]
        several = fixed + 1 < fixed_end or fixed_end + 1 < checks_end
        while True:
            while y < high:
                row = int(ints[uintp(begin + y)])
                if row >= stop:
                    wake = min(wake, row)
                    high = y
                    break
                sleeps = int(wakes[uintp(asleep + y)])
                free = (not consumed[uintp(row)]) & (sleeps != NEVER)
                count += free
                sleeping = free & (sleeps >= last)
                wake = min(wake, sleeps) if sleeping else wake
                fits = free & (sleeps < last)
                suits = fits
                if fixed < fixed_end:
                    value = floats[uintp(column + y)]
                    fits &= (value >= low_0) & (value <= high_0)
                if fixed_end < checks_end:
                    value = floats[uintp(column_1 + y)]
                    suits &= (value >= low_1) & (value <= high_1)
                fits_any |= fits | sleeping
                wake = 0 if suits & (not fits) else wake
                run = 0 if free else run + 1
                if (fits & suits) | (run == RUN):
                    break
                y += 1
            if y >= high:
                break
            if run == RUN:
                y, run = _free(walks, node, y, high, consumed, wakes, skips), 0
                continue
            row = int(ints[uintp(begin + y)])
            passes = True
            if several:
                passes = _inside(walks, fixed_end + 1, checks_end, y, least, most)
                if passes and not _inside(walks, fixed + 1, fixed_end, y, least, most):
                    passes, wake = False, 0
            if passes and not (distinct and _same_event(walks, first, depth, at, row)):
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
        fitting[depth], until[depth] = fits_any, wake
        if found:
            depth, entered = depth + 1, False
            continue
        back = depth - 1 if fits_any else _back(walks, first, depth, at, begins)
        if back == depth - 1:
            until[back] = min(until[back], wake)
            if nodes[first + back, MEMORY]:
                row = int(ints[nodes[first + back, ROWS] + at[back]])
                if wake < NEVER and ts[wake] - ts[row] > walks.window[0]:
                    wake = NEVER
                wakes[nodes[first + back, WAKES] + at[back]] = wake
        else:
            until[back] = 0
        depth, entered = back, True
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
    until: Times,
    least: Floats,
    most: Floats,
    skips: Ints,
    wakes: Ints,
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
                ts,
                first,
                steps,
                before,
                at,
                begins,
                ends,
                fitting,
                until,
                least,
                most,
                consumed,
                skips,
                wakes,
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
    candidates = walks.nodes[: walks.begins[-1], SIZE].sum()
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
        np.zeros_like(at),
        np.empty(checks),
        np.empty(checks),
        np.zeros(candidates, dtype=np.int32),
        np.zeros(candidates, dtype=np.int32),
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
