"""First-match search, compiled by Numba: the first match of each event that can be last.

A search goes depth first and stops at its first success. Consumed events are skipped by pointers
with path compression, so that many consumed events in a row cost one look; if no candidate of a
range fits the last event, the search jumps back to the step that could change that. For each
candidate it memoises the row up to which it must fail: `wakes`.

`at` holds the candidate of each bound step; its last place but one is for events under NOT, the
last one, always 0, for constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.columnar.skip_till_next.records import (
    Counts,
    Events,
    LastEvents,
    MatchArrays,
    Tables,
    Work,
    range_of,
)
from cepkit.compiling import compiled_beyond, lent

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Decide = Callable[[int, Any], bool]
"""Whether a residual predicate of some shape holds for the operands at a pointer."""

NEVER = (1 << 31) - 1
"""The wake-up row of a search that can never succeed."""

RUN = 4
"""After this many consumed candidates in a row, follow the skip pointers."""

FLOOR = 1 << 14
"""Patience counts this many rows as already passed."""

BEGUN, DECIDED = 8, 8
"""The cost of beginning a range and of evaluating a predicate, in examined candidates."""


@lent
def _same_event(tables: Tables, first: int, bound: int, at: Times, row: int) -> bool:
    """Whether one of the first `bound` steps of the search at node `first` has the event `row`."""
    for depth in range(bound):
        if tables.ints[tables.nodes[first + depth].rows + at[depth]] == row:
            return True
    return False


@lent
def _look_up(tables: Tables, number: int, work: Work) -> None:
    """Look up the limits of a node's columns."""
    node = tables.nodes[number]
    for k in range(node.checks, node.checks_end):
        check = tables.checks[k]
        other = work.at[check.side]
        work.least[k] = tables.floats[check.least + other] if check.least >= 0 else -np.inf
        work.most[k] = tables.floats[check.most + other] if check.most >= 0 else np.inf


@lent
def _inside(tables: Tables, first: int, end: int, y: int, work: Work) -> bool:
    """Whether candidate `y` passes the checks from `first` to `end`."""
    for k in range(first, end):
        value = tables.floats[uintp(tables.checks[k].column + y)]
        if not (value >= work.least[k] and value <= work.most[k]):
            return False
    return True


@lent
def _holds(tables: Tables, decide: Decide, number: int, work: Work) -> bool:
    """Whether a residual predicate (-1 for none) holds for the candidates in `at`."""
    if number < 0:
        return True
    predicate = tables.predicates[number]
    for k in range(predicate.operands, predicate.operands_end):
        operand = tables.operands[k]
        place = operand.numbers + work.at[operand.depth]
        work.operands[k - predicate.operands] = tables.floats[place]
    return decide(predicate.number, work.operands.ctypes)


@lent
def _ruled_out(tables: Tables, decide: Decide, first: int, depth: int, work: Work) -> int:
    """Whether a NOT rules out the bound steps up to `depth`.

    Returns:
        0: no; 1: yes; 2: yes, and for all later candidates of the step too.
    """
    step, at = tables.nodes[first + depth], work.at
    for number in range(step.absent, step.absent_end):
        node = tables.nodes[number]
        low, high = range_of(tables, number, at)
        _look_up(tables, number, work)
        for y in range(low, high):
            at[at.size - 2] = y
            if (
                _inside(tables, node.checks, node.checks_end, y, work)
                and _holds(tables, decide, node.predicate, work)
                and _holds(tables, decide, node.last_predicate, work)
            ):
                row = tables.ints[node.rows + y]
                if not (node.distinct and _same_event(tables, first, depth + 1, at, row)):
                    return 2 if node.final else 1
    return 0


@lent
def _next_free(tables: Tables, number: int, y: int, high: int, consumed: Flags, work: Work) -> int:
    """Return the first free candidate from `y` on, or one at or after `high`."""
    begin, own = tables.nodes[number].rows, tables.nodes[number].wakes
    skips, wakes, ints = work.skips, work.wakes, tables.ints
    root = y
    while root < high and (
        consumed[uintp(ints[uintp(begin + root)])] | (wakes[uintp(own + root)] == NEVER)
    ):
        root += 1 + skips[uintp(own + root)]
    while y < root:
        step = 1 + skips[uintp(own + y)]
        skips[uintp(own + y)] = root - y - 1
        y += step
    return root


