"""Lanes of a window as a product of matrices on two stacks (`window_product`).

Lanes lie one behind the other in three arrays: whole numbers (the number of matches, then the
integer lanes), floats (the number again, since whole numbers may wrap around in between, then the
float lanes), and least lanes. A matrix of a lane has its columns one behind the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.loops import compiled

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
    int_at: Ints,
    ints: Wide,
    float_at: Ints,
    floats: Floats,
    least_at: Ints,
    leasts: Wide,
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

    As `prefix_loops.run`; returns how many moments of expiry were written. With 2 in `expiries`
    every moment is, whether a match goes or not.
    """
    one, width = uintp(1), uintp(n + 1)
    square = width * width
    ki, km = uintp(int_at.size + 1), uintp(least_at.size)
    kf = uintp(float_at.size + (1 if float_at.size else 0))
    b_i, t_i = np.zeros(ki * square, dtype=np.int64), np.zeros(ki * square, dtype=np.int64)
    b_f, t_f = np.zeros(kf * square, dtype=np.float64), np.zeros(kf * square, dtype=np.float64)
    b_m, t_m = np.zeros(km * square, dtype=np.int64), np.zeros(km * square, dtype=np.int64)
    capacity = uintp(64)
    # First rows of suffix products, one for each live START of the older part, newest first.
    f_i = np.zeros(capacity * ki * width, dtype=np.int64)
    f_f = np.zeros(capacity * kf * width, dtype=np.float64)
    f_m = np.zeros(capacity * km * width, dtype=np.int64)
    f_op = np.zeros(capacity, dtype=np.int64)
    v_i = np.zeros(ki, dtype=np.int64)
    v_f = np.zeros(kf, dtype=np.float64)
    v_m = np.zeros(km, dtype=np.int64)
    start_code = 2 * (n - 1)
    last, before = uintp(n), uintp(n - 1)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _reset(b_i, b_f, b_m, width)
        front = uintp(0)
        oldest = begin  # the oldest START of the newer part, or something before it
        run_begin = done
        for i in range(begin, end + 1):
            while window >= 0:
                if front > 0:
                    start = f_op[front - one]
                else:
                    while oldest < i and codes[oldest] != start_code:
                        oldest += 1
                    start = oldest
                    if start == i:
                        break
                moment = ts[start]
                now = ts[i] if i < end else moment + window + (expiries > 0)
                if now - moment <= window:
                    break
                had = _live(f_i, front * ki * width, front, b_i, last * width, width)
                while front > 0 and ts[f_op[front - one]] == moment:
                    front -= one
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
                    # The newer part becomes the older one, from its first live START on.
                    lives = uintp(0)
                    for at in range(oldest, i):
                        if codes[at] == start_code:
                            lives += one
                    if capacity < lives:
                        capacity = lives + lives
                        f_i = np.zeros(capacity * ki * width, dtype=np.int64)
                        f_f = np.zeros(capacity * kf * width, dtype=np.float64)
                        f_m = np.zeros(capacity * km * width, dtype=np.int64)
                        f_op = np.zeros(capacity, dtype=np.int64)
                    # Rows one behind the other here, so that a row lies together.
                    _reset(t_i, t_f, t_m, width)
                    for at in range(i - 1, oldest - 1, -1):
                        code = codes[at]
                        if code & 1:
                            _clear(t_i, t_f, t_m, uintp(n - ((code + 1) >> 1)), width)
                            continue
                        p = uintp(n - (code >> 1))
                        to, come = (p - one) * width, p * width
                        event = rows[at]
                        for lane in range(one, ki):
                            shift = lane * square
                            for m in range(p, width):
                                t_i[shift + to + m] += t_i[shift + come + m]
                            if int_at[lane - one] == p:
                                wi = ints[lane - one, event]
                                for m in range(p, width):
                                    t_i[shift + to + m] += wi * t_i[come + m]
                        for m in range(p, width):
                            t_i[to + m] += t_i[come + m]
                        for lane in range(one, kf):
                            shift = lane * square
                            for m in range(p, width):
                                t_f[shift + to + m] += t_f[shift + come + m]
                            if float_at[lane - one] == p:
                                wf = floats[lane - one, event]
                                for m in range(p, width):
                                    # Infinity times no matches is nothing.
                                    if t_f[come + m] != 0.0:
                                        t_f[shift + to + m] += wf * t_f[come + m]
                        if kf > 0:
                            for m in range(p, width):
                                t_f[to + m] += t_f[come + m]
                        for lane in range(km):
                            shift = lane * square
                            w = leasts[lane, event] if least_at[lane] == p else NOTHING
                            for m in range(p, width):
                                known = t_m[shift + come + m]
                                longer = NOBODY if known == NOBODY else min(known, w)
                                t_m[shift + to + m] = min(t_m[shift + to + m], longer)
                        if code == start_code:
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
                if expiries == 2 or (
                    expiries == 1
                    and had != _live(f_i, front * ki * width, front, b_i, last * width, width)
                ):
                    _values(f_i, f_f, f_m, front, b_i, b_f, b_m, last, width, v_i, v_f, v_m)
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
            code = codes[i]
            event = rows[i]
            if code & 1:
                _clear(b_i, b_f, b_m, uintp(n - ((code + 1) >> 1)), width)
                continue
            if code == 0:
                new[done] = _live(f_i, front * ki * width, front, b_i, before * width, width)
                if only_new:
                    _values(f_i, f_f, f_m, front, b_i, b_f, b_m, before, width, v_i, v_f, v_m)
                    count[done] = v_i[0]
                    for lane in range(one, ki):
                        wi = ints[lane - one, event] if int_at[lane - one] == n else 0
                        out_ints[lane - one, done] = v_i[lane] + wi * v_i[0]
                    for lane in range(one, kf):
                        out_floats[lane - one, done] = v_f[lane]
                        if float_at[lane - one] == n and v_f[0] != 0.0:
                            out_floats[lane - one, done] += floats[lane - one, event] * v_f[0]
                    for lane in range(km):
                        w = leasts[lane, event] if least_at[lane] == n else NOTHING
                        if v_m[lane] != NOBODY:
                            out_leasts[lane, done] = min(w, v_m[lane])
            p = uintp(n - (code >> 1))
            to, come = p * width, (p - one) * width
            for lane in range(one, ki):
                shift = lane * square
                for j in range(p):
                    b_i[shift + to + j] += b_i[shift + come + j]
                if int_at[lane - one] == p:
                    wi = ints[lane - one, event]
                    for j in range(p):
                        b_i[shift + to + j] += wi * b_i[come + j]
            for j in range(p):
                b_i[to + j] += b_i[come + j]
            for lane in range(one, kf):
                shift = lane * square
                for j in range(p):
                    b_f[shift + to + j] += b_f[shift + come + j]
                if float_at[lane - one] == p:
                    wf = floats[lane - one, event]
                    for j in range(p):
                        if b_f[come + j] != 0.0:
                            b_f[shift + to + j] += wf * b_f[come + j]
            if kf > 0:
                for j in range(p):
                    b_f[to + j] += b_f[come + j]
            for lane in range(km):
                shift = lane * square
                w = leasts[lane, event] if least_at[lane] == p else NOTHING
                for j in range(p):
                    known = b_m[shift + come + j]
                    longer = NOBODY if known == NOBODY else min(known, w)
                    b_m[shift + to + j] = min(b_m[shift + to + j], longer)
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    _values(f_i, f_f, f_m, front, b_i, b_f, b_m, last, width, v_i, v_f, v_m)
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


