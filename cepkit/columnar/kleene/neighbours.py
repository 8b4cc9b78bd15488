"""Conditions between neighbouring members of a set: which candidate may follow which in a list.

For each pair of a list the conditions are evaluated once, together with what the row has bound. A
set is then a way through the list, from pair to pair: sets grow along such ways alone, and their
number is that of the ways, added up from the first member to the last. Cost: O(n^2) for a list of n
candidates, times the sizes where these are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.join.step import Partials
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.slices.candidates import Candidates
from cepkit.compiling import compiled
from cepkit.pattern.conditions import (
    Aggregate,
    Attribute,
    Expression,
    set_of_prev,
    variables_of,
)
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.rewrite import replaced
from cepkit.stream.columns import Column

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

BEFORE = "\x01before"
"""The variable that stands for the member before another."""

MOST_PAIRS = 1 << 20
"""Pairs of candidates that are held at a time."""

LONGEST = 1 << 11
"""Candidates of a list of which all pairs are looked at; sets of longer ones are tried."""

_EXACT = 2.0**53
"""Below it floats count exactly."""


class Ways(NamedTuple):
    """Which member of a list may follow which.

    Attributes:
        starts: int64[rows], where the flags of a list begin; empty: any may follow any.
        allowed: Of a list of n members (n + 1)^2 flags: whether member j may follow member i, i = n
            being the first member that is bound; j = n the last one.
    """

    starts: npt.NDArray[np.int64]
    allowed: Flags


ANY_WAY = Ways(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_))


def with_before(condition: Expression) -> Expression:
    """Return a condition with attributes of `BEFORE` in place of `prev`."""

    def new(node: Attribute | Aggregate) -> Expression:
        if isinstance(node, Aggregate) and node.function == "prev" and node.attribute is not None:
            return Attribute(BEFORE, node.attribute, node.span)
        return node

    return replaced(condition, new)


def between_neighbours(conditions: Iterable[Expression], variable: str) -> tuple[Expression, ...]:
    """Return those of some conditions that are between the members of a set."""
    return tuple(condition for condition in conditions if set_of_prev(condition) == variable)


def stretches(lists: Lists) -> Iterator[slice]:
    """Yield stretches of rows whose pairs can be held together; of one row at least."""
    pairs = np.cumsum((lists.lengths.astype(np.int64) + 1) ** 2)
    begin = 0
    while begin < len(pairs):
        before = int(pairs[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(pairs, before + MOST_PAIRS, side="right")))
        yield slice(begin, min(end, len(pairs)))
        begin = end


def can_be_linked(lists: Lists) -> bool:
    """Return whether all pairs of the lists can be looked at."""
    return int(lists.lengths.max(initial=0)) <= LONGEST


def in_stream_order(lists: Lists) -> bool:
    """Return whether the members of each list stand in stream order."""
    stretches_of_members = zip(lists.begins.tolist(), lists.ends.tolist(), strict=True)
    return all((np.diff(lists.members[begin:end]) > 0).all() for begin, end in stretches_of_members)


def ways_of(
    candidates: Mapping[str, Candidates],
    conditions: Sequence[Expression],
    variable: str,
    chosen: Partials,
    lists: Lists,
) -> Ways:
    """Return which members of lists may follow which.

    Args:
        candidates: Of all variables.
        conditions: Those between neighbours.
        variable: The Kleene variable.
        chosen: The rows.
        lists: Its lists, members in stream order.
    """
    sizes = lists.lengths.astype(np.int64)
    ends = np.cumsum((sizes + 1) ** 2)
    starts = ends - (sizes + 1) ** 2
    allowed = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.bool_)
    members = _members_of(lists)
    alone = all(variables_of(condition) == {variable} for condition in conditions)
    if alone and len(members) ** 2 < len(allowed):
        # Many lists of few members: each two of these are looked at once.
        before, after = np.triu_indices(len(members), 1)
        read = _reader(candidates, variable, {}, before, members[before], members[after])
        held = _all_hold(conditions, read, len(before))
        table = np.zeros((len(members), len(members)), dtype=np.bool_)
        table[before[held], after[held]] = True
        index = np.zeros(int(members.max(initial=0)) + 1, dtype=np.int64)
        index[members] = np.arange(len(members))
        look_up(lists, starts, index, table, allowed)
    else:
        rows, places, before, after = _pairs(lists, starts, len(allowed))
        read = _reader(candidates, variable, chosen, rows, before, after)
        allowed[places[_all_hold(conditions, read, len(rows))]] = True
    for p in np.flatnonzero((lists.firsts < 0) | (lists.lasts < 0)).tolist():
        own = allowed[starts[p] : ends[p]].reshape(sizes[p] + 1, sizes[p] + 1)
        # Nothing is asked of an end that is not bound by itself.
        if lists.firsts[p] < 0:
            own[-1] = True
        if lists.lasts[p] < 0:
            own[:, -1] = True
    ways = Ways(starts, allowed)
    leave_dead_ends_out(lists, ways)
    return ways


def _members_of(lists: Lists) -> npt.NDArray[np.int64]:
    """Return the events of all lists and of their ends, each once."""
    covered = np.zeros(len(lists.members) + 1, dtype=np.int64)
    np.add.at(covered, lists.begins, 1)
    np.add.at(covered, lists.ends, -1)
    listed = lists.members[np.cumsum(covered)[:-1] > 0]
    events = np.unique(np.concatenate((listed, lists.firsts, lists.lasts))).astype(np.int64)
    return events[events >= 0]


def _all_hold(
    conditions: Sequence[Expression], read: Callable[[str, str], Column], size: int
) -> Flags:
    held = np.ones(size, dtype=np.bool_)
    for condition in conditions:
        held &= truth(with_before(condition), read, size)
    return held


def _reader(
    candidates: Mapping[str, Candidates],
    variable: str,
    chosen: Partials,
    rows: npt.NDArray[np.int64],
    before: npt.NDArray[np.int64],
    after: npt.NDArray[np.int64],
) -> Callable[[str, str], Column]:
    def read(name: str, attribute: str) -> Column:
        if name == BEFORE:
            return candidates[variable].attribute(attribute).take(before)
        if name == variable:
            return candidates[variable].attribute(attribute).take(after)
        return candidates[name].column(attribute).take(chosen[name][rows])

    return read


def _pairs(
    lists: Lists, starts: npt.NDArray[np.int64], size: int
) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the row, the place among the flags, and the two events of each pair in order."""
    rows, places = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    before, after = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    count = write_pairs(lists, starts, rows, places, before, after)
    return rows[:count], places[:count], before[:count], after[:count]


