"""The methods for COUNT alone, the most common aggregate, without lanes.

They do the same as `shared.run` of one sequence and `stacks.run`, in a half to four fifths of the
time, and take a half to a third of the time to compile.
Prefix counters: for each live START, the number of matches of each prefix that begin with it. An
event at position m adds the counter of m - 1 to that of m, for every live START (SEM); expiry drops
a START's row. Without a window one row serves all STARTs (DPC). An event that must be absent after
position m resets the counters of m to 0. An event of KL at m first adds the counter of m to itself:
it joins the sets that have begun, or does not. Where an absence follows, sets after which it was
broken are counted at a position of their own, from which only a further member leads on. Cost:
O(live STARTs) for an event, O(1) without a window.
Source: ASEQ, sections 3.1 to 3.3; its figure 5 tests expiry the wrong way round: a row is live
until its expiry.

Loops count in unsigned integers: signed indices cost a wrap-around test on each access.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.records import KeySteps, Loops, Output
from cepkit.compiling import called, compiled_beyond, lent

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


@compiled_beyond(4_000)
def by_prefix_counters(steps: KeySteps, most: int, to: Output, count: Wide, e_count: Wide) -> int:
    """Count by prefix counters for each live START; return the number of expiry moments.

    Args:
        most: The most STARTs of a key that are live at once.
        count: int64[triggers], the number of matches at each.
        e_count: int64[STARTs], that after each expiry.
    """
    ts, codes, _, starts, n, window, loops = steps
    only_new, expiries, new, e_op = to
    one = uintp(1)
    # Twice the room, so that live counters move to the front only now and then.
    capacity = uintp(2 * most + 64)
    born = np.empty(capacity, dtype=np.int64)
    # c[p] has the counters of the prefixes of length p, one for each live START.
    c = np.zeros((n + 1, capacity), dtype=np.int64)
    last, before = uintp(n), uintp(n - 1)
    next_step = 0
    out = 0
    for key in range(starts.size - 1):
        lo = uintp(0)
        hi = uintp(0)
        run_begin = next_step
        begin, end = starts[key], starts[key + 1]
        for i in range(begin, end + 1):
            if window >= 0:
                while lo < hi:
                    now = ts[i] if i < end else ts[born[lo]] + window + expiries
                    if now - ts[born[lo]] <= window:
                        break
                    expired = c[last, lo]
                    lo += one
                    while lo < hi and ts[born[lo]] == ts[born[lo - one]]:
                        expired += c[last, lo]
                        lo += one
                    if expiries and expired != 0:
                        e_op[out] = born[lo - one]
                        e_count[out] = _total(c, last, lo, hi)
                        out += 1
            if i == end:
                break
            code = codes[i]
            if code & 1:
                p = uintp(n - ((code + 1) >> 1))
                if loops[p] == 2:
                    for s in range(lo, hi):
                        c[p - one, s] += c[p, s]
                for s in range(lo, hi):
                    c[p, s] = 0
                continue
            if code == 0:
                new[next_step] = 1 if n == 1 else _total(c, before, lo, hi)
                if loops[last]:
                    new[next_step] += _total(c, last, lo, hi)
            if loops[n - (code >> 1)]:
                p = uintp(n - (code >> 1))
                for s in range(lo, hi):
                    c[p, s] += c[p, s]
                if loops[p] == 2:
                    for s in range(lo, hi):
                        c[p, s] += c[p - uintp(2), s]
            if code == 2 * (n - 1):
                if window >= 0 or hi == 0:
                    if hi == capacity:
                        _move_up(c, born, lo, hi)
                        lo, hi = uintp(0), hi - lo
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
                    count[next_step] = new[next_step]
                next_step += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    total = _total(c, last, lo, hi)
                    for at in range(run_begin, next_step):
                        count[at] = total
                run_begin = next_step
    return out


@called
def _move_up(c: Wide, born: Wide, lo: np.uintp, hi: np.uintp) -> None:
    """Move the counters of live STARTs to the front; Numba's own way takes 3 s to compile."""
    for row in range(uintp(c.shape[0])):
        for s in range(lo, hi):
            c[row, s - lo] = c[row, s]
    for s in range(lo, hi):
        born[s - lo] = born[s]


@lent
def _total(c: Wide, row: np.uintp, lo: np.uintp, hi: np.uintp) -> int:
    total = 0
    for s in range(lo, hi):
        total += c[row, s]
    return total


