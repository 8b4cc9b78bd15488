"""Counts the sets that conditions between neighbouring members allow, without making them.

Rows whose sets begin alike are counted in one pass over the longest of their lists: their lists
begin at the same place, with the same first member, and conditions read the same other events. The
ways to a member of the longest list are also the ways to the last member of a shorter one. So a
window of n candidates takes a pass for each first member, not one for each pair of first and last.
Numbers are exact integers of as many limbs as they need. Cost of a pass over n candidates: O(n^2)
for each limb, times the sizes where these are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.columnar.join.step import Partials
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.kleene.neighbours import LONGEST, MOST_PAIRS, Ways, beside, stretches, ways_of
from cepkit.columnar.slices.candidates import Candidates
from cepkit.compiling import compiled, lent
from cepkit.pattern.conditions import Expression

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

LIMB = 40
"""The number of bits of a limb: a sum of `LONGEST` limbs, for as many sizes, fits into 63."""

assert (LONGEST + 2) ** 2 << LIMB < 1 << 63

_MORE_PAIRS = 16 * MOST_PAIRS
"""The number of pairs that are held at a time where conditions read no other events."""


class Alike(NamedTuple):
    """Rows in groups whose sets begin alike, the rows of a group by the length of their lists.

    Attributes:
        order: int64[rows], the number of each row.
        starts: int64[groups + 1], where the rows of a group begin, and the end.
        lengths: int32[rows], the length of the list.
        least: int32[rows], the fewest members to choose from it.
        most: int32[rows], the most.
        bound: bool[rows], whether the last member is bound: it stands behind the row's list.
    """

    order: Longs
    starts: Longs
    lengths: Ints
    least: Ints
    most: Ints
    bound: npt.NDArray[np.bool_]


def numbers_of_sets(
    candidates: Mapping[str, Candidates],
    conditions: Sequence[Expression],
    variable: str,
    chosen: Partials,
    lists: Lists,
) -> list[int]:
    """Return the exact number of sets of each row.

    Args:
        lists: Their lists, members in stream order.
    """
    numbers = [0] * len(lists.begins)
    for rows, limbs in _totals(candidates, conditions, variable, chosen, lists):
        for row, number in zip(rows.tolist(), _numbers(limbs), strict=True):
            numbers[row] = number
    return numbers


def number_of_sets(
    candidates: Mapping[str, Candidates],
    conditions: Sequence[Expression],
    variable: str,
    chosen: Partials,
    lists: Lists,
    times: tuple[Sequence[int], Longs],
) -> int:
    """Return the exact number of sets of all rows together.

    Args:
        candidates: As for `numbers_of_sets`, like the next four.
        times: How often each set counts: the different numbers, and which of them a row has.
    """
    total = 0
    for rows, limbs in _totals(candidates, conditions, variable, chosen, lists):
        kinds, own = np.unique(times[1][rows], return_inverse=True)
        sums = np.zeros((len(kinds), limbs.shape[1]), dtype=np.int64)
        np.add.at(sums, own, limbs)  # fits, as there are less than 2^23 rows
        pairs = zip(kinds.tolist(), _numbers(sums), strict=True)
        total += sum(times[0][kind] * number for kind, number in pairs)
    return total


def _totals(
    candidates: Mapping[str, Candidates],
    conditions: Sequence[Expression],
    variable: str,
    chosen: Partials,
    lists: Lists,
) -> Iterator[tuple[Longs, Longs]]:
    """Yield some of the rows, and int64[rows, limbs], the number of sets of each."""
    others = beside(conditions, variable)
    rows = alike([chosen[name] for name in others], lists)
    longest = rows.order[rows.starts[1:] - 1]
    groups = lists.take(longest)
    for part in stretches(groups, MOST_PAIRS if others else _MORE_PAIRS):
        some = {v: column[longest[part]] for v, column in chosen.items()}
        own, among = groups.take(part), _of_groups(rows, part)
        ways = ways_of(candidates, conditions, variable, some, own)
        size = int(own.lengths.max(initial=0)) + 1
        limbs = (size + 1) // LIMB + 1
        totals = np.zeros((len(among.order), limbs), dtype=np.int64)
        count_ways(own, ways, among, np.empty((3, limbs, size), dtype=np.int64), totals)
        yield among.order, totals


def _numbers(limbs: Longs) -> list[int]:
    """Return the numbers with these limbs."""
    numbers = [0] * len(limbs)
    used = np.flatnonzero(limbs.any(axis=0))
    for limb in range(int(used[-1]) if len(used) else -1, -1, -1):
        column = limbs[:, limb].tolist()
        numbers = [(more << LIMB) + own for more, own in zip(numbers, column, strict=True)]
    return numbers


def alike(others: Sequence[npt.NDArray[np.integer]], lists: Lists) -> Alike:
    """Return rows in groups whose sets begin alike.

    Args:
        others: The other events that conditions read, for each row.
    """
    keys = (*others, lists.firsts, lists.begins)
    order = np.lexsort((lists.lasts, lists.ends, *keys))
    changes = np.ones(len(order), dtype=np.bool_)
    changes[1:] = False
    for key in keys:
        changes[1:] |= key[order[1:]] != key[order[:-1]]
    # If a list does not continue with the last member of a shorter one, each row is a group.
    sorted_lists = lists.take(order)
    ends, lasts = sorted_lists.ends, sorted_lists.lasts
    heads, group = np.flatnonzero(changes), np.cumsum(changes) - 1
    tails = np.append(heads[1:], len(order)) - 1
    shorter = ends < ends[tails][group]
    listed = np.where(shorter, np.append(lists.members, -1)[ends], lasts[tails][group])
    apart = np.zeros(len(heads), dtype=np.bool_)
    apart[group[(lasts >= 0) & (lasts != listed)]] = True
    starts = np.append(np.flatnonzero(changes | apart[group]), len(order))
    lengths, least, most = sorted_lists.lengths, sorted_lists.least, sorted_lists.most
    return Alike(order, starts, lengths, least, most, lasts >= 0)


def _of_groups(rows: Alike, part: slice) -> Alike:
    """Return the rows of some groups."""
    starts = rows.starts[part.start : part.stop + 1]
    own = slice(int(starts[0]), int(starts[-1]))
    return Alike(
        rows.order[own],
        starts - starts[0],
        rows.lengths[own],
        rows.least[own],
        rows.most[own],
        rows.bound[own],
    )


@lent
def _carry(led: Longs, member: int, used: int) -> int:
    """Carry from limb to limb of a number; return how many limbs are used afterwards."""
    carry = np.int64(0)
    for limb in range(used):
        carry += led[limb, member]
        led[limb, member] = carry & ((1 << LIMB) - 1)
        carry >>= LIMB
    if carry == 0:
        return used
    led[used, member] = carry
    return used + 1


@lent
def _lead_on(ways: Ways, start: int, n: int, member: int, led: Longs, limb: int) -> None:
    """Add the ways to a member to those of each member that may follow it."""
    own, place, allowed = led[limb, member], uintp(start + member * (n + 1)), ways.allowed
    if own != 0:
        for other in range(uintp(member + 1), uintp(n + 1)):
            led[limb, other] += own if allowed[place + other] else 0


@lent
def _begin(ways: Ways, start: int, n: int, led: Longs) -> None:
    """Write the ways to members that have only a bound first member before them, or none."""
    for limb in range(led.shape[0]):
        for member in range(n + 1):
            led[limb, member] = 0
    for member in range(n + 1):
        led[0, member] = ways.allowed[start + n * (n + 1) + member]


@lent
def _add(
    rows: Alike, group: int, size: int, led: Longs, used: int, prefix: Longs, totals: Longs
) -> None:
    """Add to each row of a group its number of sets, which follows from the ways to members.

    Args:
        size: How many members a way has before its last one; -1: any number.
        led: int64[limbs, members], how many ways lead to each.
        used: How many of the limbs are not all zero.
        prefix: Room for one number.
        totals: The output.
    """
    passed = 0
    for limb in range(used):
        prefix[limb] = 0
    for row in range(rows.starts[group], rows.starts[group + 1]):
        length, least, most = rows.lengths[row], rows.least[row], rows.most[row]
        if least >= length:
            continue
        while passed < length:
            for limb in range(used):
                prefix[limb] += led[limb, passed]
            passed += 1
        # The last member of a way is chosen from the list, unless it is bound, behind the list.
        chosen = size if rows.bound[row] else size + 1
        sign = 0
        if size < 0:
            sign = 1 if most >= length else 0
        elif most >= length:
            sign = -1 if chosen < least else 0
        elif least <= chosen <= most:
            sign = 1
        if sign != 0:
            for limb in range(used):
                own = led[limb, length] if rows.bound[row] else prefix[limb]
                totals[row, limb] += sign * own


@lent
def _add_whole(lists: Lists, ways: Ways, rows: Alike, group: int, totals: Longs) -> None:
    """Count the one set of each row of a group that must take its whole list, as runs do."""
    n, start = lists.ends[group] - lists.begins[group], ways.starts[group]
    passed, before, unbroken = 0, n, True
    for row in range(rows.starts[group], rows.starts[group + 1]):
        length = rows.lengths[row]
        if rows.least[row] < length:
            continue
        while passed < length:
            unbroken &= ways.allowed[start + before * (n + 1) + passed]
            before = passed
            passed += 1
        held = unbroken and rows.most[row] >= length
        if rows.bound[row]:
            held &= ways.allowed[start + before * (n + 1) + length]
        totals[row, 0] += held


@compiled
def count_ways(lists: Lists, ways: Ways, rows: Alike, room: Longs, totals: Longs) -> int:
    """Count the ways of each row through the list of its group.

    Args:
        lists: The longest list of each group.
        ways: Which member may follow which.
        room: int64[3, limbs, longest + 1], overwritten.
        totals: int64[rows, limbs], zeros: the output.

    Returns:
        The number of groups.
    """
    any_size, one_size, prefix = room[0], room[1], room[2, :, 0]
    for group in range(ways.starts.size):
        n, start = lists.ends[group] - lists.begins[group], ways.starts[group]
        _add_whole(lists, ways, rows, group, totals)
        every, sizes = False, 0
        for row in range(rows.starts[group], rows.starts[group + 1]):
            least, most = rows.least[row], rows.most[row]
            if least >= rows.lengths[row]:
                continue
            if most >= rows.lengths[row]:
                every = True
                sizes = max(sizes, least)
            else:
                sizes = max(sizes, most + 1)
            # The set of its first member alone, if no last one is bound.
            if not rows.bound[row] and least <= 0 <= most:
                totals[row, 0] += 1
        if every:
            _begin(ways, start, n, any_size)
            used = 1
            for member in range(n):
                used = _carry(any_size, member, used)
                for limb in range(used):
                    _lead_on(ways, start, n, member, any_size, limb)
            used = _carry(any_size, n, used)
            _add(rows, group, -1, any_size, used, prefix, totals)
        if sizes > 0:
            _begin(ways, start, n, one_size)
        used = 1
        for size in range(sizes):
            if size > 0:
                # Backwards: the ways to the members behind it are of this size by now.
                for member in range(n, -1, -1):
                    for limb in range(used):
                        _lead_on(ways, start, n, member, one_size, limb)
                        one_size[limb, member] = 0
                for member in range(n + 1):
                    used = _carry(one_size, member, used)
            _add(rows, group, size, one_size, used, prefix, totals)
        for row in range(rows.starts[group], rows.starts[group + 1]):
            carry = np.int64(0)
            for limb in range(totals.shape[1]):
                carry += totals[row, limb]
                totals[row, limb] = carry & ((1 << LIMB) - 1)
                carry >>= LIMB
    return ways.starts.size
