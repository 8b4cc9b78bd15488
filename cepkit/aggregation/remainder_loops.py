"""Numbers of matches and integer lanes modulo a prime: whole numbers of any size, part by part.

Products of matrices on two stacks, as `stack_loops`, in a finite field instead of the integers. A
number is known when its remainders modulo enough primes are (`remainders`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

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
    prime: int,
    only_new: bool,
    expiries: bool,
    new: Wide,
    count: Wide,
    out_ints: Wide,
    e_op: Wide,
    e_count: Wide,
    e_ints: Wide,
) -> int:
    """Aggregate all keys; every moment at which a START expires is written.

    As `prefix_loops.run`; `ints` are remainders, and `prime` has at most 31 bits.
    """
    one, width = uintp(1), uintp(n + 1)
    square = width * width
    lanes = uintp(int_at.size + 1)
    b, t = np.zeros(lanes * square, dtype=np.int64), np.zeros(lanes * square, dtype=np.int64)
    capacity = uintp(64)
    f = np.zeros(capacity * lanes * width, dtype=np.int64)
    f_op = np.zeros(capacity, dtype=np.int64)
    v = np.zeros(lanes, dtype=np.int64)
    start_code = 2 * (n - 1)
    last, before = uintp(n), uintp(n - 1)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _reset(b, width)
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
                now = ts[i] if i < end else moment + window + expiries
                if now - moment <= window:
                    break
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
                    lives = uintp(0)
                    for at in range(oldest, i):
                        if codes[at] == start_code:
                            lives += one
                    if capacity < lives:
                        capacity = lives + lives
                        f = np.zeros(capacity * lanes * width, dtype=np.int64)
                        f_op = np.zeros(capacity, dtype=np.int64)
                    _reset(t, width)
                    for at in range(i - 1, oldest - 1, -1):
                        code = codes[at]
                        if code & 1:
                            _clear(t, uintp(n - ((code + 1) >> 1)), width)
                            continue
                        p = uintp(n - (code >> 1))
                        to, come = (p - one) * width, p * width
                        for lane in range(one, lanes):
                            shift = lane * square
                            w = ints[lane - one, rows[at]] if int_at[lane - one] == p else 0
                            for m in range(p, width):
                                more = t[shift + to + m] + t[shift + come + m] + w * t[come + m]
                                t[shift + to + m] = more % prime
                        for m in range(p, width):
                            t[to + m] = (t[to + m] + t[come + m]) % prime
                        if code == start_code:
                            f_op[front] = at
                            for lane in range(lanes):
                                for m in range(width):
                                    f[(front * lanes + lane) * width + m] = t[lane * square + m]
                            front += one
                    _reset(b, width)
                    oldest = i
                if expiries:
                    _values(f, front, b, last, width, prime, v)
                    e_op[written] = start
                    e_count[written] = v[0]
                    for lane in range(one, lanes):
                        e_ints[lane - one, written] = v[lane]
                    written += 1
            if i == end:
                break
            code = codes[i]
            if code & 1:
                _clear(b, uintp(n - ((code + 1) >> 1)), width)
                continue
            if code == 0:
                _values(f, front, b, before, width, prime, v)
                new[done] = v[0]
                if only_new:
                    count[done] = v[0]
                    for lane in range(one, lanes):
                        w = ints[lane - one, rows[i]] if int_at[lane - one] == n else 0
                        out_ints[lane - one, done] = (v[lane] + w * v[0]) % prime
            p = uintp(n - (code >> 1))
            to, come = p * width, (p - one) * width
            for lane in range(one, lanes):
                shift = lane * square
                w = ints[lane - one, rows[i]] if int_at[lane - one] == p else 0
                for j in range(p):
                    more = b[shift + to + j] + b[shift + come + j] + w * b[come + j]
                    b[shift + to + j] = more % prime
            for j in range(p):
                b[to + j] = (b[to + j] + b[come + j]) % prime
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    _values(f, front, b, last, width, prime, v)
                    for at in range(run_begin, done):
                        count[at] = v[0]
                        for lane in range(one, lanes):
                            out_ints[lane - one, at] = v[lane]
                run_begin = done
    return written


@compiled
def _reset(x: Wide, width: np.uintp) -> None:
    """Make identity matrices."""
    x[:] = 0
    for j in range(width):
        x[j * width + j] = 1


@compiled
def _clear(x: Wide, p: np.uintp, width: np.uintp) -> None:
    """End all prefixes of a length: the matrix of an absence."""
    square = width * width
    for lane in range(uintp(x.size) // square):
        for j in range(width):
            x[lane * square + p * width + j] = 0


@compiled
def _values(
    f: Wide, front: np.uintp, b: Wide, length: np.uintp, width: np.uintp, prime: int, v: Wide
) -> None:
    """Write what the lanes hold of all live prefixes of a length."""
    square, column = width * width, length * width
    lanes = uintp(v.size)
    if front == 0:
        for lane in range(lanes):
            v[lane] = b[lane * square + column]
        return
    x = (front - uintp(1)) * lanes * width
    for lane in range(lanes):
        total = 0
        for j in range(width):
            total = (total + f[x + lane * width + j] * b[column + j]) % prime
        if lane > 0:
            for j in range(width):
                total = (total + f[x + j] * b[lane * square + column + j]) % prime
        v[lane] = total
