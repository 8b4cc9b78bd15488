"""Whole numbers of a window as a product of matrices from which expiring events are divided.

Numbers of matches and integer lanes, without absences; `window_product` tells the idea. Keys need
not be apart: each has its matrices, and what its group holds changes by what theirs do. Numbers are
right modulo 2 to the 64, whatever happens in between.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.compiling import compiled

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


@compiled
def run(
    ts: Wide,
    codes: Ints,
    rows: Ints,
    keys: Ints,
    groups: Ints,
    n: int,
    window: int,
    int_at: Ints,
    ints: Wide,
    only_new: bool,
    expiries: bool,
    of: Ints,
    new: Wide,
    count: Wide,
    out_ints: Wide,
    e_ts: Wide,
    e_of: Ints,
    e_count: Wide,
    e_ints: Wide,
) -> int:
    """Aggregate all keys together, in the order of the stream.

    Args:
        ts: With codes, rows, keys, groups, n and window (-1: none) the `Interleaved`.
        codes: See there.
        rows: See there.
        keys: See there.
        groups: See there.
        n: See there.
        window: See there.
        int_at: With the following the integer lanes of `Lanes`.
        ints: See there.
        only_new: Whether the output is about the matches that a trigger completes instead of the
            live ones of its group.
        expiries: Whether the moments are written out at which live matches of a group expire and
            that are no triggers of it.
        of: The group of each trigger.
        new: How many matches each completes.
        count: With the following what is asked for at each.
        out_ints: See there.
        e_ts: The moments of expiry.
        e_of: The group of each.
        e_count: With the following what its group holds then.
        e_ints: See there.

    Returns:
        How many moments of expiry were written.
    """
    one = uintp(1)
    ki = uintp(int_at.size)
    size = ts.size
    # c[m, j], how many prefixes go on from length j to length m. Row 0, the empty prefix, comes
    # first and once for all keys, then rows 1 to n of each key. Loops go over whole rows and
    # columns, zeros too, and what only some positions do is multiplied by whether they are it:
    # a processor loses more by guessing wrong than by adding zeros.
    width = uintp(n + 1)
    each = uintp(n) * width
    c = np.zeros((groups.size * uintp(n) + one) * width, dtype=np.int64)
    s = np.zeros((groups.size * ki * uintp(n) + one) * width, dtype=np.int64)
    c[0] = 1
    for key_begin in range(width, uintp(c.size), each):
        for j in range(one, uintp(n + 1)):
            c[key_begin + (j - one) * width + j] = 1
    number = groups.max() + 1 if groups.size else 0
    live = np.zeros(number, dtype=np.int64)
    sums = np.zeros((ki, number), dtype=np.int64)
    # Of each group: the operation since whose time it has triggers, whether matches expire at the
    # moment, and the last START that does.
    triggered = np.full(number if expiries else 0, -1, dtype=np.int64)
    shrunk = np.zeros(number if expiries else 0, dtype=np.bool_)
    latest = np.zeros(number if expiries else 0, dtype=np.int64)
    which = np.empty(number if expiries else 0, dtype=np.int32)
    done = run_begin = tail = shrinking = written = 0
    key, group = uintp(0), uintp(0)
    for i in range(size + 1 if expiries else size):
        code = codes[i] if i < size else 0
        if expiries and i < size and (i == 0 or ts[i] != ts[i - 1]):
            at = i
            while at < size and codes[at] == 0 and ts[at] == ts[i]:
                triggered[groups[keys[at] if keys.size else 0]] = i
                at += 1
        if window >= 0 and (expiries or code == 0):
            oldest = ts[i] - window if i < size else 0
            while tail < i and (i == size or ts[tail] < oldest):
                p = uintp(n - (codes[tail] >> 1))
                if keys.size:
                    key = uintp(keys[tail])
                first = key * each + width + p
                group = uintp(groups[key])
                gone = c[first + each - width] * np.int64(p == one)
                live[group] -= gone
                if expiries and p == one:
                    latest[group] = tail
                    if gone != 0 and not shrunk[group]:
                        shrunk[group] = True
                        which[shrinking] = groups[key]
                        shrinking += 1
                for lane in range(ki):
                    w = ints[lane, rows[tail]] * np.int64(int_at[lane] == p)
                    x, y = (key * ki + lane) * each + width + p, first
                    for _ in range(n):
                        less = s[x] + w * c[y]
                        s[x - one] -= less
                        x += width
                        y += width
                    sums[lane, group] -= less * np.int64(p == one)
                x = first
                for _ in range(n):
                    c[x - one] -= c[x]
                    x += width
                tail += 1
                if shrinking and (tail == i or ts[tail] != ts[tail - 1]):
                    moment = ts[tail - 1] + window + 1
                    now = i < size and moment == ts[i]
                    some = which[:shrinking]
                    for g in some[np.argsort(latest[some])]:
                        shrunk[g] = False
                        if not (now and triggered[g] >= 0 and ts[triggered[g]] == moment):
                            e_ts[written] = moment
                            e_of[written] = g
                            e_count[written] = live[g]
                            for lane in range(ki):
                                e_ints[lane, written] = sums[lane, g]
                            written += 1
                    shrinking = 0
        if i == size:
            break
        p = uintp(n - (code >> 1))
        if keys.size:
            key = uintp(keys[i])
        to = key * each + p * width
        come = (to - width) * uintp(p != one)
        if code == 0:
            group = uintp(groups[key])
            live[group] += c[come]
            new[done] = c[come]
            of[done] = group
            if only_new:
                count[done] = c[come]
        for lane in range(ki):
            w = ints[lane, rows[i]] * np.int64(int_at[lane] == p)
            x = (key * ki + lane) * each + p * width
            y = (x - width) * uintp(p != one)
            if code == 0:
                more = s[y] + w * c[come]
                sums[lane, group] += more
                if only_new:
                    out_ints[lane, done] = more
            for j in range(width):
                s[x + j] += s[y + j] + w * c[come + j]
        for j in range(width):
            c[to + j] += c[come + j]
        if code == 0:
            done += 1
            if i + 1 < size and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                continue
            if not only_new:
                for at in range(run_begin, done):
                    count[at] = live[of[at]]
                    for lane in range(ki):
                        out_ints[lane, at] = sums[lane, of[at]]
            run_begin = done
    return written
