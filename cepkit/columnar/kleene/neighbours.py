"""Conditions between neighbouring members of a set: which candidate may follow which in a list.

For each pair of a list the conditions are evaluated once, together with the bound events of the
row. A set is then a way through the list, from pair to pair: sets grow only along such ways, and
there are as many sets as ways (`counting.py`). Cost: O(n^2) for a list of n candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy import uintp

from cepkit.columnar.join.step import Partials
from cepkit.columnar.kleene.lists import Lists
from cepkit.columnar.slices.candidates import Candidates
from cepkit.compiling import compiled
from cepkit.indexing import BLOCK
from cepkit.pattern import conditions as c
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.rewrite import replaced
from cepkit.stream.columns import Column

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_BEFORE = "\x01before "

BEFORE = _BEFORE + "1"
"""The variable that stands for the member right before another."""

MOST_PAIRS = 1 << 20
"""The number of pairs of candidates that are held at a time."""

LONGEST = 1 << 11
"""The most candidates of a list whose pairs are all looked at; sets of longer lists are tried."""


class Ways(NamedTuple):
    """Which member of a list may follow which.

    Attributes:
        starts: int64[rows], where the flags of a list begin; empty: any may follow any.
        allowed: For a list of n members (n + 1)^2 flags: whether member j may follow member i. i =
            n is the first member, if that is bound, and j = n the last one.
    """

    starts: npt.NDArray[np.int64]
    allowed: Flags


ANY_WAY = Ways(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_))


def with_before(condition: c.Expression) -> c.Expression:
    """Return a condition with attributes of `BEFORE`, or of one further back, for `prev`."""

    def new(node: c.Attribute | c.Aggregate) -> c.Expression:
        if not isinstance(node, c.Aggregate) or node.function.startswith(c.EARLIER):
            return node
        distance = c.distance_of(node.function)
        if not distance or node.attribute is None:
            return node
        return c.Attribute(f"{_BEFORE}{distance}", node.attribute, node.span)

    return replaced(condition, new)


def members_before(condition: c.Expression) -> dict[str, int]:
    """Return how far back each variable is that `with_before` wrote into a condition."""
    nodes = (node for node in c.walk(condition) if isinstance(node, c.Attribute))
    names = {node.variable for node in nodes if node.variable.startswith(_BEFORE)}
    return {name: int(name.removeprefix(_BEFORE)) for name in names}


def between_neighbours(
    conditions: Iterable[c.Expression], variable: str
) -> tuple[c.Expression, ...]:
    """Return the conditions that are between neighbouring members of a set."""
    return tuple(condition for condition in conditions if c.of_neighbours(condition, variable))


def beside(conditions: Iterable[c.Expression], variable: str) -> list[str]:
    """Return the other variables that conditions between the members of a set read."""
    names = frozenset[str]().union(*map(c.variables_of, conditions))
    return sorted(names - {variable})


def stretches(lists: Lists, most: int = MOST_PAIRS) -> Iterator[slice]:
    """Yield stretches of rows: at least one row, at most `most` pairs."""
    pairs = np.cumsum((lists.lengths.astype(np.int64) + 1) ** 2)
    begin = 0
    while begin < len(pairs):
        before = int(pairs[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(pairs, before + most, side="right")))
        yield slice(begin, min(end, len(pairs)))
        begin = end


def can_be_linked(lists: Lists) -> bool:
    """Return whether the pairs of the lists are few enough to check all."""
    return int(lists.lengths.max(initial=0)) <= LONGEST


def in_stream_order(lists: Lists) -> bool:
    """Return whether the members of each list stand in stream order."""
    stretches_of_members = zip(lists.begins.tolist(), lists.ends.tolist(), strict=True)
    return all((np.diff(lists.members[begin:end]) > 0).all() for begin, end in stretches_of_members)


def ways_of(
    candidates: Mapping[str, Candidates],
    conditions: Sequence[c.Expression],
    variable: str,
    chosen: Partials,
    lists: Lists,
) -> Ways:
    """Return which members of lists may follow which.

    Args:
        lists: Its lists, members in stream order.
    """
    sizes = lists.lengths.astype(np.int64)
    ends = np.cumsum((sizes + 1) ** 2)
    starts = ends - (sizes + 1) ** 2
    allowed = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.bool_)
    members = _members_of(lists)
    if not beside(conditions, variable) and len(members) ** 2 < len(allowed):
        # Many lists share few members: each pair of these is looked at once, some rows of the
        # table at a time.
        table = np.zeros((len(members), len(members)), dtype=np.bool_)
        height = 1 + BLOCK // (1 + len(members))
        for top in range(0, len(members), height):
            left = len(members) - top
            above, beyond = np.triu_indices(min(height, left), 1, left)
            before, after = above + top, beyond + top
            read = _reader(candidates, variable, {}, before, members[before], members[after])
            table[before, after] = _all_hold(conditions, read, len(before))
        index = np.zeros(int(members.max(initial=0)) + 1, dtype=np.int64)
        index[members] = np.arange(len(members))
        look_up(lists, starts, index, table, allowed)
    else:
        rows, places, before, after = _pairs(lists, starts, len(allowed))
        read = _reader(candidates, variable, chosen, rows, before, after)
        allowed[places[_all_hold(conditions, read, len(rows))]] = True
    for p in np.flatnonzero((lists.firsts < 0) | (lists.lasts < 0)).tolist():
        own = allowed[starts[p] : ends[p]].reshape(sizes[p] + 1, sizes[p] + 1)
        # No condition is about an end that is not bound.
        if lists.firsts[p] < 0:
            own[-1] = True
        if lists.lasts[p] < 0:
            own[:, -1] = True
    return Ways(starts, allowed)


def _members_of(lists: Lists) -> npt.NDArray[np.int64]:
    """Return the events of all lists and of their ends, each once."""
    covered = np.zeros(len(lists.members) + 1, dtype=np.int64)
    np.add.at(covered, lists.begins, 1)
    np.add.at(covered, lists.ends, -1)
    listed = lists.members[np.cumsum(covered)[:-1] > 0]
    events = np.unique(np.concatenate((listed, lists.firsts, lists.lasts))).astype(np.int64)
    return events[events >= 0]


def _all_hold(
    conditions: Sequence[c.Expression], read: Callable[[str, str], Column], size: int
) -> Flags:
    mask = np.ones(size, dtype=np.bool_)
    for condition in conditions:
        mask &= truth(with_before(condition), read, size)
    return mask


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
        begin, n = lists.begins[p], lists.ends[p] - lists.begins[p]
        low = index[lists.members[begin]] if n > 0 else 0
        # If the members of the list are side by side in the table too, a row of it is copied.
        beside = n > 0 and index[lists.members[begin + n - 1]] - low == n - 1
        for i in range(n + 1):
            one = lists.firsts[p] if i == n else lists.members[begin + i]
            if one < 0:
                continue
            own, place, since = index[one], starts[p] + i * (n + 1), 0 if i == n else i + 1
            if beside:
                row, shift, to = uintp(own), uintp(low), uintp(place)
                for j in range(uintp(since), uintp(n)):
                    allowed[to + j] = table[row, shift + j]
            else:
                for j in range(since, n):
                    allowed[place + j] = table[own, index[lists.members[begin + j]]]
            if lists.lasts[p] >= 0:
                allowed[place + n] = table[own, index[lists.lasts[p]]]
    return starts.size


@compiled
def leave_dead_ends_out(lists: Lists, ways: Ways) -> int:
    """Forbid members from which no way leads to a last one; return the number of the others."""
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
