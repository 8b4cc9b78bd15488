"""Prefix counters of lanes: a row of each lane for each live START (`prefix_counters`)."""

from __future__ import annotations

from typing import Any

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
    """Aggregate all keys; the contract of all compiled methods.

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
        How many moments of expiry were written.
    """
    one = uintp(1)
    ki, kf, km = uintp(int_at.size), uintp(float_at.size), uintp(least_at.size)
    last, before = uintp(n), uintp(n - 1)
    capacity = uintp(64)
    born = np.empty(capacity, dtype=np.int64)
    # Of each lane the rows of each length, one place for each live START.
    c = np.zeros((n + 1, capacity), dtype=np.int64)
    s = np.zeros((ki, n + 1, capacity), dtype=np.int64)
    f = np.zeros((kf, n + 1, capacity), dtype=np.float64)
    m = np.full((km, n + 1, capacity), NOBODY, dtype=np.int64)
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
                        _sum(c, s, f, m, lo, hi, last, written, e_count, e_ints, e_floats, e_leasts)
                        written += 1
            if i == end:
                break
            code = codes[i]
            if code & 1:
                p = uintp(n - ((code + 1) >> 1))
                for at in range(lo, hi):
                    c[p, at] = 0
                for lane in range(ki):
                    for at in range(lo, hi):
                        s[lane, p, at] = 0
                for lane in range(kf):
                    for at in range(lo, hi):
                        f[lane, p, at] = 0.0
                for lane in range(km):
                    for at in range(lo, hi):
                        m[lane, p, at] = NOBODY
                continue
            p = uintp(n - (code >> 1))
            q = p - one
            row = rows[i]
            if code == 0:
                # What it completes, before its own counters grow.
                total = 0
                if n == 1:
                    total = 1
                else:
                    for at in range(lo, hi):
                        total += c[before, at]
                new[done] = total
                if only_new:
                    if n > 1:
                        _sum(
                            c, s, f, m, lo, hi, before, done, count, out_ints, out_floats,
                            out_leasts,
                        )  # fmt: skip
                    count[done] = total
                    for lane in range(ki):
                        if int_at[lane] == n:
                            out_ints[lane, done] = ints[lane, row] * total
                    for lane in range(kf):
                        if float_at[lane] == n and total != 0:
                            out_floats[lane, done] = floats[lane, row] * total
                    for lane in range(km):
                        w = leasts[lane, row] if least_at[lane] == n else NOTHING
                        if n == 1 or out_leasts[lane, done] != NOBODY:
                            out_leasts[lane, done] = min(out_leasts[lane, done], w)
            if code == 2 * (n - 1):
                if window >= 0 or hi == 0:
                    if hi == capacity:
                        size = hi - lo
                        if lo <= capacity >> one:
                            capacity *= uintp(2)
                        born = _moved(born, lo, hi, capacity)
                        c = _moved(c, lo, hi, capacity)
                        s = _moved(s, lo, hi, capacity)
                        f = _moved(f, lo, hi, capacity)
                        m = _moved(m, lo, hi, capacity)
                        lo, hi = uintp(0), size
                    born[hi] = i
                    for r in range(one, last + one):
                        c[r, hi] = 0
                        for lane in range(ki):
                            s[lane, r, hi] = 0
                        for lane in range(kf):
                            f[lane, r, hi] = 0.0
                        for lane in range(km):
                            m[lane, r, hi] = NOBODY
                    hi += one
                top = hi - one
                c[one, top] += 1
                for lane in range(ki):
                    if int_at[lane] == 1:
                        s[lane, one, top] += ints[lane, row]
                for lane in range(kf):
                    if float_at[lane] == 1:
                        f[lane, one, top] += floats[lane, row]
                for lane in range(km):
                    w = leasts[lane, row] if least_at[lane] == 1 else NOTHING
                    m[lane, one, top] = min(m[lane, one, top], w)
            else:
                for lane in range(ki):
                    if int_at[lane] == p:
                        wi = ints[lane, row]
                        for at in range(lo, hi):
                            s[lane, p, at] += wi * c[q, at]
                    else:
                        for at in range(lo, hi):
                            s[lane, p, at] += s[lane, q, at]
                for lane in range(kf):
                    if float_at[lane] == p:
                        wf = floats[lane, row]
                        for at in range(lo, hi):
                            # Infinity times no prefixes is nothing.
                            f[lane, p, at] += wf * c[q, at] if c[q, at] != 0 else 0.0
                    else:
                        for at in range(lo, hi):
                            f[lane, p, at] += f[lane, q, at]
                for lane in range(km):
                    w = leasts[lane, row] if least_at[lane] == p else NOTHING
                    for at in range(lo, hi):
                        known = m[lane, q, at]
                        longer = NOBODY if known == NOBODY else min(known, w)
                        m[lane, p, at] = min(m[lane, p, at], longer)
                for at in range(lo, hi):
                    c[p, at] += c[q, at]
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    top = uintp(done - 1)
                    _sum(
                        c, s, f, m, lo, hi, last, done - 1, count, out_ints, out_floats, out_leasts
                    )
                    for at in range(uintp(run_begin), top):
                        count[at] = count[top]
                        for lane in range(ki):
                            out_ints[lane, at] = out_ints[lane, top]
                        for lane in range(kf):
                            out_floats[lane, at] = out_floats[lane, top]
                        for lane in range(km):
                            out_leasts[lane, at] = out_leasts[lane, top]
                run_begin = done
    return written


@compiled
def _sum(
    c: Wide,
    s: Wide,
    f: Floats,
    m: Wide,
    lo: np.uintp,
    hi: np.uintp,
    p: np.uintp,
    to: int,
    count: Wide,
    out_ints: Wide,
    out_floats: Floats,
    out_leasts: Wide,
) -> None:
    """Add up what live STARTs have of the prefixes of a length, and write it."""
    total = 0
    for at in range(lo, hi):
        total += c[p, at]
    count[to] = total
    for lane in range(uintp(s.shape[0])):
        total = 0
        for at in range(lo, hi):
            total += s[lane, p, at]
        out_ints[lane, to] = total
    for lane in range(uintp(f.shape[0])):
        whole = 0.0
        for at in range(lo, hi):
            whole += f[lane, p, at]
        out_floats[lane, to] = whole
    for lane in range(uintp(m.shape[0])):
        least = NOBODY
        for at in range(lo, hi):
            least = min(least, m[lane, p, at])
        out_leasts[lane, to] = least


@compiled
def _moved(old: npt.NDArray[Any], lo: np.uintp, hi: np.uintp, capacity: np.uintp) -> Any:
    """Return a part of an array, by its last dimension, at the beginning of a new one."""
    new = np.zeros((*old.shape[:-1], capacity), dtype=old.dtype)
    new[..., : hi - lo] = old[..., lo:hi]
    return new
