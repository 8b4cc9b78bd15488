"""The matches of sequences constructed one by one, and added to lanes (`two_step`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.compiling import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NOBODY = np.iinfo(np.int64).max
"""As in `lanes`; loops take constants from their own module."""


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
    float_at: Ints,
    floats: Floats,
    least_at: Ints,
    leasts: Wide,
    only_new: bool,
    expiries: bool,
    new: Wide,
    count: Wide,
    out_ints: Wide,
    out_floats: Floats,
    out_leasts: Wide,
    e_op: Wide,
    e_count: Wide,
    e_ints: Wide,
    e_floats: Floats,
    e_leasts: Wide,
) -> int:
    """Aggregate all keys. As `stack_loops.run`, without `most` and `prime`.

    Returns:
        How many moments of expiry were written.
    """
    ki, kf, km = int_at.size, float_at.size, least_at.size
    done = 0
    written = 0
    ends = np.zeros(n + 2, dtype=np.int64)  # one past the top of each stack
    first = np.zeros(n + 2, dtype=np.int64)  # its bottom
    alive = np.zeros(n + 2, dtype=np.int64)  # its first event without an absence after it
    at = np.zeros(n + 2, dtype=np.int64)
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        first[:] = 0
        for i in range(begin, end):
            if codes[i] % 2 == 0:
                first[n - codes[i] // 2 + 1] += 1
        for p in range(1, n + 2):
            first[p] += first[p - 1]
        # Position p has the places first[p] to first[p + 1] of all stacks in a row.
        ends[:] = first
        alive[:] = first
        size = end - begin
        op = np.empty(size, dtype=np.int64)
        pointer = np.empty(size, dtype=np.int64)
        absent = np.full(size, NOBODY, dtype=np.int64)
        # What the matches of each START add up to, in the order of STARTs.
        c = np.zeros(first[2], dtype=np.int64)
        s = np.zeros((ki, first[2]), dtype=np.int64)
        f = np.zeros((kf, first[2]), dtype=np.float64)
        m = np.full((km, first[2]), NOBODY, dtype=np.int64)
        lo = 0
        run_begin = done
        for i in range(begin, end + 1):
            if window >= 0:
                while lo < ends[1] and (
                    (i < end and ts[i] - ts[op[lo]] > window) or (i == end and expiries)
                ):
                    gone = c[lo]
                    while lo + 1 < ends[1] and ts[op[lo + 1]] == ts[op[lo]]:
                        lo += 1
                        gone += c[lo]
                    lo += 1
                    if expiries and gone != 0:
                        e_op[written] = op[lo - 1]
                        for slot in range(lo, ends[1]):
                            e_count[written] += c[slot]
                            for lane in range(ki):
                                e_ints[lane, written] += s[lane, slot]
                            for lane in range(kf):
                                e_floats[lane, written] += f[lane, slot]
                            for lane in range(km):
                                e_leasts[lane, written] = min(
                                    e_leasts[lane, written], m[lane, slot]
                                )
                        written += 1
            if i == end:
                break
            if codes[i] % 2:
                p = n - (codes[i] + 1) // 2
                for place in range(alive[p], ends[p]):
                    absent[place] = ts[i]
                alive[p] = ends[p]
                continue
            p = n - codes[i] // 2
            place = ends[p]
            op[place] = i
            pointer[place] = ends[p - 1] if p > 1 else 0
            ends[p] += 1
            if p < n:
                continue
            for level in range(n + 1):
                at[level] = 0
            at[n] = place
            level = n
            oldest = ts[i] - window if window >= 0 else -NOBODY
            if level > 1:
                level -= 1
                at[level] = pointer[place]
            while level < n or n == 1:
                if n > 1:
                    # The next event of this level, from the top of its stack down.
                    at[level] -= 1
                    if at[level] < first[level] or ts[op[at[level]]] < oldest:
                        level += 1
                        continue
                    if level > 1:
                        at[level - 1] = pointer[at[level]]
                        level -= 1
                        continue
                good = True
                for p in range(1, n):
                    good = good and absent[at[p]] >= ts[op[at[p + 1]]]
                if good:
                    slot = at[1]
                    new[done] += 1
                    c[slot] += 1
                    for lane in range(ki):
                        w = ints[lane, rows[op[at[int_at[lane]]]]]
                        s[lane, slot] += w
                        if only_new:
                            out_ints[lane, done] += w
                    for lane in range(kf):
                        wf = floats[lane, rows[op[at[float_at[lane]]]]]
                        f[lane, slot] += wf
                        if only_new:
                            out_floats[lane, done] += wf
                    for lane in range(km):
                        w = leasts[lane, rows[op[at[least_at[lane]]]]]
                        m[lane, slot] = min(m[lane, slot], w)
                        if only_new:
                            out_leasts[lane, done] = min(out_leasts[lane, done], w)
                if n == 1:
                    break
            if only_new:
                count[done] = new[done]
            done += 1
            if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                continue
            if not only_new:
                last = done - 1
                for slot in range(lo, ends[1]):
                    count[last] += c[slot]
                    for lane in range(ki):
                        out_ints[lane, last] += s[lane, slot]
                    for lane in range(kf):
                        out_floats[lane, last] += f[lane, slot]
                    for lane in range(km):
                        out_leasts[lane, last] = min(out_leasts[lane, last], m[lane, slot])
                for before in range(run_begin, last):
                    count[before] = count[last]
                    out_ints[:, before] = out_ints[:, last]
                    out_floats[:, before] = out_floats[:, last]
                    out_leasts[:, before] = out_leasts[:, last]
            run_begin = done
    return written
