"""Prefix counters: for each live START how many matches of each prefix begin with it.

An event at position m adds the counter of m - 1 to that of m, for every live START (SEM); expiry
drops a START's row. Without a window one row serves all (DPC). An event that must be absent after
position m sets the counters of m to nothing. Instead of numbers the rows may hold elements of any
aggregate. Cost: O(live STARTs) for an event, O(1) without a window.

Source: ASEQ, sections 3.1 to 3.3; its figure 5 tests expiry the wrong way round: a row is live
while its expiry lies ahead.
"""

from __future__ import annotations

from typing import Any

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


class PrefixCounters:
    """The counters of one key over elements of any function.

    Args:
        function: The aggregate.
        length: The positions of the sequence.
        window: As in `EventSequence`.
    """

    def __init__(self, function: Semiring, length: int, window: int | None) -> None:
        self._function = function
        self._length = length
        self._window = window
        self.rows: list[tuple[int, list[Element]]] = []

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires, None where none will."""
        if self._window is None or not self.rows:
            return None
        return self.rows[0][0] + self._window + 1

    def expire(self, now: int) -> None:
        """Drop the STARTs that are live no more at a time."""
        assert self._window is not None
        while self.rows and now - self.rows[0][0] > self._window:
            self.rows.pop(0)

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Take an event at a position."""
        f = self._function
        if position == 1:
            if self._window is not None or not self.rows:
                self.rows.append((ts, [f.one] + [f.zero] * self._length))
            row = self.rows[-1][1]
            row[1] = f.plus(row[1], element)
            return
        for _, row in self.rows:
            row[position] = f.plus(row[position], f.times(row[position - 1], element))

    def complete(self, ts: int, element: Element) -> Element:
        """Take an event at the last position; return the element of the matches it completes."""
        before = self._sum(self._length - 1) if self._length > 1 else self._function.one
        self.extend(self._length, ts, element)
        return self._function.times(before, element)

    def end(self, position: int, _: int, /) -> None:
        """Take an event that must be absent after a position."""
        for _, row in self.rows:
            row[position] = self._function.zero

    def live(self) -> Element:
        """Return the element of all live matches."""
        return self._sum(self._length)

    def _sum(self, position: int) -> Element:
        whole = self._function.zero
        for _, row in self.rows:
            whole = self._function.plus(whole, row[position])
        return whole


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
) -> tuple[int, int]:
    """Aggregate all keys; the contract of every compiled method.

    Args:
        ts: With codes, rows, starts, n and window (-1: none) the `Operations`.
        codes: See there.
        rows: See there.
        starts: See there.
        n: See there.
        window: See there.
        int_at: With the following five the `Lanes`.
        ints: See there.
        float_at: See there.
        floats: See there.
        least_at: See there.
        leasts: See there.
        only_new: Whether the output is about the matches that a trigger completes instead of the
            live ones.
        expiries: Whether the moments of expiry are written out too.
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
        How many moments of expiry were written, and the most STARTs alive at once in a key.
    """
    ki, kf, km = int_at.size, float_at.size, least_at.size
    capacity = 64
    born = np.empty(capacity, dtype=np.int64)
    c = np.zeros((n + 1, capacity), dtype=np.int64)
    s = np.zeros((ki, n + 1, capacity), dtype=np.int64)
    f = np.zeros((kf, n + 1, capacity), dtype=np.float64)
    m = np.full((km, n + 1, capacity), NOBODY, dtype=np.int64)
    done = 0
    written = 0
    peak = 0
    for key in range(starts.size - 1):
        lo = 0
        hi = 0
        run_begin = done
        begin, end = starts[key], starts[key + 1]
        for i in range(begin, end + 1):
            if window >= 0:
                while lo < hi and (
                    (i < end and ts[i] - ts[born[lo]] > window) or (i == end and expiries)
                ):
                    gone = c[n, lo]
                    while lo + 1 < hi and ts[born[lo + 1]] == ts[born[lo]]:
                        lo += 1
                        gone += c[n, lo]
                    lo += 1
                    if expiries and gone != 0:
                        e_op[written] = born[lo - 1]
                        for slot in range(lo, hi):
                            e_count[written] += c[n, slot]
                            for lane in range(ki):
                                e_ints[lane, written] += s[lane, n, slot]
                            for lane in range(kf):
                                e_floats[lane, written] += f[lane, n, slot]
                            for lane in range(km):
                                e_leasts[lane, written] = min(
                                    e_leasts[lane, written], m[lane, n, slot]
                                )
                        written += 1
            if i == end:
                break
            if codes[i] % 2:
                p = n - (codes[i] + 1) // 2
                c[p, lo:hi] = 0
                for lane in range(ki):
                    s[lane, p, lo:hi] = 0
                for lane in range(kf):
                    f[lane, p, lo:hi] = 0.0
                for lane in range(km):
                    m[lane, p, lo:hi] = NOBODY
                continue
            p = n - codes[i] // 2
            row = rows[i]
            if p == n:
                # What it completes, before its own counters grow.
                if n == 1:
                    new[done] = 1
                else:
                    before = c[n - 1, lo:hi]
                    total = 0
                    for slot in range(before.size):
                        total += before[slot]
                    new[done] = total
                if only_new:
                    count[done] = new[done]
                    for lane in range(ki):
                        w = ints[lane, row] if int_at[lane] == n else 0
                        out_ints[lane, done] = w * new[done]
                        if n > 1:
                            for slot in range(lo, hi):
                                out_ints[lane, done] += s[lane, n - 1, slot]
                    for lane in range(kf):
                        if float_at[lane] == n and new[done] != 0:
                            out_floats[lane, done] = floats[lane, row] * new[done]
                        if n > 1:
                            for slot in range(lo, hi):
                                out_floats[lane, done] += f[lane, n - 1, slot]
                    for lane in range(km):
                        w = leasts[lane, row] if least_at[lane] == n else NOTHING
                        if n == 1:
                            out_leasts[lane, done] = w
                        else:
                            for slot in range(lo, hi):
                                if m[lane, n - 1, slot] != NOBODY:
                                    out_leasts[lane, done] = min(
                                        out_leasts[lane, done], w, m[lane, n - 1, slot]
                                    )
            if p == 1:
                if window >= 0 or hi == 0:
                    if hi == capacity:
                        if lo > capacity // 2:
                            size = hi - lo
                            born[:size] = born[lo:hi].copy()
                            c[:, :size] = c[:, lo:hi].copy()
                            s[:, :, :size] = s[:, :, lo:hi].copy()
                            f[:, :, :size] = f[:, :, lo:hi].copy()
                            m[:, :, :size] = m[:, :, lo:hi].copy()
                            lo, hi = 0, size
                        else:
                            capacity *= 2
                            born = _grown(born, capacity)
                            c = _grown(c, capacity)
                            s = _grown(s, capacity)
                            f = _grown(f, capacity)
                            m = _grown(m, capacity)
                    born[hi] = i
                    c[:, hi] = 0
                    s[:, :, hi] = 0
                    f[:, :, hi] = 0.0
                    m[:, :, hi] = NOBODY
                    hi += 1
                    peak = max(peak, hi - lo)
                c[1, hi - 1] += 1
                for lane in range(ki):
                    if int_at[lane] == 1:
                        s[lane, 1, hi - 1] += ints[lane, row]
                for lane in range(kf):
                    if float_at[lane] == 1:
                        f[lane, 1, hi - 1] += floats[lane, row]
                for lane in range(km):
                    w = leasts[lane, row] if least_at[lane] == 1 else NOTHING
                    m[lane, 1, hi - 1] = min(m[lane, 1, hi - 1], w)
            else:
                short, long = c[p - 1, lo:hi], c[p, lo:hi]
                for lane in range(ki):
                    x, y = s[lane, p - 1, lo:hi], s[lane, p, lo:hi]
                    if int_at[lane] == p:
                        wi = ints[lane, row]
                        for slot in range(y.size):
                            y[slot] += wi * short[slot]
                    else:
                        for slot in range(y.size):
                            y[slot] += x[slot]
                for lane in range(kf):
                    fx, fy = f[lane, p - 1, lo:hi], f[lane, p, lo:hi]
                    if float_at[lane] == p:
                        wf = floats[lane, row]
                        for slot in range(fy.size):
                            # Infinity times no prefixes is nothing.
                            fy[slot] += wf * short[slot] if short[slot] != 0 else 0.0
                    else:
                        for slot in range(fy.size):
                            fy[slot] += fx[slot]
                for lane in range(km):
                    x, y = m[lane, p - 1, lo:hi], m[lane, p, lo:hi]
                    w = leasts[lane, row] if least_at[lane] == p else NOTHING
                    for slot in range(y.size):
                        y[slot] = min(y[slot], NOBODY if x[slot] == NOBODY else min(x[slot], w))
                for slot in range(long.size):
                    long[slot] += short[slot]
            if p == n:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    last = done - 1
                    for slot in range(lo, hi):
                        count[last] += c[n, slot]
                    for lane in range(ki):
                        for slot in range(lo, hi):
                            out_ints[lane, last] += s[lane, n, slot]
                    for lane in range(kf):
                        for slot in range(lo, hi):
                            out_floats[lane, last] += f[lane, n, slot]
                    for lane in range(km):
                        for slot in range(lo, hi):
                            out_leasts[lane, last] = min(out_leasts[lane, last], m[lane, n, slot])
                    for at in range(run_begin, last):
                        count[at] = count[last]
                        out_ints[:, at] = out_ints[:, last]
                        out_floats[:, at] = out_floats[:, last]
                        out_leasts[:, at] = out_leasts[:, last]
                run_begin = done
        run_begin = done
    return written, peak


@compiled
def _grown(old: npt.NDArray[Any], capacity: int) -> Any:
    """Return an array with more room in its last dimension."""
    new = np.zeros((*old.shape[:-1], capacity), dtype=old.dtype)
    new[..., : old.shape[-1]] = old
    return new
