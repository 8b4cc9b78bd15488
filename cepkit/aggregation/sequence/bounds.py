"""Upper bounds of counts and sums: they show beforehand whether 64 bits hold them.

Prefixes are counted as floats over windows somewhat longer than the query's, so a bound is never
too low. Cost: O(1) for an operation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.sequence.operations import Interleaved, Operations
from cepkit.compiling import compiled_beyond

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_PANES = 2


def bounds(operations: Operations | Interleaved) -> tuple[float, float]:
    """Return upper bounds on the live prefixes of any length, and on the matches of the stream.

    Operations not sorted by key count as one key, which only raises the bound.
    """
    starts = np.array([0, len(operations)], dtype=np.int64)
    if isinstance(operations, Operations):
        starts = operations.starts
    window = -1 if operations.window is None else operations.window
    loops = operations.loops
    return _bounds(operations.ts, operations.codes, starts, operations.length, window, loops)


@compiled_beyond(20_000)
def _bounds(
    ts: Wide, codes: Ints, starts: Wide, n: int, window: int, loops: npt.NDArray[np.int8]
) -> tuple[float, float]:
    """Return bounds on a prefix counter, summed over keys, and on the number of matches.

    A window lies within three panes of half its length: live prefixes are at most those counted
    without expiry since the beginning of the first pane. These counters only grow.
    """
    largest = 0.0
    total = 0.0
    rows = _PANES + 1
    width = window // _PANES + 1
    # Counters since the beginning of each pane, in a ring of panes, grouped by length.
    c = np.zeros((n + 1, rows))
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        c[:] = 0.0
        c[0] = 1.0
        most = 0.0
        first = 0  # the row of the oldest pane
        turn = ts[begin] + width if begin < end else 0  # when the next pane begins
        for i in range(begin, end):
            if window >= 0 and ts[i] >= turn:
                panes = (ts[i] - turn) // width + 1
                for _ in range(min(panes, rows)):
                    c[1:, first] = 0.0
                    first = (first + 1) % rows
                turn += panes * width
            p = uintp(n - ((codes[i] + 1) >> 1))
            if codes[i] & 1 and loops[p] == 2:
                for row in range(uintp(rows)):
                    c[p - uintp(1), row] += c[p, row]
                    c[p, row] = 0.0
            if codes[i] & 1 == 0:
                if p == n:
                    total += c[p - uintp(1), first] + (c[p, first] if loops[p] else 0.0)
                for row in range(uintp(rows)):
                    more = c[p - uintp(2), row] if loops[p] == 2 else 0.0
                    c[p, row] += c[p - uintp(1), row] + (c[p, row] if loops[p] else 0.0) + more
                most = max(most, c[p, first])
        largest += most
    return largest, total


@compiled_beyond(4_000)
def prefix_bounds(
    ts: Wide,
    codes: Ints,
    starts: Wide,
    node_of: Wide,
    absent: npt.NDArray[np.bool_],
    parents: Wide,
    window: int,
) -> Floats:
    """Return bounds on the counters of each node of a forest, summed over keys.

    Args:
        ts: int64[operations], the time of each operation.
        codes: int32[operations], the number of an event of the forest.
        starts: int64[keys + 1], where the operations of each key begin, and their end.
        node_of: The node of each code.
        absent: Whether a code stands for an event that must be absent.
        parents: The node before each node, -1 for none.
        window: The longest window, -1 for none.
    """
    nodes = parents.size
    largest = np.zeros(nodes)
    old = np.zeros(nodes)
    new = np.zeros(nodes)
    most = np.zeros(nodes)
    for key in range(starts.size - 1):
        old[:] = 0.0
        new[:] = 0.0
        most[:] = 0.0
        pane = 0
        for i in range(starts[key], starts[key + 1]):
            if window >= 0:
                now = (ts[i] - ts[starts[key]]) // (window + 1)
                if now != pane:
                    for v in range(nodes):
                        old[v] = new[v] if now == pane + 1 else 0.0
                        new[v] = 0.0
                    pane = now
            if not absent[codes[i]]:
                v = node_of[codes[i]]
                above = parents[v]
                old[v] += 1.0 if above < 0 else old[above]
                new[v] += 1.0 if above < 0 else new[above]
                most[v] = max(most[v], old[v])
        largest += most
    return largest