@compiled
def write_pairs(
    lists: Lists,
    starts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    before: npt.NDArray[np.int64],
    after: npt.NDArray[np.int64],
) -> int:
    """Write all pairs of members where one may come right before the other; count them."""
    count = 0
    for p in range(starts.size):
        n = lists.ends[p] - lists.begins[p]
        for i in range(n + 1):
            one = lists.firsts[p] if i == n else lists.members[lists.begins[p] + i]
            if one < 0:
                continue
            for j in range(0 if i == n else i + 1, n + 1):
                other = lists.lasts[p] if j == n else lists.members[lists.begins[p] + j]
                if other < 0:
                    continue
                rows[count] = p
                places[count] = starts[p] + i * (n + 1) + j
                before[count] = one
                after[count] = other
                count += 1
    return count


@compiled
def look_up(
    lists: Lists,
    starts: npt.NDArray[np.int64],
    index: npt.NDArray[np.int64],
    table: Flags,
    allowed: Flags,
) -> int:
    """Write which member may follow which, as a table of events says; count the lists."""
    for p in range(starts.size):
        n = lists.ends[p] - lists.begins[p]
        for i in range(n + 1):
            one = lists.firsts[p] if i == n else lists.members[lists.begins[p] + i]
            if one < 0:
                continue
            for j in range(0 if i == n else i + 1, n + 1):
                other = lists.lasts[p] if j == n else lists.members[lists.begins[p] + j]
                if other >= 0:
                    place = starts[p] + i * (n + 1) + j
                    allowed[place] = table[index[one], index[other]]
    return starts.size


@compiled
def leave_dead_ends_out(lists: Lists, ways: Ways) -> int:
    """Forbid what may follow others and leads to no last member; count what is left."""
    left = 0
    for p in range(ways.starts.size):
        n = lists.ends[p] - lists.begins[p]
        start = ways.starts[p]
        for j in range(n - 1, -1, -1):
            alive = False
            for k in range(j + 1, n + 1):
                alive |= ways.allowed[start + j * (n + 1) + k]
            left += alive
            if not alive:
                for i in range(j):
                    ways.allowed[start + i * (n + 1) + j] = False
                ways.allowed[start + n * (n + 1) + j] = False
    return left


