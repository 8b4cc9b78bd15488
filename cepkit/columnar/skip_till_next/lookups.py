"""What a walk looks up, compiled by Numba: ranges, bands, tapes, what must not be there.

Each is given the walks (`walks.py`) and in `at` the candidate of each step that is
bound; the last place of `at` is for what must not be there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import uintp

from cepkit.columnar.skip_till_next.tapes import (
    ADD,
    CHECK,
    OF,
    OPERATION,
    PLACE,
    of_one,
    of_two,
)
from cepkit.columnar.skip_till_next.tapes import COLUMN as COLUMN_OF
from cepkit.columnar.skip_till_next.walks import (
    ABSENT,
    ABSENT_END,
    CHECKS,
    CHECKS_END,
    CODES,
    COLUMN,
    DEPTH,
    DISTINCT,
    FINAL,
    LEAST,
    LIMITS,
    LIMITS_END,
    MOST,
    OWN,
    PARTNER,
    ROWS,
    SIDE,
    SIZE,
    STARTS,
    TABLE,
    TAPE,
    TAPE_END,
    UPPER,
    WAKES,
    WANTED,
    Walks,
)
from cepkit.compiling import called, lent

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


NEVER = (1 << 31) - 1
"""The row that a search waits for which can never succeed."""


_of_one = lent(of_one)
_of_two = lent(of_two)


@lent
def searched(walks: Walks, k: int, at: Times, size: int) -> int:
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
def range_of(walks: Walks, node: int, at: Times) -> tuple[int, int]:
    """Return where the candidates of `node` begin and end, given what is bound."""
    nodes, limits = walks.nodes, walks.limits
    low, high = 0, nodes[node, SIZE]
    for k in range(nodes[node, LIMITS], nodes[node, LIMITS_END]):
        if limits[k, TABLE] >= 0:
            found = int(walks.ints[uintp(limits[k, TABLE] + at[limits[k, DEPTH]])])
        else:
            found = int(searched(walks, k, at, nodes[node, SIZE]))
        if limits[k, UPPER]:
            high = min(high, found)
        else:
            low = max(low, found)
    return low, high


@lent
def same_event(walks: Walks, first: int, bound: int, at: Times, row: int) -> bool:
    """Whether one of the first `bound` steps of the walk at node `first` has the event `row`."""
    for depth in range(bound):
        if walks.ints[walks.nodes[first + depth, ROWS] + at[depth]] == row:
            return True
    return False


@lent
def bands(walks: Walks, node: int, at: Times, least: Floats, most: Floats) -> None:
    """Look up what the columns of `node` are compared with."""
    checks = walks.checks
    for k in range(walks.nodes[node, CHECKS], walks.nodes[node, CHECKS_END]):
        other = at[checks[k, SIDE]]
        least[k] = walks.floats[checks[k, LEAST] + other] if checks[k, LEAST] >= 0 else -np.inf
        most[k] = walks.floats[checks[k, MOST] + other] if checks[k, MOST] >= 0 else np.inf


@lent
def inside(walks: Walks, first: int, end: int, y: int, least: Floats, most: Floats) -> bool:
    """Whether candidate `y` passes the checks from `first` to `end`."""
    for k in range(first, end):
        value = walks.floats[uintp(walks.checks[k, COLUMN] + y)]
        if not (value >= least[k] and value <= most[k]):
            return False
    return True


@called
def holds(tape: Times, floats: Floats, begin: int, end: int, at: Times, stack: Floats) -> bool:
    """Whether all conditions on a part of the tape hold for the candidates in `at`."""
    top = -1
    for i in range(begin, end):
        operation = tape[i, OPERATION]
        if operation == COLUMN_OF:
            of = tape[i, OF]
            top += 1
            stack[top] = floats[tape[i, PLACE] + (at[of] if of >= 0 else 0)]
        elif operation == CHECK:
            if stack[top] == 0.0:
                return False
            top -= 1
        elif operation < ADD:
            stack[top] = _of_one(operation, stack[top])
        else:
            top -= 1
            stack[top] = _of_two(operation, stack[top], stack[top + 1])
    return True


@lent
def ruled_out(
    walks: Walks,
    first: int,
    depth: int,
    at: Times,
    least: Floats,
    most: Floats,
    stack: Floats,
) -> int:
    """Whether there is an event that must not be there once the step at `depth` is bound.

    Returns:
        0: there is none; 1: there is; 2: there is, for all later candidates of the step too.
    """
    nodes = walks.nodes
    for node in range(nodes[first + depth, ABSENT], nodes[first + depth, ABSENT_END]):
        low, high = range_of(walks, node, at)
        bands(walks, node, at, least, most)
        first_check, end_check = nodes[node, CHECKS], nodes[node, CHECKS_END]
        tape, tape_end = nodes[node, TAPE], nodes[node, TAPE_END]
        for y in range(low, high):
            at[-1] = y
            if inside(walks, first_check, end_check, y, least, most) and (
                tape == tape_end or holds(walks.tape, walks.floats, tape, tape_end, at, stack)
            ):
                row = walks.ints[nodes[node, ROWS] + y]
                if not (nodes[node, DISTINCT] and same_event(walks, first, depth + 1, at, row)):
                    return 2 if nodes[node, FINAL] else 1
    return 0


@lent
def next_free(
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