@lent
def _enter(tables: Tables, number: int, depth: int, consumed: Flags, work: Work) -> None:
    """Begin the range of a step."""
    low, high = range_of(tables, number, work.at)
    work.begins[depth] = _next_free(tables, number, low, high, consumed, work)
    work.at[depth] = work.begins[depth]
    work.ends[depth], work.fitting[depth], work.until[depth] = high, False, NEVER
    _look_up(tables, number, work)


@lent
def _advance(
    tables: Tables,
    decide: Decide,
    first: int,
    depth: int,
    last: int,
    stop: int,
    consumed: Flags,
    work: Work,
    counts: Counts,
) -> bool:
    """Find the next candidate of a step, from `at` on; return whether there is one.

    Args:
        first: The node of the first step.
        last: The row of the last event.
        stop: The first row that is too late.
        consumed: bool[rows], whether a match has an event.
        work: Afterwards `fitting` says whether any candidate fits the last event, `until` the row
            until which none does.
        counts: Added to.
    """
    number = first + depth
    node = tables.nodes[number]
    ints, floats, at, wakes = tables.ints, tables.floats, work.at, work.wakes
    y, high, success = at[depth], work.ends[depth], False
    begin, asleep = node.rows, node.wakes
    fixed, fixed_end, checks_end = node.checks, node.fixed_end, node.checks_end
    decided = (node.predicate >= 0) | (node.last_predicate >= 0)
    fits_any, wake = work.fitting[depth], work.until[depth]
    count, run, decisions = 0, 0, 0
    column = column_1 = 0
    low_0 = high_0 = low_1 = high_1 = 0.0
    if fixed < fixed_end:
        column = tables.checks[fixed].column
        low_0, high_0 = work.least[fixed], work.most[fixed]
    if fixed_end < checks_end:
        column_1 = tables.checks[fixed_end].column
        low_1, high_1 = work.least[fixed_end], work.most[fixed_end]
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
            y, run = _next_free(tables, number, y, high, consumed, work), 0
            continue
        row = int(ints[uintp(begin + y)])
        passes = True
        if several:
            fits = _inside(tables, fixed, fixed_end, y, work)
            passes = _inside(tables, fixed_end, checks_end, y, work)
            fits_any |= fits
            wake = wake if fits or not passes else 0
            passes &= fits
        at[depth] = y
        if passes and decided:
            decisions += 1
            passes = _holds(tables, decide, node.predicate, work)
            if passes and not _holds(tables, decide, node.last_predicate, work):
                passes, wake = False, 0
        if passes and not (node.distinct and _same_event(tables, first, depth, at, row)):
            ruled = 0
            if node.absent < node.absent_end:
                ruled = _ruled_out(tables, decide, first, depth, work)
            if ruled == 0:
                success = True
                break
            counts.removed[number] += 1
            if ruled == 2:
                break
        y += 1
    counts.looked[number] += count
    counts.looked[-1] += BEGUN + count + DECIDED * decisions
    work.fitting[depth], work.until[depth] = fits_any, wake
    return success


@lent
def _back(tables: Tables, first: int, depth: int, work: Work) -> int:
    """Return the step to continue with if no candidate of `depth` fits the last event."""
    while True:
        below = tables.nodes[first + depth].chain
        # Its first candidate led to an empty range, so every later one would too.
        if below == 0 or work.at[below] != work.begins[below]:
            return int(tables.nodes[first + depth].jump)
        depth = below


