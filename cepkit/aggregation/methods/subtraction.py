"""Rows of integers, which can be subtracted: all keys at once, in stream order.

The most common aggregates - numbers of matches, sums of integers, without absences - need no
sorting by key, no tree over the keys of a group, and no sorting back into stream order.
"""

from __future__ import annotations

import numpy as np

from cepkit.aggregation.kernels import subtraction as loops
from cepkit.aggregation.rows.joining import merge
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.rows.totals import totals
from cepkit.aggregation.semirings.lanes import Lanes, joined, tracks_for
from cepkit.aggregation.sequence.elements import Emit
from cepkit.aggregation.sequence.operations import Interleaved

MOST_NUMBERS = 1 << 25
"""The most numbers in the matrices of all keys, which are in memory at once."""


def can_subtract(operations: Interleaved, lanes: Lanes) -> bool:
    """Return whether expiring events can be divided out, and all keys' matrices fit."""
    if not lanes.only_integers or operations.absences or operations.loops.any():
        return False
    n = operations.length
    return len(operations.groups) * n * (n + 1) * (1 + len(lanes.int_at)) <= MOST_NUMBERS


def subtract(operations: Interleaved, lanes: Lanes, emit: Emit) -> Moments:
    """Return the rows of the output.

    Args:
        operations: The operations, without absences and sets.
        lanes: The lanes; integers only.
    """
    triggers = np.flatnonzero(operations.codes == 0)
    size = len(triggers)
    window = -1 if operations.window is None else operations.window
    expiries = window >= 0 and emit == "changes"
    starts = int((operations.codes == operations.start_code).sum()) if expiries else 0
    groups, new = np.empty(size, np.int32), np.empty(size, np.int64)
    expired, of = np.empty(starts, np.int64), np.empty(starts, np.int32)
    tracks, left = tracks_for(lanes, size), tracks_for(lanes, starts)
    stream = loops.Stream(
        operations.ts, operations.codes, operations.rows, operations.keys, operations.groups,
        operations.length, window,
    )  # fmt: skip
    only_new = emit in ("new", "total")
    output = loops.GroupOutput(only_new, expiries, groups, new, tracks, expired, of, left)
    written = loops.run(stream, lanes.arrays, output)
    if emit == "total":
        return totals(lanes, groups, tracks, len(operations.group_rows), operations.grouped)
    result = Moments(operations.ts[triggers], groups, np.ones(size, np.bool_), new, tracks, lanes)
    if not written:
        return result
    # At equal times the rows of triggers come first.
    ts = np.concatenate((result.ts, expired[:written]))
    order = merge(ts, size)
    return Moments(
        ts,
        np.concatenate((groups, of[:written])),
        np.arange(len(ts)) < size,
        np.concatenate((new, np.zeros(written, np.int64))),
        joined([tracks, left.take(np.arange(written))]),
        lanes,
    ).take(order)