@compiled
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


@compiled
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


@compiled
def _live(
    f: Wide, past: np.uintp, front: np.uintp, b: Wide, column: np.uintp, width: np.uintp
) -> int:
    """Return how many live prefixes there are of the length that a column of `b` is about.

    Args:
        f: The first rows of suffix products.
        past: Where the one after the oldest would begin.
        front: How many there are.
        b: The product of the newer part.
        column: Where its column begins.
        width: The size of a matrix.
    """
    if front == 0:
        return int(b[column])
    lanes = past // front
    total = 0
    for j in range(width):
        total += f[past - lanes + j] * b[column + j]
    return total


@compiled
def _values(
    f_i: Wide,
    f_f: Floats,
    f_m: Wide,
    front: np.uintp,
    b_i: Wide,
    b_f: Floats,
    b_m: Wide,
    length: np.uintp,
    width: np.uintp,
    v_i: Wide,
    v_f: Floats,
    v_m: Wide,
) -> None:
    """Write what the lanes hold of all live prefixes of a length."""
    square, column = width * width, length * width
    ki, kf, km = uintp(v_i.size), uintp(v_f.size), uintp(v_m.size)
    if front == 0:
        for lane in range(ki):
            v_i[lane] = b_i[lane * square + column]
        for lane in range(kf):
            v_f[lane] = b_f[lane * square + column]
        for lane in range(km):
            v_m[lane] = b_m[lane * square + column]
        return
    x = (front - uintp(1)) * ki * width
    for lane in range(ki):
        total = 0
        for j in range(width):
            total += f_i[x + lane * width + j] * b_i[column + j]
        if lane > 0:
            for j in range(width):
                total += f_i[x + j] * b_i[lane * square + column + j]
        v_i[lane] = total
    x = (front - uintp(1)) * kf * width
    for lane in range(kf):
        whole = 0.0
        for j in range(width):
            # Infinity times no matches is nothing.
            if b_f[column + j] != 0.0:
                whole += f_f[x + lane * width + j] * b_f[column + j]
        if lane > 0:
            for j in range(width):
                if f_f[x + j] != 0.0:
                    whole += f_f[x + j] * b_f[lane * square + column + j]
        v_f[lane] = whole
    x = (front - uintp(1)) * km * width
    for lane in range(km):
        least = NOBODY
        for j in range(width):
            known = f_m[x + lane * width + j]
            more = b_m[lane * square + column + j]
            if known != NOBODY and more != NOBODY:
                least = min(least, known, more)
        v_m[lane] = least