@lent
def _first(
    tables: Tables,
    decide: Decide,
    search: int,
    before: int,
    events: Events,
    work: Work,
    counts: Counts,
) -> bool:
    """Find the first match with the last event `at[0]`; leave its candidates in `at`.

    Rows from `before` on are not before the last event, which may be one of them.
    """
    nodes, ints, at, until = tables.nodes, tables.ints, work.at, work.until
    first = tables.begins[search]
    steps = tables.begins[search + 1] - first
    last = int(ints[uintp(nodes[first].rows + at[0])])
    counts.looked[first] += 1
    # 64 bits from the start: a plain number has another type, for which functions compile again.
    depth: Any = np.int64(0)
    if _ruled_out(tables, decide, first, depth, work):
        counts.removed[first] += 1
        return False
    depth, entered = depth + 1, False
    while 0 < depth < steps:
        node = nodes[first + depth]
        if not entered:
            _enter(tables, first + depth, depth, events.consumed, work)
        stop = before if node.strict else last
        if _advance(tables, decide, first, depth, last, stop, events.consumed, work, counts):
            depth, entered = depth + 1, False
            continue
        back = depth - 1 if work.fitting[depth] else _back(tables, first, depth, work)
        if back == depth - 1:
            wake = until[depth]
            until[back] = min(until[back], wake)
            below = nodes[first + back]
            if below.memory:
                row = int(ints[below.rows + at[back]])
                if wake < NEVER and events.ts[wake] - events.ts[row] > tables.window:
                    wake = NEVER
                work.wakes[below.wakes + at[back]] = wake
        else:
            until[back] = 0
        depth, entered = back, True
        at[depth] += 1
    return bool(depth == steps)


@lent
def _smaller(trial: Ints, rows: Ints, m: int) -> bool:
    """Whether `trial` comes before row `m` of `rows` in lexicographic order."""
    for k in range(trial.size):
        if trial[k] != rows[m, k]:
            return bool(trial[k] < rows[m, k])
    return False


@lent
def _write_trial(tables: Tables, search: int, work: Work) -> None:
    """Write the match of a successful search in pattern order."""
    for k in range(work.trial.size):
        work.trial[k] = -1
    first = tables.begins[search]
    for depth in range(tables.begins[search + 1] - first):
        node = tables.nodes[first + depth]
        work.trial[node.position] = tables.ints[node.rows + work.at[depth]]


@lent
def _scan(
    tables: Tables,
    decide: Decide,
    lasts: LastEvents,
    events: Events,
    matched: MatchArrays,
    counts: Counts,
    work: Work,
    patience: int,
) -> tuple[int, int]:
    """Run `scan` with scratch arrays."""
    n, width = lasts.rows.size, work.trial.size
    m: Any = np.int64(0)  # as `depth` above
    t, before = 0, 0
    while t < n:
        row = int(lasts.rows[t])
        if counts.looked[-1] > patience * (FLOOR + row - int(lasts.rows[0])):
            break
        if events.order[before] < events.order[row]:
            before = row
            while events.order[before - 1] == events.order[row]:
                before -= 1
        best = -1
        while t < n and lasts.rows[t] == row:
            search = lasts.searches[t]
            work.at[0] = lasts.at[t]
            t += 1
            if events.consumed[row]:
                continue
            if not _first(tables, decide, search, before, events, work, counts):
                continue
            _write_trial(tables, search, work)
            if best < 0 or _smaller(work.trial, matched.rows, m):
                best = search
                for k in range(width):
                    matched.rows[m, k] = work.trial[k]
        if best >= 0:
            for k in range(width):
                if matched.rows[m, k] >= 0:
                    events.consumed[matched.rows[m, k]] = True
            matched.searches[m] = best
            m += 1
    return m, t


@compiled_beyond(20_000)
def scan(
    tables: Tables,
    decide: Decide,
    lasts: LastEvents,
    events: Events,
    matched: MatchArrays,
    counts: Counts,
    memory: Ints,
    patience: int,
) -> tuple[int, int]:
    """Take the first match at each event that completes any, in stream order.

    Args:
        decide: Decides their residual predicates.
        events: All events of the slice; events of taken matches become consumed.
        matched: The output.
        counts: Added to.
        memory: int32[2, candidates], the memory of each step's candidates; initially 0.
        patience: The search stops after this much work for each row.

    Returns:
        The number of matches, and how many of the events that can be last were tried.
    """
    width, checks = matched.rows.shape[1], len(tables.checks)
    at = np.zeros(width + 2, dtype=np.int64)
    work = Work(
        at,
        np.zeros_like(at),
        np.zeros_like(at),
        np.zeros(at.size, dtype=np.bool_),
        np.zeros_like(at),
        np.empty(checks),
        np.empty(checks),
        np.empty(len(tables.operands) + 1),
        memory[0],
        memory[1],
        np.empty(width, dtype=np.int32),
    )
    return _scan(tables, decide, lasts, events, matched, counts, work, patience)
