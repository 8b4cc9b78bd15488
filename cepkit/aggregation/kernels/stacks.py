"""Lanes of a window as a product of matrices: the cost of an event is independent of live STARTs.

An event at position p is the matrix I + E(p-1, p) over prefix lengths; an event that must be absent
after p is the matrix I - E(p, p); one of KL adds E(p, p): it joins a set that has begun, or does
not. The first row of the product of all events of a window counts the prefixes that grow from the
empty match. A new event is a column operation, O(length). Expiry works in one of two ways. *Two
stacks*: the older part of the window is stored as products of its suffixes (only their first rows
are needed), the newer part as one product; when the older part is used up, the newer one becomes
the older, so that each event is turned over once. This works for any aggregate. *Subtraction*
(`subtraction.py`): I + E is invertible, so an expiring event is a row operation - only for
integers, and without absences and KL. Floats must not be subtracted: the operations amplify
rounding errors without bound.

There are three kinds of lanes: integers (the number of matches, then the integer lanes), floats
(the number again, because integers may wrap around in between, then the float lanes), and least
lanes. In place of a kind that nobody asks for, loops take `()`: Numba knows the length of a tuple,
and compiles nothing of what stands under `if len(floats)`. It is the same with the modulus of
integers: remainders modulo enough primes determine integers of any size (`remainders`).

Source: the matrices are ours; two stacks are a folklore queue, described for sliding windows by
K. Tangwongsan, M. Hirzel, S. Schneider: Low-Latency Sliding-Window Aggregation, DEBS 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.aggregation.kernels.records import NOBODY, NOTHING, Ints, KeySteps, Output, Wide
from cepkit.compiling import called, compiled_beyond, lent

Numbers: TypeAlias = npt.NDArray[Any]


class Kind(NamedTuple):
    """The lanes of a kind; the first of integers and of floats is the number of matches.

    Attributes:
        at: int32[lanes], the position of each lane but the number of matches.
        values: [lanes, events], its value at each event, what adds nothing if missing.
        x: [lanes, numbers]: the matrix of the newer part, in row m from prefixes of length j to
            length m; one to turn it over; the identity; a row of no match; and first rows of suffix
            products, one for each live START of the older part, the newest first.
        out: [lanes, triggers + STARTs], the aggregates at each trigger, then after each expiry.
    """

    at: Ints
    values: Numbers
    x: Numbers
    out: Numbers


Kinds: TypeAlias = Any
"""A `Kind`, or the empty tuple."""
Modulus: TypeAlias = Any
"""A tuple of the modulus, or the empty tuple."""


def summed(at: Ints, values: Numbers, n: int, most: int, moments: int) -> Kind:
    """Return integer or float lanes before the first event.

    Args:
        n: The positions of the sequence.
        most: The most STARTs of a key that are live at once.
        moments: The triggers and the STARTs.
    """
    kind = _empty(at, values, 0, len(at) + 1, n, most, moments)
    kind.x[0, _diagonal(n)] = 1
    return kind


def least(at: Ints, values: Numbers, n: int, most: int, moments: int) -> Kind:
    """Return least lanes before the first event; see `summed`."""
    kind = _empty(at, values, NOBODY, len(at), n, most, moments)
    kind.x[:, _diagonal(n)] = NOTHING
    return kind


def _empty(
    at: Ints, values: Numbers, nothing: int, lanes: int, n: int, most: int, moments: int
) -> Kind:
    square, width = (n + 1) ** 2, n + 1
    x = np.zeros((lanes, 3 * square + (1 + most) * width), dtype=values.dtype)
    x[:, 2 * square : 3 * square + width] = nothing
    return Kind(at, values, x, np.zeros((lanes, moments), dtype=values.dtype))


def _diagonal(n: int) -> slice:
    """Return where the ones of the identity are."""
    square = (n + 1) ** 2
    return slice(2 * square, 3 * square, n + 2)


@compiled_beyond(20_000)
def run(
    steps: KeySteps, ints: Kind, floats: Kinds, leasts: Kinds, modulus: Modulus, older: Wide,
    output: Output,
) -> int:  # fmt: skip
    """Aggregate all keys with any lanes and absences.

    Args:
        steps: The operations, by key.
        ints: The number of matches, and the integer lanes.
        floats: The number again, and the float lanes; `()` without any.
        leasts: The least lanes; `()` without any.
        modulus: That of integers, at most 31 bits; `()` for none.
        older: int64[most], room for the STARTs of the older part.
        output: What is written besides lanes.

    Returns:
        The number of expiry moments written.
    """
    ts, codes, rows, starts, n, window, loops = steps
    only_new, expiries, new, op = output
    one, width = uintp(1), uintp(n + 1)
    square = width * width
    identity, nothing = square + square, square + square + square
    start_code = 2 * (n - 1)
    last = uintp(n) * width
    # 64 bits from the start: a plain 0 has another type, for which functions would compile again.
    done: Any = np.int64(0)
    written: Any = np.int64(0)
    more: Any = np.bool_(0)  # likewise
    for key in range(starts.size - 1):
        begin, end = starts[key], starts[key + 1]
        _copy_apart(ints, floats, leasts, identity, uintp(0), square)
        front, lives = uintp(0), uintp(0)  # live STARTs of the older and of the newer part
        h = identity  # the row of the older part: at first of the empty match
        oldest = begin  # the oldest START of the newer part, or an earlier operation
        run_begin = done
        for i in range(begin, end + 1 if expiries else end):
            code = codes[i] if i < end else 0
            # Without rows for expiries, expire only at triggers.
            while window >= 0 and (code == 0 or expiries) and front + lives > 0:
                if front > 0:
                    start = older[front - one]
                else:
                    while codes[oldest] != start_code:
                        oldest += 1
                    start = oldest
                now = ts[i] if i < end and not expiries else ts[start] + window + 1
                if (i < end and now > ts[i]) or now - ts[start] <= window:
                    break
                had = _number(ints.x, h, last, width, modulus) if expiries == 1 else 0
                while front > 0 and now - ts[older[front - one]] > window:
                    front -= one
                    start = older[front]
                if front == 0:
                    while oldest < i and now - ts[oldest] > window:
                        if codes[oldest] == start_code:
                            start = oldest
                        oldest += 1
                    front = _turn(steps, oldest, i, ints, floats, leasts, modulus, older)
                    _copy_apart(ints, floats, leasts, identity, uintp(0), square)
                    oldest = i
                    lives = uintp(0)
                h = nothing + front * width if front > 0 else identity
                if expiries:
                    left = _number(ints.x, h, last, width, modulus)
                    if expiries == 2 or left != had:
                        op[written] = start
                        at = uintp(new.size + written)
                        _write_apart(ints, floats, leasts, h, last, more, at, width, modulus)
                        written += 1
            if i == end:
                break
            p, event = uintp(n - ((code + 1) >> 1)), uintp(rows[i])
            if code == 0:
                new[done] = _number(ints.x, h, last - width, width, modulus)
                if loops[n]:
                    new[done] += _number(ints.x, h, last, width, modulus)
                    if len(modulus):
                        new[done] %= modulus[0]
                if only_new:
                    for turn in range(1 + loops[n]):
                        row = last if turn else last - width
                        _write_apart(
                            ints, floats, leasts, h, row, turn > 0, uintp(done), width, modulus
                        )
                    _complete(ints, floats, leasts, p, event, uintp(done), modulus)
            to = p * width
            if code & 1:
                if loops[p] == 2:  # a further member continues these sets
                    _extend_apart(
                        ints, floats, leasts, to - width, to, uintp(0), event, width, modulus
                    )
                _copy(ints, floats, leasts, nothing, to, width)
                continue
            # Sets that have begun come first: they must not take the event twice.
            for turn in range(loops[p]):
                source = to - uintp(2 * turn) * width
                _extend_apart(ints, floats, leasts, to, source, p, event, width, modulus)
            _extend(ints, floats, leasts, to, to - width, p, event, width, modulus)
            lives += uintp(code == start_code)
            if code == 0:
                done += 1
                if i + 1 < end and codes[i + 1] == 0 and ts[i + 1] == ts[i]:
                    continue
                if not only_new:
                    for place in range(run_begin, done):
                        _write(ints, floats, leasts, h, last, more, uintp(place), width, modulus)
                run_begin = done
    return int(written)


@called
def _turn(
    steps: KeySteps, begin: int, end: int, ints: Kind, floats: Kinds, leasts: Kinds,
    modulus: Modulus, older: Wide,
) -> np.uintp:  # fmt: skip
    """Make the newer part the older one; return the number of its STARTs.

    Args:
        begin: The first operation of the newer part that counts.
        end: The one after the last.
    """
    codes, rows, n, loops = steps.codes, steps.rows, steps.length, steps.loops
    one, width = uintp(1), uintp(n + 1)
    square = width * width
    t, identity, nothing = square, square + square, square + square + square
    front = uintp(0)
    _copy_apart(ints, floats, leasts, identity, t, square)
    for at in range(end - 1, begin - 1, -1):
        code = codes[at]
        p, event = uintp(n - ((code + 1) >> 1)), uintp(rows[at])
        # (j, m) in row j: the other way round.
        source = t + p * width
        if code & 1:
            _copy(ints, floats, leasts, nothing, source, width)
            if loops[p] == 2:
                _extend_apart(
                    ints, floats, leasts, source, source - width, uintp(0), event, width, modulus
                )
            continue
        _extend(ints, floats, leasts, source - width, source, p, event, width, modulus)
        for turn in range(loops[p] - 1, -1, -1):
            to = source - uintp(2 * turn) * width
            _extend_apart(ints, floats, leasts, to, source, p, event, width, modulus)
        if code == 2 * (n - 1):
            older[front] = at
            front += one
            _copy_apart(ints, floats, leasts, t, nothing + front * width, width)
    return front


@lent
def _copy(
    ints: Kind, floats: Kinds, leasts: Kinds, source: np.uintp, to: np.uintp, size: np.uintp
) -> None:
    """Copy some numbers of each lane."""
    _copy_lanes(ints.x, source, to, size)
    if len(floats):
        _copy_lanes(floats.x, source, to, size)
    if len(leasts):
        _copy_lanes(leasts.x, source, to, size)


@called
def _copy_apart(
    ints: Kind, floats: Kinds, leasts: Kinds, source: np.uintp, to: np.uintp, size: np.uintp
) -> None:
    """Do the same, not inlined: for rare calls, because the code is long."""
    _copy(ints, floats, leasts, source, to, size)


@lent
def _copy_lanes(x: Numbers, source: np.uintp, to: np.uintp, size: np.uintp) -> None:
    for lane in range(uintp(x.shape[0])):
        for m in range(size):
            x[lane, to + m] = x[lane, source + m]


@lent
def _extend(
    ints: Kind, floats: Kinds, leasts: Kinds, to: np.uintp, come: np.uintp, p: np.uintp,
    event: np.uintp, width: np.uintp, modulus: Modulus,
) -> None:  # fmt: skip
    """Add one row of the matrices to another, with the values of an event at position `p`."""
    _extend_sums(ints, to, come, p, event, width, modulus)
    if len(floats):
        _extend_sums(floats, to, come, p, event, width, ())
    if len(leasts):
        at, values, x, _ = leasts
        for lane in range(uintp(at.size)):
            value = values[lane, event] if at[lane] == p else NOTHING
            for j in range(width):
                known = x[lane, come + j]
                longer = NOBODY if known == NOBODY else min(known, value)
                x[lane, to + j] = min(x[lane, to + j], longer)


@called
def _extend_apart(
    ints: Kind, floats: Kinds, leasts: Kinds, to: np.uintp, come: np.uintp, p: np.uintp,
    event: np.uintp, width: np.uintp, modulus: Modulus,
) -> None:  # fmt: skip
    """Do the same, not inlined: for sets alone, which would slow all others down."""
    _extend(ints, floats, leasts, to, come, p, event, width, modulus)


@lent
def _extend_sums(
    kind: Kind, to: np.uintp, come: np.uintp, p: np.uintp, event: np.uintp, width: np.uintp,
    modulus: Modulus,
) -> None:  # fmt: skip
    at, values, x, _ = kind
    zero = x.dtype.type(0)
    for lane in range(uintp(at.size)):
        value = values[lane, event]
        if at[lane] != p:
            value = zero
        row = lane + uintp(1)
        for j in range(width):
            number = x[0, come + j]
            # Infinity times no matches is nothing.
            more = value * number if number != 0 else zero
            x[row, to + j] = x[row, to + j] + x[row, come + j] + more
            if len(modulus):
                x[row, to + j] %= modulus[0]
    for j in range(width):
        x[0, to + j] += x[0, come + j]
        if len(modulus):
            x[0, to + j] %= modulus[0]


@lent
def _number(x: Wide, h: np.uintp, row: np.uintp, width: np.uintp, modulus: Modulus) -> int:
    """Return the number of live prefixes of the length of a row."""
    total = 0
    for j in range(width):
        if len(modulus):
            total = (total + x[0, h + j] * x[0, row + j]) % modulus[0]
        else:
            total += x[0, h + j] * x[0, row + j]
    return total


@lent
def _write(
    ints: Kind, floats: Kinds, leasts: Kinds, h: np.uintp, row: np.uintp, more: bool,
    place: np.uintp, width: np.uintp, modulus: Modulus,
) -> None:  # fmt: skip
    """Write the lanes of all live prefixes of the length of a row, or add them to those there."""
    _write_sums(ints, h, row, more, place, width, modulus)
    if len(floats):
        _write_sums(floats, h, row, more, place, width, ())
    if len(leasts):
        _, _, x, out = leasts
        for lane in range(uintp(x.shape[0])):
            least = out[lane, place] if more else NOBODY
            for j in range(width):
                known, longer = x[lane, h + j], x[lane, row + j]
                if known != NOBODY and longer != NOBODY:
                    least = min(least, known, longer)
            out[lane, place] = least


@called
def _write_apart(
    ints: Kind, floats: Kinds, leasts: Kinds, h: np.uintp, row: np.uintp, more: bool,
    place: np.uintp, width: np.uintp, modulus: Modulus,
) -> None:  # fmt: skip
    """Do the same, not inlined: for rare calls, because the code is long."""
    _write(ints, floats, leasts, h, row, more, place, width, modulus)


@lent
def _write_sums(
    kind: Kind, h: np.uintp, row: np.uintp, more: bool, place: np.uintp, width: np.uintp,
    modulus: Modulus,
) -> None:  # fmt: skip
    _, _, x, out = kind
    zero = x.dtype.type(0)
    # Infinity times no matches is nothing.
    for lane in range(uintp(x.shape[0])):
        total = zero
        for j in range(width):
            known, number = x[lane, h + j], x[0, row + j]
            total += known * number if number != 0 else zero
            if len(modulus):
                total %= modulus[0]
        if lane > 0:
            for j in range(width):
                number, known = x[0, h + j], x[lane, row + j]
                total += number * known if number != 0 else zero
                if len(modulus):
                    total %= modulus[0]
        if more:
            total = out[lane, place] + total
            if len(modulus):
                total %= modulus[0]
        out[lane, place] = total


@called
def _complete(
    ints: Kind, floats: Kinds, leasts: Kinds, p: np.uintp, event: np.uintp, place: np.uintp,
    modulus: Modulus,
) -> None:  # fmt: skip
    """Turn the lanes of prefixes into those of the matches that an event completes."""
    _complete_sums(ints, p, event, place, modulus)
    if len(floats):
        _complete_sums(floats, p, event, place, ())
    if len(leasts):
        at, values, _, out = leasts
        for lane in range(uintp(at.size)):
            if at[lane] == p and out[lane, place] != NOBODY:
                out[lane, place] = min(out[lane, place], values[lane, event])


@lent
def _complete_sums(
    kind: Kind, p: np.uintp, event: np.uintp, place: np.uintp, modulus: Modulus
) -> None:
    at, values, _, out = kind
    for lane in range(uintp(at.size)):
        if at[lane] == p and out[0, place] != 0:
            out[lane + uintp(1), place] += values[lane, event] * out[0, place]
            if len(modulus):
                out[lane + uintp(1), place] %= modulus[0]
