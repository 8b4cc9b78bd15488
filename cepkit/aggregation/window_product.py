"""The window as a product of matrices: cost per event does not depend on how many STARTs live.

An event at position p is the matrix I + E(p-1, p) over prefix lengths, one that must be absent
after p the matrix I - E(p, p), and what all events of a window make of the empty match is the
first row of their product. A new event is a column operation, O(length). Expiry is done in one of
two ways. *Two stacks*: the older part of the window is kept as products of its suffixes, of which
only first rows are needed, the newer part as one product; when the older part is used up the newer
one becomes the older, so that each event is turned over once - for any aggregate. *Subtraction*:
I + E can be inverted, and an expiring event is a row operation - for whole numbers only, and
without absences. Floats must not be subtracted: the operations amplify rounding without bound.

Source: the matrices are ours; two stacks are a folklore queue, described for sliding windows by
K. Tangwongsan, M. Hirzel, S. Schneider: Low-Latency Sliding-Window Aggregation, DEBS 2017.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.functions import Element, Semiring
from cepkit.aggregation.loops import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NOBODY = np.iinfo(np.int64).max
NOTHING = NOBODY - 1
"""As in `lanes`; loops take constants from their own module."""


class WindowProduct:
    """Two stacks of one key over elements of any function.

    Args:
        function: The aggregate.
        length: The positions of the sequence.
        window: As in `EventSequence`.
    """

    def __init__(self, function: Semiring, length: int, window: int | None) -> None:
        self._f = function
        self._n = length
        self._window = window
        # (time, first row of the product from this START to the end of the older part)
        self._front: list[tuple[int, list[Element]]] = []
        # (time, position or -position for an absence, element), and their product
        self._back: list[tuple[int, int, Element]] = []
        self._product = self._identity()

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires, None where none will."""
        if self._window is None:
            return None
        if self._front:
            return self._front[-1][0] + self._window + 1
        return next((ts + self._window + 1 for ts, p, _ in self._back if p == 1), None)

    def expire(self, now: int) -> None:
        """Drop the STARTs that are live no more at a time."""
        assert self._window is not None
        oldest = now - self._window
        while self._front and self._front[-1][0] < oldest:
            self._front.pop()
        if self._front or not any(ts < oldest and p == 1 for ts, p, _ in self._back):
            return
        rows = self._identity()
        for ts, p, element in reversed(self._back):
            if ts < oldest:
                break
            if p < 0:
                rows[-p] = [self._f.zero] * (self._n + 1)
                continue
            rows[p - 1] = [
                self._f.plus(x, self._f.times(element, y))
                for x, y in zip(rows[p - 1], rows[p], strict=True)
            ]
            if p == 1:
                self._front.append((ts, rows[0]))
        self._back = []
        self._product = self._identity()

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Take an event at a position."""
        self._back.append((ts, position, element))
        for row in self._product:
            longer = self._f.times(row[position - 1], element)
            row[position] = self._f.plus(row[position], longer)

    def complete(self, ts: int, element: Element) -> Element:
        """Take an event at the last position; return the element of the matches it completes."""
        before = self._prefixes(self._n - 1)
        self.extend(self._n, ts, element)
        return self._f.times(before, element)

    def end(self, position: int, ts: int) -> None:
        """Take an event that must be absent after a position."""
        self._back.append((ts, -position, self._f.zero))
        for row in self._product:
            row[position] = self._f.zero

    def live(self) -> Element:
        """Return the element of all live matches."""
        return self._prefixes(self._n)

    def _prefixes(self, length: int) -> Element:
        """Return the element of all live prefixes of a length."""
        if not self._front:
            return self._product[0][length]
        whole = self._f.zero
        for x, row in zip(self._front[-1][1], self._product, strict=True):
            whole = self._f.plus(whole, self._f.times(x, row[length]))
        return whole

    def _identity(self) -> list[list[Element]]:
        size = range(self._n + 1)
        return [[self._f.one if i == j else self._f.zero for j in size] for i in size]


@compiled
def run_by_subtraction(
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

    As `prefix_counters.run`; returns how many moments of expiry were written.
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


@compiled
def run_by_stacks(
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
    """Aggregate all keys with any lanes and absences.

    As `prefix_counters.run`; returns how many moments of expiry were written. Lanes of the matrices
    are rows of two arrays: integers (the number of matches, then the integer lanes) and floats
    (the number again, since integers may wrap around in between, then the float lanes), and least
    lanes. Matrices are [lane, column, row], so that a column lies together.
    """
    ki, kf, km = int_at.size + 1, float_at.size + (float_at.size > 0), least_at.size
    b_i = np.zeros((ki, n + 1, n + 1), dtype=np.int64)
    b_f = np.zeros((kf, n + 1, n + 1), dtype=np.float64)
    b_m = np.full((km, n + 1, n + 1), NOBODY, dtype=np.int64)
    t_i = b_i.copy()
    t_f = b_f.copy()
    t_m = b_m.copy()
    capacity = 64
    # First rows of suffix products, one for each live START of the older part, newest first.
    f_i = np.zeros((capacity, ki, n + 1), dtype=np.int64)
    f_f = np.zeros((capacity, kf, n + 1), dtype=np.float64)
    f_m = np.zeros((capacity, km, n + 1), dtype=np.int64)
    f_op = np.zeros(capacity, dtype=np.int64)
    v_i = np.zeros(ki, dtype=np.int64)
    v_f = np.zeros(kf, dtype=np.float64)
    v_m = np.zeros(km, dtype=np.int64)
    start_code = 2 * (n - 1)
    done = 0
    written = 0
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _reset(b_i, b_f, b_m)
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
                if i < end and ts[i] - ts[start] <= window:
                    break
                if i == end and not expiries:
                    break
                moment = ts[start]
                had = np.int64(0)
                if expiries:
                    _value(f_i, f_f, f_m, front, b_i, b_f, b_m, n, v_i, v_f, v_m)
                    had = v_i[0]
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
                    # The newer part becomes the older one, from its first live START on.
                    lives = 0
                    for at in range(oldest, i):
                        lives += codes[at] == start_code
                    if capacity < lives:
                        while capacity < lives:
                            capacity *= 2
                        f_i = np.zeros((capacity, ki, n + 1), dtype=np.int64)
                        f_f = np.zeros((capacity, kf, n + 1), dtype=np.float64)
                        f_m = np.zeros((capacity, km, n + 1), dtype=np.int64)
                        f_op = np.zeros(capacity, dtype=np.int64)
                    _reset(t_i, t_f, t_m)
                    for at in range(i - 1, oldest - 1, -1):
                        _prepend(
                            t_i, t_f, t_m, codes[at], rows[at], n,
                            int_at, ints, float_at, floats, least_at, leasts,
                        )  # fmt: skip
                        if codes[at] == start_code:
                            f_op[front] = at
                            f_i[front] = t_i[:, :, 0]
                            f_f[front] = t_f[:, :, 0]
                            f_m[front] = t_m[:, :, 0]
                            front += 1
                    _reset(b_i, b_f, b_m)
                    oldest = i
                if expiries:
                    _value(f_i, f_f, f_m, front, b_i, b_f, b_m, n, v_i, v_f, v_m)
                    if v_i[0] != had:
                        e_op[written] = start
                        e_count[written] = v_i[0]
                        for lane in range(1, ki):
                            e_ints[lane - 1, written] = v_i[lane]
                        for lane in range(1, kf):
                            e_floats[lane - 1, written] = v_f[lane]
                        for lane in range(km):
                            e_leasts[lane, written] = v_m[lane]
                        written += 1
            if i == end:
                break
            code = codes[i]
            row = rows[i]
            if code == 0:
                _value(f_i, f_f, f_m, front, b_i, b_f, b_m, n - 1, v_i, v_f, v_m)
                new[done] = v_i[0]
                if only_new:
                    count[done] = v_i[0]
                    for lane in range(1, ki):
                        w = ints[lane - 1, row] if int_at[lane - 1] == n else 0
                        out_ints[lane - 1, done] = v_i[lane] + w * v_i[0]
                    for lane in range(1, kf):
                        out_floats[lane - 1, done] = v_f[lane]
                        if float_at[lane - 1] == n and v_f[0] != 0.0:
                            out_floats[lane - 1, done] += floats[lane - 1, row] * v_f[0]
                    for lane in range(km):
                        w = leasts[lane, row] if least_at[lane] == n else NOTHING
                        if v_m[lane] != NOBODY:
                            out_leasts[lane, done] = min(w, v_m[lane])
            _append(b_i, b_f, b_m, code, row, n, int_at, ints, float_at, floats, least_at, leasts)
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    _value(f_i, f_f, f_m, front, b_i, b_f, b_m, n, v_i, v_f, v_m)
                    for at in range(run_begin, done):
                        count[at] = v_i[0]
                        for lane in range(1, ki):
                            out_ints[lane - 1, at] = v_i[lane]
                        for lane in range(1, kf):
                            out_floats[lane - 1, at] = v_f[lane]
                        for lane in range(km):
                            out_leasts[lane, at] = v_m[lane]
                run_begin = done
    return written


@compiled
def _reset(x_i: Wide, x_f: Floats, x_m: Wide) -> None:
    """Make identity matrices."""
    x_i[:] = 0
    x_f[:] = 0.0
    x_m[:] = NOBODY
    for j in range(x_i.shape[1]):
        x_i[0, j, j] = 1
        if x_f.shape[0]:
            x_f[0, j, j] = 1.0
        for lane in range(x_m.shape[0]):
            x_m[lane, j, j] = NOTHING


@compiled
def _append(
    x_i: Wide,
    x_f: Floats,
    x_m: Wide,
    code: int,
    row: int,
    n: int,
    int_at: Ints,
    ints: Wide,
    float_at: Ints,
    floats: Floats,
    least_at: Ints,
    leasts: Wide,
) -> None:
    """Multiply by the matrix of an event from the right."""
    if code % 2:
        p = n - (code + 1) // 2
        x_i[:, p] = 0
        x_f[:, p] = 0.0
        x_m[:, p] = NOBODY
        return
    p = n - code // 2
    for lane in range(1, x_i.shape[0]):
        if int_at[lane - 1] == p:
            wi = ints[lane - 1, row]
            for j in range(p):
                x_i[lane, p, j] += x_i[lane, p - 1, j] + wi * x_i[0, p - 1, j]
        else:
            for j in range(p):
                x_i[lane, p, j] += x_i[lane, p - 1, j]
    for j in range(p):
        x_i[0, p, j] += x_i[0, p - 1, j]
    for lane in range(1, x_f.shape[0]):
        if float_at[lane - 1] == p:
            wf = floats[lane - 1, row]
            for j in range(p):
                if x_f[0, p - 1, j] != 0.0:
                    x_f[lane, p, j] += x_f[lane, p - 1, j] + wf * x_f[0, p - 1, j]
        else:
            for j in range(p):
                x_f[lane, p, j] += x_f[lane, p - 1, j]
    if x_f.shape[0]:
        for j in range(p):
            x_f[0, p, j] += x_f[0, p - 1, j]
    for lane in range(x_m.shape[0]):
        w = leasts[lane, row] if least_at[lane] == p else NOTHING
        for j in range(p):
            if x_m[lane, p - 1, j] != NOBODY:
                x_m[lane, p, j] = min(x_m[lane, p, j], x_m[lane, p - 1, j], w)


@compiled
def _prepend(
    x_i: Wide,
    x_f: Floats,
    x_m: Wide,
    code: int,
    row: int,
    n: int,
    int_at: Ints,
    ints: Wide,
    float_at: Ints,
    floats: Floats,
    least_at: Ints,
    leasts: Wide,
) -> None:
    """Multiply by the matrix of an event from the left."""
    if code % 2:
        p = n - (code + 1) // 2
        x_i[:, :, p] = 0
        x_f[:, :, p] = 0.0
        x_m[:, :, p] = NOBODY
        return
    p = n - code // 2
    for lane in range(1, x_i.shape[0]):
        wi = ints[lane - 1, row] if int_at[lane - 1] == p else 0
        for m in range(p, n + 1):
            x_i[lane, m, p - 1] += x_i[lane, m, p] + wi * x_i[0, m, p]
    for m in range(p, n + 1):
        x_i[0, m, p - 1] += x_i[0, m, p]
    for lane in range(1, x_f.shape[0]):
        wf = floats[lane - 1, row] if float_at[lane - 1] == p else 0.0
        for m in range(p, n + 1):
            if x_f[0, m, p] != 0.0:
                x_f[lane, m, p - 1] += x_f[lane, m, p] + wf * x_f[0, m, p]
    if x_f.shape[0]:
        for m in range(p, n + 1):
            x_f[0, m, p - 1] += x_f[0, m, p]
    for lane in range(x_m.shape[0]):
        w = leasts[lane, row] if least_at[lane] == p else NOTHING
        for m in range(p, n + 1):
            if x_m[lane, m, p] != NOBODY:
                x_m[lane, m, p - 1] = min(x_m[lane, m, p - 1], x_m[lane, m, p], w)


@compiled
def _value(
    f_i: Wide,
    f_f: Floats,
    f_m: Wide,
    front: int,
    b_i: Wide,
    b_f: Floats,
    b_m: Wide,
    length: int,
    v_i: Wide,
    v_f: Floats,
    v_m: Wide,
) -> None:
    """Write what the lanes hold of all live prefixes of a length."""
    if front == 0:
        for lane in range(v_i.size):
            v_i[lane] = b_i[lane, length, 0]
        for lane in range(v_f.size):
            v_f[lane] = b_f[lane, length, 0]
        for lane in range(v_m.size):
            v_m[lane] = b_m[lane, length, 0]
        return
    x = front - 1
    v_i[:] = 0
    v_f[:] = 0.0
    v_m[:] = NOBODY
    for j in range(length + 1):
        v_i[0] += f_i[x, 0, j] * b_i[0, length, j]
    for lane in range(1, v_i.size):
        for j in range(length + 1):
            v_i[lane] += f_i[x, lane, j] * b_i[0, length, j] + f_i[x, 0, j] * b_i[lane, length, j]
    for lane in range(1, v_f.size):
        for j in range(length + 1):
            # Infinity times no matches is nothing.
            if b_f[0, length, j] != 0.0 and f_f[x, 0, j] != 0.0:
                v_f[lane] += f_f[x, lane, j] * b_f[0, length, j]
                v_f[lane] += f_f[x, 0, j] * b_f[lane, length, j]
    if v_f.size:
        for j in range(length + 1):
            v_f[0] += f_f[x, 0, j] * b_f[0, length, j]
    for lane in range(v_m.size):
        for j in range(length + 1):
            if f_m[x, lane, j] != NOBODY and b_m[lane, length, j] != NOBODY:
                v_m[lane] = min(v_m[lane], f_m[x, lane, j], b_m[lane, length, j])
