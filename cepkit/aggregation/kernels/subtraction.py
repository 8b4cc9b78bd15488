"""Integers of a window as a product of matrices; expiring events are divided out.

It handles numbers of matches and integer lanes, without absences; see `stacks.py` for the idea.
Operations need not be sorted by key: each key has its own matrices, and each group adds up the
changes of its keys. Numbers are correct modulo 2^64, even if intermediate results wrap around.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import uintp

from cepkit.aggregation.kernels.records import Bits, Ints, LaneArrays, Tracks, Wide
from cepkit.compiling import called, compiled_beyond, lent


class Stream(NamedTuple):
    """Operations in the order of the stream.

    Attributes:
        ts: int64[operations], the time of each.
        codes: int32[operations], the code of each.
        rows: int32[operations], the event of each.
        keys: int32[operations], the key of each; empty if all have the same.
        groups: int32[keys], the group of each key.
        length: How many positions the sequence has.
        window: The greatest difference of times; -1: none.
    """

    ts: Wide
    codes: Ints
    rows: Ints
    keys: Ints
    groups: Ints
    length: int
    window: int


class GroupOutput(NamedTuple):
    """The arrays that the loop writes its rows to.

    Attributes:
        only_new: Whether to aggregate the matches that a trigger completes instead of the live ones
            of its group.
        expiries: Whether to write the moments at which live matches of a group expire and that have
            no trigger of it.
        of: int32[triggers], the group of each trigger.
        new: int64[triggers], the number of matches that each completes.
        tracks: The aggregates at each.
        ts: int64[STARTs], the moments of expiry.
        left_of: int32[STARTs], the group of each.
        left: The aggregates of its group then.
    """

    only_new: bool
    expiries: bool
    of: Ints
    new: Wide
    tracks: Tracks
    ts: Wide
    left_of: Ints
    left: Tracks


class _Sums(NamedTuple):
    """The sums of all keys and groups.

    c[m, j] is the number of ways from prefixes of length j to length m. Row 0, the empty prefix,
    comes first and once for all keys, then rows 1 to n of each key.

    Attributes:
        c: int64[(keys * n + 1) * width], of numbers of matches.
        s: int64[(keys * ki * n + 1) * width], of integer lanes.
        live: int64[groups], the number of live matches of each group.
        sums: int64[ki, groups], the lanes of these matches.
    """

    c: Wide
    s: Wide
    live: Wide
    sums: Wide


class _Expiring(NamedTuple):
    """The groups whose live matches expire at the current moment.

    Attributes:
        triggered: int64[groups], the first operation of the time at which each last had a trigger.
        shrunk: bool[groups], whether matches expire.
        latest: int64[groups], the last expiring START.
    """

    triggered: Wide
    shrunk: Bits
    latest: Wide


@compiled_beyond(20_000)
def run(stream: Stream, carried: LaneArrays, to: GroupOutput) -> int:
    """Aggregate all keys together, in the order of the stream.

    Args:
        stream: The operations.
        carried: The lanes; only integer lanes.

    Returns:
        The number of expiry moments written.
    """
    ts, codes, rows, keys, groups, n, window = stream
    only_new, expiries, of, new, tracks = to.only_new, to.expiries, to.of, to.new, to.tracks
    one = uintp(1)
    size = ts.size
    sums = _nothing(groups, n, carried.int_at.size)
    c, live = sums.c, sums.live
    width = uintp(n + 1)
    each = uintp(n) * width
    number = live.size if expiries else 0
    expiring = _Expiring(
        np.full(number, -1, dtype=np.int64), np.zeros(number, dtype=np.bool_),
        np.zeros(number, dtype=np.int64),
    )  # fmt: skip
    # 64 bits from the start: a plain 0 has another type, for which functions would compile again.
    done: Any = np.int64(0)
    run_begin, tail, written, shrinking = done, done, done, False
    key, group = uintp(0), uintp(0)
    for i in range(size + 1 if expiries else size):
        code = codes[i] if i < size else 0
        if expiries and i < size and (i == 0 or ts[i] != ts[i - 1]):
            _trigger(stream, i, expiring)
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
                    expiring.latest[group] = tail
                    if gone != 0:
                        expiring.shrunk[group] = shrinking = True
                _divide(sums, key, group, p, n, rows[tail], carried)
                tail += 1
                if shrinking and (tail == i or ts[tail] != ts[tail - 1]):
                    now = i < size and ts[tail - 1] + window + 1 == ts[i]
                    written = _announce(stream, tail, now, sums, expiring, to, written)
                    shrinking = False
        if i == size:
            break
        p = uintp(n - (code >> 1))
        if keys.size:
            key = uintp(keys[i])
        come = (key * each + (p - one) * width) * uintp(p != one)
        if code == 0:
            group = uintp(groups[key])
            live[group] += c[come]
            new[done] = c[come]
            of[done] = group
        _multiply(sums, key, group, p, n, rows[i], carried, code == 0, only_new, tracks, done)
        if code == 0:
            done += 1
            if i + 1 < size and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                continue
            if not only_new:
                for at in range(run_begin, done):
                    _held(tracks, at, sums, of[at])
            run_begin = done
    return int(written)


@compiled_beyond(20_000)
def _nothing(groups: Ints, n: int, ki: int) -> _Sums:
    """Return the initial sums: identity matrices."""
    one, width = uintp(1), uintp(n + 1)
    each = uintp(n) * width
    c = np.zeros((groups.size * uintp(n) + one) * width, dtype=np.int64)
    s = np.zeros((groups.size * ki * uintp(n) + one) * width, dtype=np.int64)
    c[0] = 1
    for key_begin in range(width, uintp(c.size), each):
        for j in range(one, width):
            c[key_begin + (j - one) * width + j] = 1
    number = 0
    for group in groups:
        number = max(number, group + 1)
    live, sums = np.zeros(number, dtype=np.int64), np.zeros((ki, number), dtype=np.int64)
    return _Sums(c, s, live, sums)


@called
def _trigger(stream: Stream, i: int, expiring: _Expiring) -> None:
    """Mark the groups with triggers at the time of an operation; triggers come first."""
    at = i
    while at < stream.ts.size and stream.codes[at] == 0 and stream.ts[at] == stream.ts[i]:
        expiring.triggered[stream.groups[stream.keys[at] if stream.keys.size else 0]] = i
        at += 1


@lent
def _divide(
    known: _Sums,
    key: np.uintp,
    group: np.uintp,
    p: np.uintp,
    n: int,
    event: int,
    carried: LaneArrays,
) -> None:
    """Take the oldest operation out of the product.

    Loops cover whole rows and columns, including zeros, and multiply by a condition instead of
    branching: a mispredicted branch costs more than adding zeros.
    """
    c, s, _, sums = known
    one, width, ki = uintp(1), uintp(n + 1), uintp(carried.int_at.size)
    each = uintp(n) * width
    first = key * each + width + p
    for lane in range(ki):
        w = carried.ints[lane, event] * np.int64(carried.int_at[lane] == p)
        x, y = (key * ki + lane) * each + width + p, first
        less = np.int64(0)
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


@lent
def _multiply(
    known: _Sums, key: np.uintp, group: np.uintp, p: np.uintp, n: int, event: int,
    carried: LaneArrays, trigger: bool, only_new: bool, tracks: Tracks, done: int,
) -> None:  # fmt: skip
    """Multiply in a new operation; for a trigger, write the matches that it completes if asked."""
    c, s, _, sums = known
    one, width, ki = uintp(1), uintp(n + 1), uintp(carried.int_at.size)
    each = uintp(n) * width
    to = key * each + p * width
    come = (to - width) * uintp(p != one)
    if trigger and only_new:
        tracks.counts[done] = c[come]
    for lane in range(ki):
        w = carried.ints[lane, event] * np.int64(carried.int_at[lane] == p)
        x = (key * ki + lane) * each + p * width
        y = (x - width) * uintp(p != one)
        if trigger:
            more = s[y] + w * c[come]
            sums[lane, group] += more
            if only_new:
                tracks.ints[lane, done] = more
        for j in range(width):
            s[x + j] += s[y + j] + w * c[come + j]
    for j in range(width):
        c[to + j] += c[come + j]


@called
def _announce(
    stream: Stream,
    tail: int,
    now: bool,
    sums: _Sums,
    expiring: _Expiring,
    to: GroupOutput,
    written: int,
) -> int:
    """Write the groups that shrink at the moment before `tail`, in the order of their last STARTs.

    Args:
        stream: The operations.
        tail: The first operation that has not expired.
        now: Whether this moment has triggers: their groups need no row.
        sums: The sums of the groups.
        expiring: Which groups shrink.
        written: The number of rows written before.

    Returns:
        The number of rows written so far.
    """
    ts, codes, _, keys, groups, n, window = stream
    moment = ts[tail - 1] + window + 1
    begin = tail - 1
    while begin > 0 and ts[begin - 1] == ts[begin]:
        begin -= 1
    for op in range(begin, tail):
        group = groups[keys[op] if keys.size else 0]
        start = codes[op] >> 1 == n - 1
        if not start or not expiring.shrunk[group] or expiring.latest[group] != op:
            continue
        expiring.shrunk[group] = False
        since = expiring.triggered[group]
        if not now or since < 0 or ts[since] != moment:
            to.ts[written] = moment
            to.left_of[written] = group
            _held(to.left, written, sums, group)
            written += 1
    return written


@lent
def _held(to: Tracks, at: int, known: _Sums, group: int) -> None:
    """Write the aggregates of a group."""
    to.counts[at] = known.live[group]
    for lane in range(to.ints.shape[0]):
        to.ints[lane, at] = known.sums[lane, group]