@compiled_beyond(20_000)
def by_stacks(steps: KeySteps, most: int, to: Output, count: Wide, e_count: Wide) -> int:
    """Count by two stacks of matrix products; return the number of expiry moments.

    Args:
        most: The most STARTs of a key that are live at once.
        count: int64[triggers], the number of matches at each.
        e_count: int64[STARTs], that after each expiry.
    """
    ts, codes, _, starts, n, window, loops = steps
    only_new, expiries, new, e_op = to
    one, width = uintp(1), uintp(n + 1)
    last, before = uintp(n) * width, uintp(n - 1) * width
    start_code = 2 * (n - 1)
    # b[m, j] of the newer part: the number of ways from prefixes of length j to length m.
    b, t = np.zeros(width * width, dtype=np.int64), np.zeros(width * width, dtype=np.int64)
    # First rows of suffix products, one for each live START of the older part, newest first; the
    # current one is copied.
    f = np.zeros(uintp(most) * width, dtype=np.int64)
    f_op = np.zeros(uintp(most), dtype=np.int64)
    h = np.zeros(width, dtype=np.int64)
    next_step = 0
    out = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _reset(b, width)
        h[:] = 0
        h[0] = 1
        front, lives = uintp(0), uintp(0)  # live STARTs of the older and of the newer part
        oldest = begin  # the oldest START of the newer part, or an earlier operation
        run_begin = next_step
        for i in range(begin, end + 1 if expiries else end):
            code = codes[i] if i < end else 0
            # Without rows for expiries, expire only at triggers.
            while window >= 0 and (code == 0 or expiries) and front + lives > 0:
                if front > 0:
                    start = f_op[front - one]
                else:
                    while codes[oldest] != start_code:
                        oldest += 1
                    start = oldest
                now = ts[i] if i < end and not expiries else ts[start] + window + 1
                if (i < end and now > ts[i]) or now - ts[start] <= window:
                    break
                had = _ways(h, b, last) if expiries else 0
                while front > 0 and now - ts[f_op[front - one]] > window:
                    front -= one
                    start = f_op[front]
                if front == 0:
                    while oldest < i and now - ts[oldest] > window:
                        if codes[oldest] == start_code:
                            start = oldest
                        oldest += 1
                    # The newer part becomes the older one.
                    front = _turn(codes, oldest, i, n, loops, t, f, f_op)
                    _reset(b, width)
                    oldest = i
                    lives = uintp(0)
                h[:] = 0
                h[0] = 1
                if front > 0:
                    place = (front - one) * width
                    for m in range(width):
                        h[m] = f[place + m]
                if expiries:
                    left = _ways(h, b, last)
                    if left != had:
                        e_op[out] = start
                        e_count[out] = left
                        out += 1
            if i == end:
                break
            if code & 1:
                row = uintp(n - ((code + 1) >> 1)) * width
                if loops[n - ((code + 1) >> 1)] == 2:
                    for j in range(width):
                        b[row - width + j] += b[row + j]
                for j in range(width):
                    b[row + j] = 0
                continue
            if code == 0:
                new[next_step] = _ways(h, b, before)
                if loops[n]:
                    new[next_step] += _ways(h, b, last)
            row = uintp(n - (code >> 1)) * width
            if loops[n - (code >> 1)]:
                for j in range(width):
                    b[row + j] += b[row + j]
            if loops[n - (code >> 1)] == 2:
                for j in range(width):
                    b[row + j] += b[row - width - width + j]
            for j in range(width):
                b[row + j] += b[row - width + j]
            lives += uintp(code == start_code)
            if code == 0:
                if only_new:
                    count[next_step] = new[next_step]
                next_step += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    live = _ways(h, b, last)
                    for at in range(run_begin, next_step):
                        count[at] = live
                run_begin = next_step
    return out


@compiled_beyond(20_000)
def _reset(x: Wide, width: np.uintp) -> None:
    """Make an identity matrix."""
    x[:] = 0
    for j in range(width):
        x[j * width + j] = 1


@compiled_beyond(20_000)
def _ways(h: Wide, b: Wide, row: np.uintp) -> int:
    """Return the number of live prefixes of the length of a row of `b`."""
    total = 0
    for j in range(uintp(h.size)):
        total += h[j] * b[row + j]
    return total


@compiled_beyond(20_000)
def _turn(
    codes: Ints, begin: int, end: int, n: int, loops: Loops, t: Wide, f: Wide, f_op: Wide
) -> np.uintp:
    """Write first rows of suffix products, and return their number.

    Args:
        codes: Those of all operations.
        begin: The first that counts.
        end: The one after the last.
        n: The positions of the sequence.
        loops: As in `KeySteps`.
        t: Here t[j, m]: the number of ways from prefixes of length j to length m, by later events.
        f: The rows, one for each START, newest first.
        f_op: The STARTs.
    """
    width, front = uintp(n + 1), uintp(0)
    _reset(t, width)
    for at in range(end - 1, begin - 1, -1):
        code = codes[at]
        if code & 1:
            row = uintp(n - ((code + 1) >> 1)) * width
            ended = loops[n - ((code + 1) >> 1)] == 2
            for m in range(width):
                t[row + m] = t[row - width + m] if ended else 0
            continue
        row = uintp(n - (code >> 1)) * width
        for m in range(width):
            t[row - width + m] += t[row + m]
        if loops[n - (code >> 1)] == 2:
            for m in range(width):
                t[row - width - width + m] += t[row + m]
        if loops[n - (code >> 1)]:
            for m in range(width):
                t[row + m] += t[row + m]
        if code == 2 * (n - 1):
            f_op[front] = at
            for m in range(width):
                f[front * width + m] = t[m]
            front += uintp(1)
    return front
