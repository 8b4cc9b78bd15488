"""Lanes of a window as a product of matrices: the cost of an event is independent of live STARTs.

An event at position p is the matrix I + E(p-1, p) over prefix lengths; an event that must be absent
after p is the matrix I - E(p, p); one of KL adds E(p, p): it joins a set that has begun, or does
not. The first row of the product of all events of a window counts the
prefixes that grow from the empty match. A new event is a column operation, O(length). Expiry works
in one of two ways. *Two stacks*: the older part of the window is stored as products of its suffixes
(only their first rows are needed), the newer part as one product; when the older part is used up,
the newer one becomes the older, so that each event is turned over once. This works for any
aggregate. *Subtraction* (`subtraction.py`): I + E is invertible, so an expiring event is a row
operation - only for integers, and without absences and KL. Floats must not be subtracted: the
operations amplify rounding errors without bound.

Lanes are concatenated in three arrays: integers (the number of matches, then the integer lanes),
floats (the number again, because integers may wrap around in between, then the float lanes), and
least lanes. Given a prime, integers are counted modulo it: remainders modulo enough primes
determine integers of any size (`remainders`).

Source: the matrices are ours; two stacks are a folklore queue, described for sliding windows by
K. Tangwongsan, M. Hirzel, S. Schneider: Low-Latency Sliding-Window Aggregation, DEBS 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uintp

from cepkit.aggregation.kernels.records import (
    NOBODY,
    NOTHING,
    Ints,
    KeySteps,
    LaneArrays,
    LaneNumbers,
    Loops,
    Output,
    Tracks,
    Wide,
)
from cepkit.compiling import called, compiled_beyond, lent


class Front(NamedTuple):
    """The older part: first rows of suffix products, one for each live START, the newest first.

    Attributes:
        rows: A row of numbers for each START.
        op: int64[STARTs], the operation of each.
    """

    rows: LaneNumbers
    op: Wide


@compiled_beyond(20_000)
def run(steps: KeySteps, most: int, carried: LaneArrays, prime: int, to: Output) -> int:
    """Aggregate all keys with any lanes and absences.

    Args:
        steps: The operations, by key.
        most: The most STARTs of a key that are live at once.
        prime: The modulus of integers, at most 31 bits; 0 for none.

    Returns:
        The number of expiry moments written.
    """
    ts, codes, rows, starts, n, window, loops = steps
    only_new, expiries, new, tracks, e_op, left = to
    one, width = uintp(1), uintp(n + 1)
    ki, km = uintp(carried.int_at.size + 1), uintp(carried.least_at.size)
    kf = uintp(carried.float_at.size + (1 if carried.float_at.size else 0))
    # b of the newer part, (m, j) in row m: from prefixes of length j to length m.
    b, t = _lanes(ki, kf, km, width * width), _lanes(ki, kf, km, width * width)
    older = Front(_lanes(ki, kf, km, uintp(most) * width), np.zeros(uintp(most), dtype=np.int64))
    op = older.op
    h = _lanes(ki, kf, km, width)  # the current row
    v, more = _lanes(ki, kf, km, one), _lanes(ki, kf, km, one)
    start_code = 2 * (n - 1)
    last = uintp(n) * width
    # 64 bits from the start: a plain 0 has another type, for which functions would compile again.
    done: Any = np.int64(0)
    written: Any = np.int64(0)
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _reset(b, width)
        _take(older.rows, uintp(0), h, width)
        front, lives = uintp(0), uintp(0)  # live STARTs of the older and of the newer part
        oldest = begin  # the oldest START of the newer part, or an earlier operation
        run_begin = done
        for i in range(begin, end + 1 if expiries else end):
            code = codes[i] if i < end else 0
            # Without rows for expiries, expire only at triggers.
            while window >= 0 and (code == 0 or expiries) and front + lives > 0:
                if front > 0:
                    start = op[front - one]
                else:
                    while codes[oldest] != start_code:
                        oldest += 1
                    start = oldest
                now = ts[i] if i < end and not expiries else ts[start] + window + 1
                if (i < end and now > ts[i]) or now - ts[start] <= window:
                    break
                had = _number(h.ints, b.ints, last, width, prime) if expiries == 1 else 0
                while front > 0 and now - ts[op[front - one]] > window:
                    front -= one
                    start = op[front]
                if front == 0:
                    while oldest < i and now - ts[oldest] > window:
                        if codes[oldest] == start_code:
                            start = oldest
                        oldest += 1
                    front = _turn(codes, rows, oldest, i, n, loops, carried, prime, t, older)
                    _reset(b, width)
                    oldest = i
                    lives = uintp(0)
                _take(older.rows, front, h, width)
                if expiries:
                    _values_apart(h, b, last, width, prime, v)
                if expiries == 2 or (expiries == 1 and had != v.ints[0]):
                    e_op[written] = start
                    _write(left, written, v)
                    written += 1
            if i == end:
                break
            p = uintp(n - ((code + 1) >> 1))
            if code & 1:
                if loops[p] == 2:  # a further member continues these sets
                    ended = (p - one) * width
                    _extend_apart(b, ended, p * width, uintp(0), rows[i], width, carried, prime)
                _clear(b, p, width)
                continue
            if code == 0:
                before = last - width
                new[done] = _number(h.ints, b.ints, before, width, prime)
                if only_new:
                    _values_apart(h, b, before, width, prime, v)
                    if loops[n]:
                        _values_apart(h, b, last, width, prime, more)
                        _join(v, more, prime)
                    _complete(tracks, done, v, n, rows[i], carried, prime)
                if loops[n]:
                    new[done] += _number(h.ints, b.ints, last, width, prime)
                    if prime:
                        new[done] %= prime
            # Sets that have begun come first: they must not take the event twice.
            if loops[p] > 0:
                _extend_apart(b, p * width, p * width, p, rows[i], width, carried, prime)
            if loops[p] == 2:
                come = (p - uintp(2)) * width
                _extend_apart(b, p * width, come, p, rows[i], width, carried, prime)
            _extend(b, p * width, (p - one) * width, p, rows[i], width, carried, prime)
            lives += uintp(code == start_code)
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    _values(h, b, last, width, prime, v)
                    for at in range(run_begin, done):
                        _write(tracks, at, v)
                run_begin = done
    return int(written)


@compiled_beyond(20_000)
def _lanes(ki: np.uintp, kf: np.uintp, km: np.uintp, size: np.uintp) -> LaneNumbers:
    return LaneNumbers(
        np.zeros(ki * size, dtype=np.int64),
        np.zeros(kf * size, dtype=np.float64),
        np.zeros(km * size, dtype=np.int64),
    )


@called
def _turn(
    codes: Ints, rows: Ints, begin: int, end: int, n: int, loops: Loops, carried: LaneArrays,
    prime: int, t: LaneNumbers, older: Front,
) -> np.uintp:  # fmt: skip
    """Make the newer part the older one; return the number of its STARTs.

    Args:
        codes: Those of all operations.
        rows: Their events.
        begin: The first operation of the newer part that counts.
        end: The one after the last.
        n: The positions of the sequence.
        loops: As in `KeySteps`.
        prime: As of `run`.
        t: A scratch matrix, here (j, m) in row j.
        older: The older part.
    """
    width, front = uintp(n + 1), uintp(0)
    square = width * width
    _reset(t, width)
    for at in range(end - 1, begin - 1, -1):
        code = codes[at]
        p = uintp(n - ((code + 1) >> 1))
        if code & 1:
            _clear(t, p, width)
            if loops[p] == 2:
                before = (p - uintp(1)) * width
                _extend_apart(t, p * width, before, uintp(0), rows[at], width, carried, prime)
            continue
        _extend(t, (p - uintp(1)) * width, p * width, p, rows[at], width, carried, prime)
        if loops[p] == 2:
            to = (p - uintp(2)) * width
            _extend_apart(t, to, p * width, p, rows[at], width, carried, prime)
        if loops[p] > 0:
            _extend_apart(t, p * width, p * width, p, rows[at], width, carried, prime)
        if code == 2 * (n - 1):
            older.op[front] = at
            _first(t.ints, older.rows.ints, front, width, square)
            _first(t.floats, older.rows.floats, front, width, square)
            _first(t.leasts, older.rows.leasts, front, width, square)
            front += uintp(1)
    return front


@lent
def _first(t: Any, rows: Any, front: np.uintp, width: np.uintp, square: np.uintp) -> None:
    """Copy the first row of each lane of a matrix."""
    lanes = uintp(t.size) // square
    for lane in range(lanes):
        for m in range(width):
            rows[(front * lanes + lane) * width + m] = t[lane * square + m]


@lent
def _write(to: Tracks, at: int, v: LaneNumbers) -> None:
    """Write the lanes."""
    to.counts[at] = v.ints[0]
    for lane in range(to.ints.shape[0]):
        to.ints[lane, at] = v.ints[lane + 1]
    for lane in range(to.floats.shape[0]):
        to.floats[lane, at] = v.floats[lane + 1]
    for lane in range(to.leasts.shape[0]):
        to.leasts[lane, at] = v.leasts[lane]


@lent
def _join(v: LaneNumbers, more: LaneNumbers, prime: int) -> None:
    """Add the lanes of further matches."""
    for lane in range(v.ints.size):
        v.ints[lane] += more.ints[lane]
        if prime and v.ints[lane] >= prime:
            v.ints[lane] -= prime
    for lane in range(v.floats.size):
        v.floats[lane] += more.floats[lane]
    for lane in range(v.leasts.size):
        v.leasts[lane] = min(v.leasts[lane], more.leasts[lane])


@called
def _complete(
    to: Tracks, at: int, v: LaneNumbers, n: int, event: int, carried: LaneArrays, prime: int
) -> None:
    """Write the lanes of the matches that an event completes, given those of their prefixes."""
    to.counts[at] = v.ints[0]
    for lane in range(to.ints.shape[0]):
        wi = carried.ints[lane, event] if carried.int_at[lane] == n else 0
        whole = v.ints[lane + 1] + wi * v.ints[0]
        to.ints[lane, at] = whole % prime if prime else whole
    for lane in range(to.floats.shape[0]):
        to.floats[lane, at] = v.floats[lane + 1]
        if carried.float_at[lane] == n and v.floats[0] != 0.0:
            to.floats[lane, at] += carried.floats[lane, event] * v.floats[0]
    for lane in range(to.leasts.shape[0]):
        w = carried.leasts[lane, event] if carried.least_at[lane] == n else NOTHING
        if v.leasts[lane] != NOBODY:
            to.leasts[lane, at] = min(w, v.leasts[lane])


@lent
def _extend(
    x: LaneNumbers, to: np.uintp, come: np.uintp, p: np.uintp, event: int, width: np.uintp,
    carried: LaneArrays, prime: int,
) -> None:  # fmt: skip
    """Add one row of the matrices to another, with the values of an event at position `p`."""
    x_i, x_f, x_m = x
    int_at, ints, float_at, floats, least_at, leasts = carried
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


@called
def _extend_apart(
    x: LaneNumbers, to: np.uintp, come: np.uintp, p: np.uintp, event: int, width: np.uintp,
    carried: LaneArrays, prime: int,
) -> None:  # fmt: skip
    """Do the same, not inlined: for sets alone, which would slow all others down."""
    _extend(x, to, come, p, event, width, carried, prime)


@called
def _reset(x: LaneNumbers, width: np.uintp) -> None:
    """Make identity matrices."""
    square = width * width
    for lane in range(uintp(x.ints.size) // square):
        _diagonal(x.ints, lane * square, width, 0, 1 if lane == 0 else 0)
    for lane in range(uintp(x.floats.size) // square):
        _diagonal(x.floats, lane * square, width, 0.0, 1.0 if lane == 0 else 0.0)
    for lane in range(uintp(x.leasts.size) // square):
        _diagonal(x.leasts, lane * square, width, NOBODY, NOTHING)


@lent
def _diagonal(x: Any, begin: np.uintp, width: np.uintp, beside: Any, on: Any) -> None:
    for at in range(width * width):
        x[begin + at] = beside
    for j in range(width):
        x[begin + j * width + j] = on


@lent
def _clear(x: LaneNumbers, p: np.uintp, width: np.uintp) -> None:
    """End all prefixes of a length: the matrix of an absence."""
    square = width * width
    for lane in range(uintp(x.ints.size) // square):
        for j in range(width):
            x.ints[lane * square + p * width + j] = 0
    for lane in range(uintp(x.floats.size) // square):
        for j in range(width):
            x.floats[lane * square + p * width + j] = 0.0
    for lane in range(uintp(x.leasts.size) // square):
        for j in range(width):
            x.leasts[lane * square + p * width + j] = NOBODY


@lent
def _take(rows: LaneNumbers, front: np.uintp, h: LaneNumbers, width: np.uintp) -> None:
    """Copy the row of the oldest live START of the older part; without one, of the empty match."""
    x_i, x_f, x_m = uintp(h.ints.size), uintp(h.floats.size), uintp(h.leasts.size)
    if front > 0:
        for m in range(x_i):
            h.ints[m] = rows.ints[(front - uintp(1)) * x_i + m]
        for m in range(x_f):
            h.floats[m] = rows.floats[(front - uintp(1)) * x_f + m]
        for m in range(x_m):
            h.leasts[m] = rows.leasts[(front - uintp(1)) * x_m + m]
        return
    for m in range(x_i):
        h.ints[m] = m == 0
    for m in range(x_f):
        h.floats[m] = m == 0
    for m in range(x_m):
        h.leasts[m] = NOTHING if m % width == 0 else NOBODY


@lent
def _ways(h: Wide, at: np.uintp, b: Wide, row: np.uintp, width: np.uintp, prime: int) -> int:
    """Return the product of a lane of `h`, which begins at `at`, and a row of `b`."""
    total = 0
    if prime:
        # Not a plain sum: LLVM would vectorise it, which takes seconds to compile.
        for j in range(width):
            total += h[at + j] * b[row + j] % prime
            if total >= prime:
                total -= prime
        return total
    for j in range(width):
        total += h[at + j] * b[row + j]
    return total


@lent
def _number(h: Wide, b: Wide, row: np.uintp, width: np.uintp, prime: int) -> int:
    """Return the number of live prefixes of the length of a row of `b`."""
    return _ways(h, uintp(0), b, row, width, prime)


@lent
def _values(
    h: LaneNumbers, b: LaneNumbers, row: np.uintp, width: np.uintp, prime: int, v: LaneNumbers
) -> None:
    """Write the lanes of all live prefixes of a length."""
    (h_i, h_f, h_m), (b_i, b_f, b_m), (v_i, v_f, v_m) = h, b, v
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


@called
def _values_apart(
    h: LaneNumbers, b: LaneNumbers, row: np.uintp, width: np.uintp, prime: int, v: LaneNumbers
) -> None:
    """Write the same, not inlined: for rare calls, because the code is long."""
    _values(h, b, row, width, prime, v)
