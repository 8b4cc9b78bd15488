"""Loops over rows and instructions.

`reach` goes backwards over a partition and computes for each row and instruction whether the rest
of the pattern can match according to the filters: O(rows x instructions) for any pattern. With
filters only, that decides every choice, and `walk` follows the preferred path without backtracking.

The loops write matches into arrays: the first row of each, its number, and the end of its steps
(the instruction of each of its rows). A row that no match covers has the number 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepkit.compiling import compiled
from cepkit.rowpattern.program import ACCEPT, CHOICE, END, ROW, START, Instructions


class Found(NamedTuple):
    """The arrays that matches are written into.

    Attributes:
        steps: The instruction of each row of a match.
        starts: Their first rows.
        stops: The ends of their steps.
        numbers: Their numbers.
    """

    steps: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    numbers: np.ndarray


@compiled
def reach(
    kinds: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    variables: np.ndarray,
    fits: np.ndarray,
    begin: int,
    end: int,
) -> np.ndarray:
    """Return for each row of a partition, and its end, and each instruction: can the rest match?

    It is called for each partition, and a tuple of arrays would take longer to pass.

    Args:
        kinds: Those of the instructions, and so on: see `Instructions`.
        fits: For each variable and each row of the table whether the row fits.
        begin: The first row of the partition.
        end: The row after its last.
    """
    rows, count = end - begin, len(kinds)
    can = np.zeros((rows + 1, count), np.bool_)
    for at in range(rows, -1, -1):
        for i in range(count):
            kind = kinds[i]
            if kind == ROW:
                can[at, i] = at < rows and fits[variables[i], begin + at] and can[at + 1, first[i]]
            elif kind == CHOICE:
                can[at, i] = can[at, first[i]] or can[at, second[i]]
            elif kind == ACCEPT:
                can[at, i] = True
            elif kind == START:
                can[at, i] = at == 0 and can[at, first[i]]
            elif kind == END:
                can[at, i] = at == rows and can[at, first[i]]
    return can


@compiled
def walk(program: Instructions, can: np.ndarray, start: int, steps: np.ndarray, filled: int) -> int:
    """Write the steps of the preferred match that begins at a row.

    Args:
        program: The instructions.
        can: The result of `reach`; the entry must be able to match at `start`.
        start: The row, counted in the partition.
        steps: The target for the steps.
        filled: The number of steps there.

    Returns:
        The new end of `steps`; -1 if there is not enough room.
    """
    kinds, first = program.kinds, program.first
    i, at = program.entry, start
    while kinds[i] != ACCEPT:
        if kinds[i] == ROW:
            if filled == len(steps):
                return -1
            steps[filled] = i
            filled += 1
            at += 1
            i = first[i]
        elif kinds[i] == CHOICE and not can[at, first[i]]:
            i = program.second[i]
        else:
            i = first[i]
    return filled


PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = range(4)
NO_TARGET, NO_PROGRESS = -1, -2


@compiled
def next_start(
    skip: int, targets: np.ndarray, steps: np.ndarray, begin: int, end: int, start: int
) -> int:
    """Return the row at which the search continues after a match.

    Args:
        skip: The kind of SKIP.
        targets: For each instruction whether its row is a target of SKIP TO.
        begin: The first step of the match.
        end: The end of its steps.
        start: Its first row.

    Returns:
        The row; `NO_TARGET` or `NO_PROGRESS` if SKIP TO has no valid row.
    """
    if begin == end or skip == TO_NEXT:
        return start + 1
    if skip == PAST_LAST:
        return start + end - begin
    at = begin if skip == TO_FIRST else end - 1
    step = 1 if skip == TO_FIRST else -1
    while begin <= at < end:
        if targets[steps[at]]:
            return start + at - begin if at > begin else NO_PROGRESS
        at += step
    return NO_TARGET


@compiled
def scan(
    program: Instructions,
    fits: np.ndarray,
    bounds: np.ndarray,
    skip: int,
    targets: np.ndarray,
    unmatched: bool,
    state: np.ndarray,
    to: Found,
) -> tuple[int, int]:
    """Write the matches of partitions until an array is full.

    Args:
        program: The instructions.
        fits: For each variable and each row of the table whether the row fits.
        bounds: The first row of each partition, and the end.
        skip: The kind of SKIP.
        targets: For each instruction whether its row is a target of SKIP TO.
        unmatched: Whether to write also rows that no match covers.
        state: The partition and the row to continue at, the number of matches so far in the
            partition, and the row after all of them; changed in place.
        to: The arrays to write into.

    Returns:
        The number of matches written, and the last result of `next_start`.
    """
    kinds, first, second, variables, _, entry = program
    steps, starts, stops, numbers = to
    count = filled = 0
    while state[0] < len(bounds) - 1:
        begin, end = bounds[state[0]], bounds[state[0] + 1]
        can = reach(kinds, first, second, variables, fits, begin, end)
        while state[1] < end - begin:
            if count == len(starts):
                return count, 0
            start, then = state[1], state[1] + 1
            if can[start, entry]:
                stop = walk(program, can, start, steps, filled)
                if stop < 0:
                    return count, 0
                then = next_start(skip, targets, steps, filled, stop, start)
                state[2] += 1
                state[3] = max(state[3], start + stop - filled)
                starts[count], stops[count], numbers[count] = begin + start, stop, state[2]
                filled = stop
                count += 1
                if then < 0:
                    return count, then
            elif unmatched and start >= state[3]:
                starts[count], stops[count], numbers[count] = begin + start, filled, 0
                count += 1
            state[1] = then
        state[0] += 1
        state[1:] = 0
    return count, 0
