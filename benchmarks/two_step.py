"""The baseline of A-Seq's study: constructs all matches, then aggregates them. O(matches).

Each position has a stack of its events; an event points at the top of the stack before it. A
trigger searches along the pointers, depth first, for the matches that it completes. Each match is
added to the sums of its START.

Source: ASEQ, section 2.2 (stack-based evaluation as in SASE).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepkit.aggregation.kernels.records import (
    NOBODY,
    Ints,
    KeySteps,
    LaneArrays,
    Output,
    Tracks,
    Wide,
    add,
    put,
)
from cepkit.aggregation.methods.by_loops import LoopOutput
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.rows.tables import columns_of
from cepkit.aggregation.semirings.lanes import lanes_of
from cepkit.aggregation.sequence.definition import sequence_of
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sequence.operations import operations_of
from cepkit.compiling import compiled, lent
from cepkit.pattern.query import Query
from cepkit.routes.functions import attributes_of, functions_of
from cepkit.stream.columns import EventColumns
from cepkit.stream.stream import Stream


def two_step(stream: Stream, query: Query, emit: Emit = "trigger") -> Aggregates:
    """Return the rows of a query with AGG, as `cepkit.aggregate` does."""
    functions = functions_of(query, {})
    columns = stream.columns(sorted(sequence_of(query).attributes | attributes_of(functions)))
    moments, group_rows = constructed(columns, query, emit)
    table = columns_of(moments, functions, columns, stream.schema, query, group_rows, emit)
    return Aggregates(query, emit, "two-step", "the baseline", table)


def constructed(columns: EventColumns, query: Query, emit: Emit) -> tuple[Moments, Ints]:
    """Return the rows of a query with AGG, and an event of each group."""
    sequence, functions = sequence_of(query), functions_of(query, {})
    assert not sequence.repeated, "the source's stacks have no sets"
    operations = operations_of(sequence, columns)
    positions = {event.variable: p for p, event in enumerate(sequence.positive, 1)}
    lanes = lanes_of([*functions.values()], positions, columns)
    assert lanes is not None, "an aggregate without a loop"
    out = LoopOutput(operations.by_key(), lanes, emit)
    tracks, left = out.room()
    written = run(out.steps, lanes.arrays, out.to, tracks, left)
    return out.moments(written, tracks, left), operations.group_rows


class Stacks(NamedTuple):
    """The events of a key: a stack for each position, one behind the other.

    Attributes:
        first: int64[n + 2], the bottom of each stack.
        ends: int64[n + 2], one past its top.
        alive: int64[n + 2], its first event without an absence after it.
        op: int64[operations of the key], the operation of each event.
        pointer: int64[operations of the key], the top of the previous stack at that time.
        absent: int64[operations of the key], the time of the first event that must be absent after
            each.
        forbids: Whether anything of the key must be absent.
    """

    first: Wide
    ends: Wide
    alive: Wide
    op: Wide
    pointer: Wide
    absent: Wide
    forbids: bool


@compiled
def run(steps: KeySteps, carried: LaneArrays, to: Output, tracks: Tracks, left: Tracks) -> int:
    """Aggregate all keys; return how many moments of expiry were written.

    Args:
        steps: The operations, by key.
        tracks: The lanes at each trigger.
        left: Those after each expiry.
    """
    ts, codes, _, starts, n, window, _ = steps
    only_new, expiries, new, e_op = to
    done = 0
    written = 0
    at = np.zeros(n + 2, dtype=np.int64)
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        stacks = _stacks(steps, begin, end)
        first, ends, _, op, pointer, _, _ = stacks
        sums = _sums(carried, first[2])  # the sums of each START's matches
        lo = 0
        run_begin = done
        for i in range(begin, end + 1):
            while lo < ends[1] and window >= 0:
                if ts[i] - ts[op[lo]] <= window if i < end else not expiries:
                    break
                gone = sums.counts[lo]
                while lo + 1 < ends[1] and ts[op[lo + 1]] == ts[op[lo]]:
                    lo += 1
                    gone += sums.counts[lo]
                lo += 1
                if expiries and gone != 0:
                    e_op[written] = op[lo - 1]
                    _add_all(left, written, sums, lo, ends[1])
                    written += 1
            if i == end:
                break
            p = n - (codes[i] + 1) // 2
            if codes[i] % 2:
                _forbid(stacks, p, ts[i])
                continue
            place = ends[p]
            op[place] = i
            pointer[place] = ends[p - 1] if p > 1 else 0
            ends[p] += 1
            if p < n:
                continue
            new[done] = _search(steps, stacks, place, at, carried, sums, only_new, tracks, done)
            done += 1
            if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                continue
            if not only_new:
                _add_all(tracks, done - 1, sums, lo, ends[1])
                for trigger in range(run_begin, done - 1):
                    put(tracks, trigger, tracks, done - 1)
            run_begin = done
    return written


@compiled
def _stacks(steps: KeySteps, begin: int, end: int) -> Stacks:
    """Return empty stacks with room for the events of a key."""
    n, size = steps.length, end - begin
    first = np.zeros(n + 2, dtype=np.int64)
    forbids = False
    for i in range(begin, end):
        if steps.codes[i] % 2:
            forbids = True
        else:
            first[n - steps.codes[i] // 2 + 1] += 1
    for p in range(1, n + 2):
        first[p] += first[p - 1]
    op, pointer = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    absent = np.full(size, NOBODY, dtype=np.int64)
    return Stacks(first, first.copy(), first.copy(), op, pointer, absent, forbids)


@compiled
def _sums(carried: LaneArrays, size: int) -> Tracks:
    return Tracks(
        np.zeros(size, dtype=np.int64),
        np.zeros((carried.int_at.size, size), dtype=np.int64),
        np.zeros((carried.float_at.size, size), dtype=np.float64),
        np.full((carried.least_at.size, size), NOBODY, dtype=np.int64),
    )


@lent
def _add_all(to: Tracks, i: int, sums: Tracks, lo: int, hi: int) -> None:
    for slot in range(lo, hi):
        add(to, i, sums, slot)


@lent
def _forbid(stacks: Stacks, p: int, ts: int) -> None:
    """Record the time of an event that must be absent after a position."""
    for place in range(stacks.alive[p], stacks.ends[p]):
        stacks.absent[place] = ts
    stacks.alive[p] = stacks.ends[p]


@lent
def _search(
    steps: KeySteps, stacks: Stacks, place: int, at: Wide, carried: LaneArrays, sums: Tracks,
    only_new: bool, tracks: Tracks, done: int,
) -> int:  # fmt: skip
    """Add the matches that an event completes; return how many there are.

    Args:
        steps: The operations.
        place: The place of the event.
        at: int64[n + 2], scratch space: the event of each position.
        sums: The sums of each START's matches.
        only_new: Whether to add them to the trigger's row, too.
        tracks: The arrays of triggers, which are written.
        done: Which trigger it is.
    """
    ts, first, op, n = steps.ts, stacks.first, stacks.op, steps.length
    oldest = ts[op[place]] - steps.window if steps.window >= 0 else -NOBODY
    at[n] = place
    top = stacks.pointer[place] if n > 1 else place + 1
    level = n - 1
    at[level] = top
    matches = 0
    while level < n or n == 1:
        if level > 1:
            # The next event of this level, from the top of its stack down.
            at[level] -= 1
            if at[level] < first[level] or ts[op[at[level]]] < oldest:
                level += 1
                continue
            level -= 1
            at[level] = top = stacks.pointer[at[level + 1]]
            continue
        for start in range(top - 1, first[1] - 1 if n > 1 else place - 1, -1):
            if ts[op[start]] < oldest:
                break
            at[1] = start
            if not stacks.forbids or _holds(stacks, ts, n, at):
                matches += 1
                _add_match(sums, start, stacks, steps.rows, at, carried)
                if only_new:
                    _add_match(tracks, done, stacks, steps.rows, at, carried)
        if n == 1:
            break
        level += 1
    return matches


@lent
def _holds(stacks: Stacks, ts: Wide, n: int, at: Wide) -> bool:
    """Return whether no event that must be absent lies between the events of a match."""
    good = True
    for p in range(1, n):
        good = good and stacks.absent[at[p]] >= ts[stacks.op[at[p + 1]]]
    return good


@lent
def _add_match(
    to: Tracks, i: int, stacks: Stacks, rows: Ints, at: Wide, carried: LaneArrays
) -> None:
    """Add a match to the place `i`."""
    to.counts[i] += 1
    for lane in range(to.ints.shape[0]):
        to.ints[lane, i] += carried.ints[lane, rows[stacks.op[at[carried.int_at[lane]]]]]
    for lane in range(to.floats.shape[0]):
        to.floats[lane, i] += carried.floats[lane, rows[stacks.op[at[carried.float_at[lane]]]]]
    for lane in range(to.leasts.shape[0]):
        w = carried.leasts[lane, rows[stacks.op[at[carried.least_at[lane]]]]]
        to.leasts[lane, i] = min(to.leasts[lane, i], w)
