"""Counts of sequences that share what they begin with: one row of counters for each live START.

The same as `shared_loops.run` where no sequence is cut, which is faster: events need not wait for
each other, as no START sees what is before it. Source: ASEQ, section 4.1 (prefix sharing).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.loops import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@compiled
def run(
    ts: Wide,
    slots: Ints,
    starts: Wide,
    lost: Bits,
    node_of: Wide,
    absent: Bits,
    parent: Wide,
    root: Wide,
    trees: int,
    at_node: Wide,
    queries_at: Wide,
    windows: Wide,
    expiries: bool,
    begins: Wide,
    new: Wide,
    count: Wide,
    e_begins: Wide,
    e_op: Wide,
    e_count: Wide,
    written: Wide,
) -> None:
    """Count the matches of all sequences; arguments as of `shared_loops.run`."""
    one = uintp(1)
    nodes, queries = parent.size, windows.size
    keep = windows.max()
    capacity = uintp(64)
    c = np.zeros(uintp(nodes) * capacity, dtype=np.int64)  # the counters of each node in a row
    born = np.zeros(uintp(trees) * capacity, dtype=np.int64)
    lo, hi = np.zeros(trees, dtype=np.uintp), np.zeros(trees, dtype=np.uintp)
    oldest = np.zeros(queries, dtype=np.uintp)  # the first live START of each sequence
    waiting = np.zeros(queries, dtype=np.int64)  # triggers of this moment
    node_at = np.zeros(queries, dtype=np.int64)
    for node in range(nodes):
        for entry in range(at_node[node], at_node[node + 1]):
            node_at[queries_at[entry]] = node
    done = begins.copy()
    for key in range(starts.size - 1):
        begin, stop = starts[key], starts[key + 1]
        lo[:] = 0
        hi[:] = 0
        oldest[:] = 0
        for i in range(begin, stop + 1):
            if i == stop and not (expiries and stop > begin):
                break
            now = ts[i] if i < stop else ts[stop - 1] + 2 * (keep + 1)
            if expiries and not lost[key]:
                for q in range(queries):
                    tree = root[node_at[q]]
                    first = uintp(tree) * capacity
                    row = uintp(node_at[q]) * capacity
                    place = oldest[q]
                    while place < hi[tree]:
                        start = born[first + place]
                        if now - ts[start] <= windows[q]:
                            break
                        gone = c[row + place]
                        place += one
                        while place < hi[tree] and ts[born[first + place]] == ts[start]:
                            gone += c[row + place]
                            place += one
                        if gone != 0:
                            left = 0
                            for s in range(row + place, row + hi[tree]):
                                left += c[s]
                            e_op[e_begins[q] + written[q]] = born[first + place - one]
                            e_count[e_begins[q] + written[q]] = left
                            written[q] += 1
                    oldest[q] = place
            if i == stop:
                break
            slot = slots[i]
            node = node_of[slot]
            if lost[key]:
                if not absent[slot]:
                    for entry in range(at_node[node], at_node[node + 1]):
                        done[queries_at[entry]] += 1
                continue
            tree = root[node]
            first = uintp(tree) * capacity
            if keep >= 0:
                while lo[tree] < hi[tree] and now - ts[born[first + lo[tree]]] > keep:
                    lo[tree] += one
            row = uintp(node) * capacity
            above = parent[node]
            ending = at_node[node] if absent[slot] else at_node[node + 1]
            for entry in range(at_node[node], ending):
                q = queries_at[entry]
                place = max(oldest[q], lo[tree])
                if keep >= 0:
                    while place < hi[tree] and now - ts[born[first + place]] > windows[q]:
                        place += one
                oldest[q] = place
                total = 1
                if above >= 0:
                    total = 0
                    before = uintp(above) * capacity
                    for s in range(before + place, before + hi[tree]):
                        total += c[s]
                new[done[q]] = total
                done[q] += 1
                waiting[q] += 1
            if absent[slot]:
                for s in range(row + lo[tree], row + hi[tree]):
                    c[s] = 0
            elif above >= 0:
                back = uintp(node - above) * capacity  # parents come before children
                for s in range(row + lo[tree], row + hi[tree]):
                    c[s] += c[s - back]
            elif keep < 0 and hi[tree] > 0:
                c[row] += 1  # without a window all STARTs share one row
            else:
                if hi[tree] == capacity:
                    gone_by = lo[tree]
                    if gone_by <= capacity >> one:
                        wider = capacity + capacity
                        c, born = _wider(c, nodes, wider), _wider(born, trees, wider)
                        capacity = wider
                    else:
                        for v in range(nodes):
                            if root[v] == tree:
                                to = uintp(v) * capacity
                                for s in range(to + gone_by, to + capacity):
                                    c[s - gone_by] = c[s]
                        for s in range(first + gone_by, first + capacity):
                            born[s - gone_by] = born[s]
                        for q in range(queries):
                            if root[node_at[q]] == tree:
                                oldest[q] = max(oldest[q], gone_by) - gone_by
                        lo[tree] = uintp(0)
                        hi[tree] -= gone_by
                place = hi[tree]
                born[uintp(tree) * capacity + place] = i
                for v in range(nodes):
                    if root[v] == tree:
                        c[uintp(v) * capacity + place] = 0
                c[uintp(node) * capacity + place] = 1
                hi[tree] += one
            if i + 1 < stop and ts[i + 1] == now:
                continue
            # All events of this time are taken: what is live at its triggers.
            last = i
            while last >= begin and ts[last] == now:
                node = node_of[slots[last]]
                if not absent[slots[last]]:
                    for entry in range(at_node[node], at_node[node + 1]):
                        q = queries_at[entry]
                        if waiting[q] == 0:
                            continue
                        row = uintp(node) * capacity
                        total = 0
                        for s in range(row + max(oldest[q], lo[root[node]]), row + hi[root[node]]):
                            total += c[s]
                        for place_of in range(done[q] - waiting[q], done[q]):
                            count[place_of] = total
                        waiting[q] = 0
                last -= 1


@compiled
def _wider(old: Wide, rows: int, capacity: np.uintp) -> Wide:
    """Return rows of counters with more room in each."""
    had = uintp(old.size // rows)
    new = np.zeros(uintp(rows) * capacity, dtype=np.int64)
    for row in range(uintp(rows)):
        for s in range(had):
            new[row * capacity + s] = old[row * had + s]
    return new
