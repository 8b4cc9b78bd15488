"""Whole numbers of a window as a product of matrices from which expiring events are divided.

Numbers of matches and integer lanes, without absences; `window_product` tells the idea. The numbers
are right modulo 2 to the 64, whatever happens in between.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.loops import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


@compiled
def run(
    ts: Wide,
    codes: Ints,
    rows: Ints,
    starts: Wide,
    n: int,
    window: int,
    int_at: Ints,
    ints: Wide,
    only_new: bool,
    expiries: bool,
    new: Wide,
    count: Wide,
    out_ints: Wide,
    e_op: Wide,
    e_count: Wide,
    e_ints: Wide,
) -> int:
    """Aggregate all keys with numbers of matches and integer lanes alone, without absences.

    As `prefix_loops.run`; returns how many moments of expiry were written.
    """
    ki = int_at.size
    # c[m, j]: prefixes that go on from length j to length m; s[lane, m, j]: their sums.
    c = np.zeros((n + 1, n + 1), dtype=np.int64)
    s = np.zeros((ki, n + 1, n + 1), dtype=np.int64)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        c[:] = 0
        s[:] = 0
        for j in range(n + 1):
            c[j, j] = 1
        tail = begin
        run_begin = done
        for i in range(begin, end + 1):
            if window >= 0:
                while tail < i and (
                    (i < end and ts[i] - ts[tail] > window) or (i == end and expiries)
                ):
                    moment = ts[tail]
                    had = c[n, 0]
                    start = -1
                    while tail < i and ts[tail] == moment:
                        p = n - codes[tail] // 2
                        if p == 1:
                            start = tail
                        for lane in range(ki):
                            if int_at[lane] == p:
                                w = ints[lane, rows[tail]]
                                for length in range(p, n + 1):
                                    s[lane, length, p - 1] -= s[lane, length, p] + w * c[length, p]
                            else:
                                for length in range(p, n + 1):
                                    s[lane, length, p - 1] -= s[lane, length, p]
                        for length in range(p, n + 1):
                            c[length, p - 1] -= c[length, p]
                        tail += 1
                    if expiries and start >= 0 and c[n, 0] != had:
                        e_op[written] = start
                        e_count[written] = c[n, 0]
                        for lane in range(ki):
                            e_ints[lane, written] = s[lane, n, 0]
                        written += 1
            if i == end:
                break
            p = n - codes[i] // 2
            if p == n:
                new[done] = c[n - 1, 0]
                if only_new:
                    count[done] = c[n - 1, 0]
                    for lane in range(ki):
                        w = ints[lane, rows[i]] if int_at[lane] == n else 0
                        out_ints[lane, done] = s[lane, n - 1, 0] + w * c[n - 1, 0]
            for lane in range(ki):
                if int_at[lane] == p:
                    w = ints[lane, rows[i]]
                    for j in range(p):
                        s[lane, p, j] += s[lane, p - 1, j] + w * c[p - 1, j]
                else:
                    for j in range(p):
                        s[lane, p, j] += s[lane, p - 1, j]
            for j in range(p):
                c[p, j] += c[p - 1, j]
            if p == n:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    for at in range(run_begin, done):
                        count[at] = c[n, 0]
                        for lane in range(ki):
                            out_ints[lane, at] = s[lane, n, 0]
                run_begin = done
    return written
