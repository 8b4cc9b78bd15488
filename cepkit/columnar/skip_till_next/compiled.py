"""The loops of skip-till-next-match, compiled by Numba; `plain.py` is their judge.

`scan` walks from each event that can be a last one to the first match that it completes. A walk
is a search in depth that stops at its first success. What is consumed is skipped by pointers that
join as they are followed, so that many consumed events in a row cost one look; a range in which
nothing fits the last event sends the search back to the step that could change that. And it is
remembered of a candidate until which row nothing can come of it: `wakes`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import uintp

from cepkit.columnar.skip_till_next.lookups import (
    NEVER,
    bands,
    holds,
    inside,
    next_free,
    range_of,
    ruled_out,
    same_event,
)
from cepkit.columnar.skip_till_next.walks import (
    ABSENT,
    ABSENT_END,
    CHAIN,
    CHECKS,
    CHECKS_END,
    COLUMN,
    DISTINCT,
    FIXED_END,
    JUMP,
    MEMORY,
    POSITION,
    ROWS,
    STRICT,
    TAPE,
    TAPE_END,
    TAPE_LAST,
    WAKES,
    Walks,
)
from cepkit.compiling import compiled, lent

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


RUN = 4
"""So many consumed candidates in a row are worth a look for where they end."""

FLOOR = 1 << 14
"""Patience is asked for as if so many rows had passed before."""

BEGUN, TAPED = 8, 8
"""What it costs to begin a range, and to follow a tape, in looks at a candidate."""


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
    stack: Floats,
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
    if ruled_out(walks, first, 0, at, least, most, stack):
        removed[first] += 1
        return False
    depth, entered = 1, False
    while 0 < depth < steps:
        node = first + depth
        begin, asleep = nodes[node, ROWS], nodes[node, WAKES]
        if not entered:
            low, high = range_of(walks, node, at)
            at[depth] = begins[depth] = next_free(walks, node, low, high, consumed, wakes, skips)
            ends[depth], fitting[depth], until[depth] = high, False, NEVER
            bands(walks, node, at, least, most)
        y, high, found = at[depth], ends[depth], False
        fixed, fixed_end = nodes[node, CHECKS], nodes[node, FIXED_END]
        checks_end, distinct = nodes[node, CHECKS_END], nodes[node, DISTINCT]
        absent = nodes[node, ABSENT] < nodes[node, ABSENT_END]
        tape, tape_last, tape_end = nodes[node, TAPE], nodes[node, TAPE_LAST], nodes[node, TAPE_END]
        stop = before if nodes[node, STRICT] else last
        fits_any, wake = fitting[depth], until[depth]
        count, run, taped = 0, 0, 0
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
                fits_any |= sleeping | (fits & (not several))
                wake = 0 if suits & (not fits) else wake
                run = 0 if free else run + 1
                if (fits & (suits | several)) | (run == RUN):
                    break
                y += 1
            if y >= high:
                break
            if run == RUN:
                y, run = next_free(walks, node, y, high, consumed, wakes, skips), 0
                continue
            row = int(ints[uintp(begin + y)])
            passes = True
            if several:
                fits = inside(walks, fixed, fixed_end, y, least, most)
                passes = inside(walks, fixed_end, checks_end, y, least, most)
                fits_any |= fits
                wake = wake if fits or not passes else 0
                passes &= fits
            at[depth] = y
            taped += passes and tape < tape_end
            if passes and tape < tape_last:
                passes = holds(walks.tape, floats, tape, tape_last, at, stack)
            if passes and tape_last < tape_end:
                passes = holds(walks.tape, floats, tape_last, tape_end, at, stack)
                wake = wake if passes else 0
            if passes and not (distinct and same_event(walks, first, depth, at, row)):
                ruled = ruled_out(walks, first, depth, at, least, most, stack) if absent else 0
                if ruled == 0:
                    found = True
                    break
                removed[node] += 1
                if ruled == 2:
                    break
            y += 1
        looked[node] += count
        looked[-1] += BEGUN + count + TAPED * taped
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
    patience: int,
    at: Times,
    begins: Times,
    ends: Times,
    fitting: Flags,
    until: Times,
    least: Floats,
    most: Floats,
    stack: Floats,
    skips: Ints,
    wakes: Ints,
    trial: Ints,
) -> tuple[int, int]:
    """Do what `scan` says, in arrays to work in."""
    n, width = trigger_rows.size, taken.shape[1]
    m, t, before = 0, 0, 0
    while t < n:
        row = int(trigger_rows[t])
        if looked[-1] > patience * (FLOOR + row - trigger_rows[0]):
            break
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
                stack,
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
    return m, t


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
    memory: Ints,
    patience: int,
) -> tuple[int, int]:
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
        looked: For each node the candidates looked at, and at the end the work; added to.
        removed: For each node the partial matches that NOT ruled out; added to.
        memory: What is known of the candidates of each step; at first two rows of zeros.
        patience: The search is broken off where it took so much work for each row.

    Returns:
        The number of matches, and how many of the events that can be last were tried.
    """
    width, checks = taken.shape[1], len(walks.checks)
    at = np.zeros(width + 1, dtype=np.int64)
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
        patience,
        at,
        np.zeros_like(at),
        np.zeros_like(at),
        np.zeros(at.size, dtype=np.bool_),
        np.zeros_like(at),
        np.empty(checks),
        np.empty(checks),
        np.empty(len(walks.tape) + 1),
        memory[0],
        memory[1],
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
