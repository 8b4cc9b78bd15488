"""The methods for the number of matches alone: what most queries ask, without lanes.

The same as `prefix_loops.run`, `subtraction_loops.run` and `stack_loops.run`, of which the first
says what arguments are; a third to a half of their time. Loops count in unsigned integers: signed
indices cost a wrap-around test on each access.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.loops import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


@compiled
def by_prefix_counters(
    ts: Wide,
    codes: Ints,
    starts: Wide,
    n: int,
    window: int,
    only_new: bool,
    expiries: bool,
    new: Wide,
    count: Wide,
    e_op: Wide,
    e_count: Wide,
) -> int:
    """Count by a row of prefix counters for each live START."""
    one = uintp(1)
    capacity = uintp(64)
    born = np.empty(capacity, dtype=np.int64)
    # c[p] has the counters of the prefixes of length p, one for each live START.
    c = np.zeros((n + 1, capacity), dtype=np.int64)
    last, before = uintp(n), uintp(n - 1)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        lo = uintp(0)
        hi = uintp(0)
        run_begin = done
        begin, end = starts[key], starts[key + 1]
        for i in range(begin, end + 1):
            if window >= 0:
                while lo < hi:
                    now = ts[i] if i < end else ts[born[lo]] + window + expiries
                    if now - ts[born[lo]] <= window:
                        break
                    gone = c[last, lo]
                    lo += one
                    while lo < hi and ts[born[lo]] == ts[born[lo - one]]:
                        gone += c[last, lo]
                        lo += one
                    if expiries and gone != 0:
                        e_op[written] = born[lo - one]
                        left = 0
                        for s in range(lo, hi):
                            left += c[last, s]
                        e_count[written] = left
                        written += 1
            if i == end:
                break
            code = codes[i]
            if code & 1:
                p = uintp(n - ((code + 1) >> 1))
                for s in range(lo, hi):
                    c[p, s] = 0
                continue
            if code == 0:
                total = 0
                if n == 1:
                    total = 1
                else:
                    for s in range(lo, hi):
                        total += c[before, s]
                new[done] = total
            if code == 2 * (n - 1):
                if window >= 0 or hi == 0:
                    if hi == capacity:
                        size = hi - lo
                        if lo <= capacity >> one:
                            capacity *= uintp(2)
                        moved = np.zeros((n + 1, capacity), dtype=np.int64)
                        moved[:, :size] = c[:, lo:hi]
                        c = moved
                        births = np.empty(capacity, dtype=np.int64)
                        births[:size] = born[lo:hi]
                        born = births
                        lo, hi = uintp(0), size
                    born[hi] = i
                    for r in range(one, last + one):
                        c[r, hi] = 0
                    hi += one
                c[one, hi - one] += 1
            else:
                p = uintp(n - (code >> 1))
                q = p - one
                for s in range(lo, hi):
                    c[p, s] += c[q, s]
            if code == 0:
                if only_new:
                    count[done] = new[done]
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    total = 0
                    for s in range(lo, hi):
                        total += c[last, s]
                    for at in range(run_begin, done):
                        count[at] = total
                run_begin = done
    return written


@compiled
def by_subtraction(
    ts: Wide,
    codes: Ints,
    starts: Wide,
    n: int,
    window: int,
    only_new: bool,
    expiries: bool,
    new: Wide,
    count: Wide,
    e_op: Wide,
    e_count: Wide,
) -> int:
    """Count by a product of matrices from which expiring events are divided; without absences."""
    one = uintp(1)
    width = uintp(n + 1)
    last, before = uintp(n) * width, uintp(n - 1) * width
    # c[m * width + j]: ways on from prefixes of length j to length m.
    c = np.zeros(width * width, dtype=np.int64)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        c[:] = 0
        for j in range(width):
            c[uintp(j) * width + uintp(j)] = 1
        tail = begin
        run_begin = done
        for i in range(begin, end + 1):
            if window >= 0:
                while tail < i:
                    moment = ts[tail]
                    now = ts[i] if i < end else moment + window + expiries
                    if now - moment <= window:
                        break
                    had = c[last]
                    start = -1
                    while tail < i and ts[tail] == moment:
                        p = uintp(n - (codes[tail] >> 1))
                        if p == one:
                            start = tail
                        for m in range(p, width):
                            c[m * width + p - one] -= c[m * width + p]
                        tail += 1
                    if expiries and start >= 0 and c[last] != had:
                        e_op[written] = start
                        e_count[written] = c[last]
                        written += 1
            if i == end:
                break
            code = codes[i]
            p = uintp(n - (code >> 1))
            if code == 0:
                new[done] = c[before]
            row = p * width
            for j in range(p):
                c[row + uintp(j)] += c[row - width + uintp(j)]
            if code == 0:
                if only_new:
                    count[done] = new[done]
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    for at in range(run_begin, done):
                        count[at] = c[last]
                run_begin = done
    return written


@compiled
def by_stacks(
    ts: Wide,
    codes: Ints,
    starts: Wide,
    n: int,
    window: int,
    only_new: bool,
    expiries: bool,
    new: Wide,
    count: Wide,
    e_op: Wide,
    e_count: Wide,
) -> int:
    """Count by two stacks of products of matrices."""
    width = uintp(n + 1)
    last, before = uintp(n) * width, uintp(n - 1) * width
    start_code = 2 * (n - 1)
    b = np.zeros(width * width, dtype=np.int64)
    t = np.zeros(width * width, dtype=np.int64)
    capacity = 64
    # First rows of suffix products, one for each live START of the older part, newest first.
    f = np.zeros(capacity * (n + 1), dtype=np.int64)
    f_op = np.zeros(capacity, dtype=np.int64)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        b[:] = 0
        for j in range(width):
            b[uintp(j) * width + uintp(j)] = 1
        front = 0
        oldest = begin  # the oldest START of the newer part, or something before it
        run_begin = done
        for i in range(begin, end + 1):
            while window >= 0:
                if front > 0:
                    start = f_op[front - 1]
                else:
                    while oldest < i and codes[oldest] != start_code:
                        oldest += 1
                    start = oldest
                    if start == i:
                        break
                moment = ts[start]
                now = ts[i] if i < end else moment + window + expiries
                if now - moment <= window:
                    break
                had = _live(f, front, b, last, width) if expiries else 0
                while front > 0 and ts[f_op[front - 1]] == moment:
                    front -= 1
                    start = f_op[front]
                turn = False
                while front == 0 and oldest < i:
                    if codes[oldest] == start_code:
                        if ts[oldest] > moment:
                            break
                        start = oldest
                        turn = True
                    oldest += 1
                if turn:
                    lives = 0
                    for at in range(oldest, i):
                        lives += codes[at] == start_code
                    if capacity < lives:
                        capacity = 2 * lives
                        f = np.zeros(capacity * (n + 1), dtype=np.int64)
                        f_op = np.zeros(capacity, dtype=np.int64)
                    # t[j * width + m]: ways on from prefixes of length j to length m, later ones.
                    t[:] = 0
                    for j in range(width):
                        t[uintp(j) * width + uintp(j)] = 1
                    for at in range(i - 1, oldest - 1, -1):
                        code = codes[at]
                        if code & 1:
                            p = uintp(n - ((code + 1) >> 1))
                            for m in range(p, width):
                                t[p * width + uintp(m)] = 0
                            continue
                        p = uintp(n - (code >> 1))
                        row = p * width
                        for m in range(p, width):
                            t[row - width + m] += t[row + m]
                        if code == start_code:
                            f_op[front] = at
                            place = uintp(front) * width
                            for m in range(width):
                                f[place + uintp(m)] = t[uintp(m)]
                            front += 1
                    b[:] = 0
                    for j in range(width):
                        b[uintp(j) * width + uintp(j)] = 1
                    oldest = i
                if expiries:
                    left = _live(f, front, b, last, width)
                    if left != had:
                        e_op[written] = start
                        e_count[written] = left
                        written += 1
            if i == end:
                break
            code = codes[i]
            if code & 1:
                row = uintp(n - ((code + 1) >> 1)) * width
                for j in range(width):
                    b[row + uintp(j)] = 0
                continue
            if code == 0:
                new[done] = _live(f, front, b, before, width)
            p = uintp(n - (code >> 1))
            row = p * width
            for j in range(p):
                b[row + uintp(j)] += b[row - width + uintp(j)]
            if code == 0:
                if only_new:
                    count[done] = new[done]
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    live = _live(f, front, b, last, width)
                    for at in range(run_begin, done):
                        count[at] = live
                run_begin = done
    return written


@compiled
def _live(f: Wide, front: int, b: Wide, row: np.uintp, width: np.uintp) -> int:
    """Return how many live prefixes there are of the length that a row of `b` is about."""
    if front == 0:
        return int(b[row])
    place = uintp(front - 1) * width
    total = 0
    for j in range(width):
        total += f[place + uintp(j)] * b[row + uintp(j)]
    return total
