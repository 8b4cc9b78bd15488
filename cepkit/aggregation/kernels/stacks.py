"""Lanes of a window as a product of matrices on two stacks (`window_product`).

Lanes lie one behind the other in three arrays: whole numbers (the number of matches, then the
integer lanes), floats (the number again, since whole numbers may wrap around in between, then the
float lanes), and least lanes. Whole numbers are counted modulo a prime if one is given: those of
any size are known when their remainders modulo enough primes are (`remainders`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.compiling import compiled, inlined

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NOBODY = np.iinfo(np.int64).max
NOTHING = NOBODY - 1
"""As in `lanes`; loops take constants from their own module."""


@compiled
def run(
    ts: Wide,
    codes: Ints,
    rows: Ints,
    starts: Wide,
    n: int,
    window: int,
    most: int,
    int_at: Ints,
    ints: Wide,
    float_at: Ints,
    floats: Floats,
    least_at: Ints,
    leasts: Wide,
    prime: int,
    only_new: bool,
    expiries: int,
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
    """Aggregate all keys with any lanes and absences.

    Args:
        ts: With codes, rows, starts, n and window (-1: none) the `Operations`.
        codes: See there.
        rows: See there.
        starts: See there.
        n: See there.
        window: See there.
        most: The most STARTs of a key that live at once.
        int_at: With the following five the `Lanes`.
        ints: See there.
        float_at: See there.
        floats: See there.
        least_at: See there.
        leasts: See there.
        prime: Modulo which whole numbers are counted, of at most 31 bits; 0 for none.
        only_new: Whether the output is about the matches that a trigger completes instead of the
            live ones.
        expiries: Whether the moments of expiry are written out too; with 2 every moment at which a
            START expires, whether a match goes or not.
        new: For each trigger, in the order of operations, how many matches it completes.
        count: With the following three the `Tracks` of the triggers.
        out_ints: See there.
        out_floats: See there.
        out_leasts: See there.
        e_op: The last START of each moment of expiry at which matches went.
        e_count: With the following three the `Tracks` of what was left then.
        e_ints: See there.
        e_floats: See there.
        e_leasts: See there.

    Returns:
        How many moments of expiry were written.
    """
    one, width = uintp(1), uintp(n + 1)
    square = width * width
    ki, km = uintp(int_at.size + 1), uintp(least_at.size)
    kf = uintp(float_at.size + (1 if float_at.size else 0))
    # b of the newer part, (m, j) in row m: what goes on from length j to length m.
    b_i, t_i = np.zeros(ki * square, dtype=np.int64), np.zeros(ki * square, dtype=np.int64)
    b_f, t_f = np.zeros(kf * square, dtype=np.float64), np.zeros(kf * square, dtype=np.float64)
    b_m, t_m = np.zeros(km * square, dtype=np.int64), np.zeros(km * square, dtype=np.int64)
    # First rows of suffix products, one for each live START of the older part, newest first; the
    # one that counts is copied.
    room = uintp(most)
    f_i = np.zeros(room * ki * width, dtype=np.int64)
    f_f = np.zeros(room * kf * width, dtype=np.float64)
    f_m = np.zeros(room * km * width, dtype=np.int64)
    f_op = np.zeros(room, dtype=np.int64)
    h_i = np.zeros(ki * width, dtype=np.int64)
    h_f = np.zeros(kf * width, dtype=np.float64)
    h_m = np.zeros(km * width, dtype=np.int64)
    v_i = np.zeros(ki, dtype=np.int64)
    v_f = np.zeros(kf, dtype=np.float64)
    v_m = np.zeros(km, dtype=np.int64)
    start_code = 2 * (n - 1)
    last, before = uintp(n) * width, uintp(n - 1) * width
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _reset(b_i, b_f, b_m, width)
        _take(f_i, f_f, f_m, uintp(0), h_i, h_f, h_m, width)
        front, lives = uintp(0), uintp(0)  # live STARTs of the older and of the newer part
        oldest = begin  # the oldest START of the newer part, or something before it
        run_begin = done
        for i in range(begin, end + 1 if expiries else end):
            code = codes[i] if i < end else 0
            # Without rows of expiry it is soon enough when a trigger asks.
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
                had = _ways(h_i, uintp(0), b_i, last, width, prime) if expiries == 1 else 0
                while front > 0 and now - ts[f_op[front - one]] > window:
                    front -= one
                    start = f_op[front]
                if front == 0:
                    while oldest < i and now - ts[oldest] > window:
                        if codes[oldest] == start_code:
                            start = oldest
                        oldest += 1
                    # The newer part becomes the older one, from its first live START on.
                    _reset(t_i, t_f, t_m, width)
                    for at in range(i - 1, oldest - 1, -1):
                        early = codes[at]
                        p = uintp(n - ((early + 1) >> 1))
                        if early & 1:
                            _clear(t_i, t_f, t_m, p, width)
                            continue
                        _extend(
                            t_i, t_f, t_m, (p - one) * width, p * width, p, rows[at], width,
                            int_at, ints, float_at, floats, least_at, leasts, prime,
                        )  # fmt: skip
                        if early == start_code:
                            f_op[front] = at
                            for lane in range(ki):
                                for m in range(width):
                                    f_i[(front * ki + lane) * width + m] = t_i[lane * square + m]
                            for lane in range(kf):
                                for m in range(width):
                                    f_f[(front * kf + lane) * width + m] = t_f[lane * square + m]
                            for lane in range(km):
                                for m in range(width):
                                    f_m[(front * km + lane) * width + m] = t_m[lane * square + m]
                            front += one
                    _reset(b_i, b_f, b_m, width)
                    oldest = i
                    lives = uintp(0)
                _take(f_i, f_f, f_m, front, h_i, h_f, h_m, width)
                if expiries == 2 or (
                    expiries == 1 and had != _ways(h_i, uintp(0), b_i, last, width, prime)
                ):
                    _values(h_i, h_f, h_m, b_i, b_f, b_m, last, width, prime, v_i, v_f, v_m)
                    e_op[written] = start
                    e_count[written] = v_i[0]
                    for lane in range(one, ki):
                        e_ints[lane - one, written] = v_i[lane]
                    for lane in range(one, kf):
                        e_floats[lane - one, written] = v_f[lane]
                    for lane in range(km):
                        e_leasts[lane, written] = v_m[lane]
                    written += 1
            if i == end:
                break
            p = uintp(n - ((code + 1) >> 1))
            if code & 1:
                _clear(b_i, b_f, b_m, p, width)
                continue
            event = rows[i]
            if code == 0:
                new[done] = _ways(h_i, uintp(0), b_i, before, width, prime)
                if only_new:
                    _values(h_i, h_f, h_m, b_i, b_f, b_m, before, width, prime, v_i, v_f, v_m)
                    count[done] = v_i[0]
                    for lane in range(one, ki):
                        wi = ints[lane - one, event] if int_at[lane - one] == n else 0
                        whole = v_i[lane] + wi * v_i[0]
                        out_ints[lane - one, done] = whole % prime if prime else whole
                    for lane in range(one, kf):
                        out_floats[lane - one, done] = v_f[lane]
                        if float_at[lane - one] == n and v_f[0] != 0.0:
                            out_floats[lane - one, done] += floats[lane - one, event] * v_f[0]
                    for lane in range(km):
                        w = leasts[lane, event] if least_at[lane] == n else NOTHING
                        if v_m[lane] != NOBODY:
                            out_leasts[lane, done] = min(w, v_m[lane])
            _extend(
                b_i, b_f, b_m, p * width, (p - one) * width, p, event, width,
                int_at, ints, float_at, floats, least_at, leasts, prime,
            )  # fmt: skip
            lives += uintp(code == start_code)
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    _values(h_i, h_f, h_m, b_i, b_f, b_m, last, width, prime, v_i, v_f, v_m)
                    for at in range(run_begin, done):
                        count[at] = v_i[0]
                        for lane in range(one, ki):
                            out_ints[lane - one, at] = v_i[lane]
                        for lane in range(one, kf):
                            out_floats[lane - one, at] = v_f[lane]
                        for lane in range(km):
                            out_leasts[lane, at] = v_m[lane]
                run_begin = done
    return written


@inlined
def _extend(
    x_i: Wide,
    x_f: Floats,
    x_m: Wide,
    to: np.uintp,
    come: np.uintp,
    p: np.uintp,
    event: int,
    width: np.uintp,
    int_at: Ints,
    ints: Wide,
    float_at: Ints,
    floats: Floats,
    least_at: Ints,
    leasts: Wide,
    prime: int,
) -> None:
    """Add one row of the matrices to another, with what an event at position `p` has."""
    square = width * width
    for lane in range(uintp(int_at.size)):
        row, source = (lane + uintp(1)) * square + to, (lane + uintp(1)) * square + come
        wi = ints[lane, event] * np.int64(int_at[lane] == p)
        if prime:
            for j in range(width):
                x_i[row + j] = (x_i[row + j] + x_i[source + j] + wi * x_i[come + j]) % prime
        else:
            for j in range(width):
                x_i[row + j] += x_i[source + j] + wi * x_i[come + j]
    for j in range(width):
        x_i[to + j] += x_i[come + j]
        if prime and x_i[to + j] >= prime:
            x_i[to + j] -= prime
    for lane in range(uintp(float_at.size)):
        row, source = (lane + uintp(1)) * square + to, (lane + uintp(1)) * square + come
        for j in range(width):
            x_f[row + j] += x_f[source + j]
        if float_at[lane] == p:
            wf = floats[lane, event]
            for j in range(width):
                # Infinity times no matches is nothing.
                if x_f[come + j] != 0.0:
                    x_f[row + j] += wf * x_f[come + j]
    if float_at.size:
        for j in range(width):
            x_f[to + j] += x_f[come + j]
    for lane in range(uintp(least_at.size)):
        row, source = lane * square + to, lane * square + come
        wm = leasts[lane, event] if least_at[lane] == p else NOTHING
        for j in range(width):
            known = x_m[source + j]
            longer = NOBODY if known == NOBODY else min(known, wm)
            x_m[row + j] = min(x_m[row + j], longer)


@inlined
def _reset(x_i: Wide, x_f: Floats, x_m: Wide, width: np.uintp) -> None:
    """Make identity matrices."""
    square = width * width
    x_i[:] = 0
    x_f[:] = 0.0
    x_m[:] = NOBODY
    for j in range(width):
        x_i[j * width + j] = 1
        if x_f.size:
            x_f[j * width + j] = 1.0
        for lane in range(uintp(x_m.size) // square):
            x_m[lane * square + j * width + j] = NOTHING


@inlined
def _clear(x_i: Wide, x_f: Floats, x_m: Wide, p: np.uintp, width: np.uintp) -> None:
    """End all prefixes of a length: the matrix of an absence."""
    square = width * width
    for lane in range(uintp(x_i.size) // square):
        for j in range(width):
            x_i[lane * square + p * width + j] = 0
    for lane in range(uintp(x_f.size) // square):
        for j in range(width):
            x_f[lane * square + p * width + j] = 0.0
    for lane in range(uintp(x_m.size) // square):
        for j in range(width):
            x_m[lane * square + p * width + j] = NOBODY


@inlined
def _take(
    f_i: Wide,
    f_f: Floats,
    f_m: Wide,
    front: np.uintp,
    h_i: Wide,
    h_f: Floats,
    h_m: Wide,
    width: np.uintp,
) -> None:
    """Copy the row of the oldest live START of the older part; of the empty match without one."""
    x_i, x_f, x_m = uintp(h_i.size), uintp(h_f.size), uintp(h_m.size)
    if front > 0:
        for m in range(x_i):
            h_i[m] = f_i[(front - uintp(1)) * x_i + m]
        for m in range(x_f):
            h_f[m] = f_f[(front - uintp(1)) * x_f + m]
        for m in range(x_m):
            h_m[m] = f_m[(front - uintp(1)) * x_m + m]
    else:
        h_i[:] = 0
        h_f[:] = 0.0
        h_m[:] = NOBODY
        h_i[0] = 1
        if h_f.size:
            h_f[0] = 1.0
        for m in range(uintp(0), x_m, width):
            h_m[m] = NOTHING


@inlined
def _ways(h: Wide, at: np.uintp, b: Wide, row: np.uintp, width: np.uintp, prime: int) -> int:
    """Return the product of a lane of `h`, which begins at `at`, and a row of `b`."""
    total = 0
    for j in range(width):
        total += h[at + j] * b[row + j] % prime if prime else h[at + j] * b[row + j]
    return total % prime if prime else total


@inlined
def _values(
    h_i: Wide,
    h_f: Floats,
    h_m: Wide,
    b_i: Wide,
    b_f: Floats,
    b_m: Wide,
    row: np.uintp,
    width: np.uintp,
    prime: int,
    v_i: Wide,
    v_f: Floats,
    v_m: Wide,
) -> None:
    """Write what the lanes hold of all live prefixes of a length."""
    square = width * width
    for lane in range(uintp(v_i.size)):
        total = _ways(h_i, lane * width, b_i, row, width, prime)
        if lane > 0:
            total += _ways(h_i, uintp(0), b_i, lane * square + row, width, prime)
        v_i[lane] = total % prime if prime else total
    for lane in range(uintp(v_f.size)):
        whole = 0.0
        for j in range(width):
            # Infinity times no matches is nothing.
            if b_f[row + j] != 0.0:
                whole += h_f[lane * width + j] * b_f[row + j]
        if lane > 0:
            for j in range(width):
                if h_f[j] != 0.0:
                    whole += h_f[j] * b_f[lane * square + row + j]
        v_f[lane] = whole
    for lane in range(uintp(v_m.size)):
        least = NOBODY
        for j in range(width):
            known, more = h_m[lane * width + j], b_m[lane * square + row + j]
            if known != NOBODY and more != NOBODY:
                least = min(least, known, more)
        v_m[lane] = least