def numbers_of_sets(lists: Lists, ways: Ways) -> list[int]:
    """Return for each list how many sets there are, exactly."""
    totals, peaks = np.zeros(len(lists.begins)), np.zeros(len(lists.begins))
    longest = int(lists.lengths.max(initial=0))
    count_ways(lists, ways, np.zeros((2, longest + 1)), totals, peaks)
    numbers = []
    for p, (total, peak) in enumerate(zip(totals.tolist(), peaks.tolist(), strict=True)):
        numbers.append(int(total) if peak < _EXACT else _exactly(lists, ways, p))
    return numbers


@compiled
def count_ways(
    lists: Lists,
    ways: Ways,
    room: npt.NDArray[np.float64],
    totals: npt.NDArray[np.float64],
    peaks: npt.NDArray[np.float64],
) -> int:
    """Count the ways through each list as floats; what is no more than its peak is exact.

    Args:
        lists: The lists.
        ways: Which member may follow which.
        room: float64[2, longest + 1], overwritten: of the ways to each member those of any size, or
            of one size and of the size before.
        totals: float64[rows], the output.
        peaks: float64[rows], the greatest number that came up in counting.

    Returns:
        The number of lists.
    """
    for p in range(ways.starts.size):
        n, start = lists.ends[p] - lists.begins[p], ways.starts[p]
        least, most = lists.least[p], lists.most[p]
        total, peak = 0.0, 0.0
        if most >= n:
            for j in range(n):
                number = 1.0 * ways.allowed[start + n * (n + 1) + j]
                for i in range(j):
                    number += room[0, i] * ways.allowed[start + i * (n + 1) + j]
                room[0, j] = number
                total += number * ways.allowed[start + j * (n + 1) + n]
                peak = max(peak, number)
            total += 1.0 * ways.allowed[start + n * (n + 1) + n]
            peak = max(peak, total)
        # Those of each size, to be left out where all are in, else to be counted.
        since, until = (0, least) if most >= n else (0, most + 1)
        for size in range(since, min(until, n + 1)):
            number = 1.0 * ways.allowed[start + n * (n + 1) + n] if size == 0 else 0.0
            for j in range(n - 1, -1, -1):
                if size == 0:
                    break
                longer = 0.0
                if size == 1:
                    longer = 1.0 * ways.allowed[start + n * (n + 1) + j]
                else:
                    for i in range(j):
                        longer += room[1, i] * ways.allowed[start + i * (n + 1) + j]
                room[1, j] = longer  # what is before j is still of the size before
                number += longer * ways.allowed[start + j * (n + 1) + n]
                peak = max(peak, longer)
            if most >= n:
                total -= number
            elif size >= least:
                total += number
            peak = max(peak, total)
        totals[p] = total
        peaks[p] = peak
    return ways.starts.size


def _exactly(lists: Lists, ways: Ways, p: int) -> int:
    """Return the same number for one list in integers of any size."""
    n, least, most = int(lists.lengths[p]), int(lists.least[p]), int(lists.most[p])
    flags = ways.allowed[ways.starts[p] :][: (n + 1) ** 2].reshape(n + 1, n + 1)
    before = [np.flatnonzero(flags[:j, j]).tolist() for j in range(n)]
    begins, ends = flags[n, :n].tolist(), flags[:n, n].tolist()

    def of_size(number: int) -> Iterator[int]:
        """Yield how many sets there are of each size from 0 on."""
        yield int(flags[n, n])
        longer = [int(begin) for begin in begins]
        for size in range(1, number):
            if size > 1:
                longer = [sum(longer[i] for i in before[j]) for j in range(n)]
            yield sum(ways for ways, end in zip(longer, ends, strict=True) if end)

    if most < n:
        return sum(list(of_size(most + 1))[least:])
    every: list[int] = []
    for j in range(n):
        every.append(int(begins[j]) + sum(every[i] for i in before[j]))
    total = int(flags[n, n]) + sum(w for w, end in zip(every, ends, strict=True) if end)
    return total - sum(islice(of_size(least), least))
