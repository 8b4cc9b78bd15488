"""Enumerates sets chosen from lists, and prunes by sums and counts that only grow.

A condition that bounds a sum or a count from above is a cap. If no member has a negative value, a
set that exceeds its cap is not extended. Cost: the sets, and those that were cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.kleene import Cap
from cepkit.columnar.compile.program import SetStep
from cepkit.columnar.join.step import Partials
from cepkit.columnar.kleene.lists import MEMBERS, Lists
from cepkit.columnar.kleene.neighbours import Ways
from cepkit.columnar.slices.blocks import Members
from cepkit.columnar.slices.candidates import Candidates
from cepkit.compiling import compiled, lent
from cepkit.pattern.evaluation.columns import value
from cepkit.pattern.evaluation.kinds import as_floats
from cepkit.stream.columns import Column

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SETS = 1 << 15
"""The number of sets that are chosen at a time."""

FEW_SETS = 1 << 4
"""The number of sets that are chosen at first, if one that fulfils the conditions is enough."""


class Caps(NamedTuple):
    """The limits on sums and counts over sets.

    Attributes:
        weights: float64[caps, members], the value of each listed member, none negative.
        limits: float64[caps, rows], the greatest sum of those that are chosen for a row.
    """

    weights: Floats
    limits: Floats


class Cursor(NamedTuple):
    """The place where the enumeration continues.

    Attributes:
        state: int64[2], the number of the list, and of the members chosen from it so far; -1 at its
            beginning.
        stack: int32[longest + 1], the places in the list of the members chosen so far.
        sums: float64[caps, longest + 2], the sums of their values, from none to all of them.
    """

    state: Times
    stack: Ints
    sums: Floats


class ChosenSets(NamedTuple):
    """Room for the sets that are chosen.

    Attributes:
        parents: int32[room], the list of each set.
        starts: int64[room + 1], where the members of each begin, and the end.
        rows: int32[members], the members.
    """

    parents: Ints
    starts: Times
    rows: Ints


def subsets_of(
    lists: Lists, caps: Caps, ways: Ways, *, falling: bool = False
) -> Iterator[tuple[Ints, Members]]:
    """Yield all sets of all lists in blocks, and the list of each set.

    Args:
        caps: The limits that cut sets off.
        ways: Which member may follow which.
        falling: Whether sets come before their own subsets, and few are wanted.
    """
    longest = int(lists.lengths.max(initial=0))
    cursor = Cursor(
        np.array([0, -1], dtype=np.int64),
        np.zeros(longest + 1, dtype=np.int32),
        np.zeros((len(caps.limits), longest + 2)),
    )
    room = FEW_SETS if falling else SETS
    while cursor.state[0] < len(lists.begins):
        chosen = ChosenSets(
            np.empty(room, dtype=np.int32),
            np.empty(room + 1, dtype=np.int64),
            np.empty(MEMBERS + longest, dtype=np.int32),
        )
        count = choose(lists, caps, ways, cursor, chosen, falling)
        room = min(SETS, 4 * room)
        if count:
            starts = chosen.starts[: count + 1]
            yield chosen.parents[:count], Members(starts, chosen.rows[: starts[-1]])


def caps_of(
    candidates: Mapping[str, Candidates], step: SetStep, chosen: Partials, lists: Lists
) -> Caps:
    """Return the caps of a Kleene variable."""
    weights = np.zeros((len(step.caps), len(lists.members)))
    limits = np.full((len(step.caps), len(lists.begins)), np.inf)

    def read(variable: str, attribute: str) -> Column:
        return candidates[variable].column(attribute).take(chosen[variable])

    for k, cap in enumerate(step.caps):
        assert cap.function.attribute is not None
        column = candidates[step.repeated.variable].attribute(cap.function.attribute)

        def weigh(
            rows: npt.NDArray[np.integer], column: Column = column, cap: Cap = cap
        ) -> npt.NDArray[np.float64]:
            own = column.take(rows)
            if cap.function.function == "count":
                return (~own.missing()).astype(np.float64)
            return np.nan_to_num(as_floats(own), nan=0.0, posinf=np.inf, neginf=-np.inf)

        own = weigh(lists.members)
        # A sum that may fall again says nothing about larger sets.
        if (own < 0).any():
            continue
        weights[k] = own
        limit = np.broadcast_to(as_floats(value(cap.limit, read)), len(lists.begins))
        # With a missing limit the condition is never true.
        limit = np.where(np.isnan(limit), -np.inf, limit + 1e-9 * np.abs(limit))
        for ends in (lists.firsts, lists.lasts):
            bound = ends >= 0
            weight = np.zeros(len(ends))
            weight[bound] = weigh(ends[bound])
            limit = np.where(weight < 0, np.inf, limit - weight)
        limits[k] = limit
    return Caps(weights, limits)


@lent
def _may_follow(lists: Lists, ways: Ways, cursor: Cursor, p: int, level: int, member: int) -> bool:
    """Return whether a member of list `p`, or its end, may follow the last of `level` others."""
    if ways.starts.size == 0:
        return True
    length = lists.ends[p] - lists.begins[p]
    before = cursor.stack[level - 1] if level > 0 else length
    return bool(ways.allowed[ways.starts[p] + before * (length + 1) + member])


@lent
def _added(
    lists: Lists, caps: Caps, ways: Ways, cursor: Cursor, p: int, level: int, member: int
) -> bool:
    """Choose a member of list `p` after `level` others; return whether nothing forbids it."""
    fits = _may_follow(lists, ways, cursor, p, level, member)
    cursor.stack[level] = member
    for k in range(caps.limits.shape[0]):
        weight = caps.weights[k, lists.begins[p] + member]
        cursor.sums[k, level + 1] = cursor.sums[k, level] + weight
        fits &= cursor.sums[k, level + 1] <= caps.limits[k, p]
    return fits


@lent
def _next_falling(lists: Lists, caps: Caps, ways: Ways, cursor: Cursor, p: int, depth: int) -> int:
    """Choose the set after one of `depth` members (-1: the first set); return its size.

    It has as many of the candidates after the last member in its place as can be, or none.
    """
    length, least, most = lists.ends[p] - lists.begins[p], lists.least[p], lists.most[p]
    following = cursor.stack[depth - 1] + 1 if depth > 0 else 0
    depth = max(depth, 1) - 1
    while depth < most and following + max(least - depth, 1) <= length:
        depth += _added(lists, caps, ways, cursor, p, depth, following)
        following += 1
    return depth


@lent
def _next_rising(lists: Lists, caps: Caps, ways: Ways, cursor: Cursor, p: int, depth: int) -> int:
    """Choose the set after one of `depth` members; return its size, -1: there is none.

    The next member goes after the last one, or takes the place of an earlier one.
    """
    length, least, most = lists.ends[p] - lists.begins[p], lists.least[p], lists.most[p]
    following = cursor.stack[depth - 1] + 1 if depth > 0 else 0
    level = depth if depth < most else depth - 1
    while level >= 0:
        while following + max(least - level, 1) <= length:
            if _added(lists, caps, ways, cursor, p, level, following):
                return level + 1
            following += 1
        level -= 1
        if level >= 0:
            following = cursor.stack[level] + 1
    return -1


@compiled
def choose(
    lists: Lists, caps: Caps, ways: Ways, cursor: Cursor, chosen: ChosenSets, falling: bool
) -> int:
    """Write sets chosen from lists, one list after the other, while there is room.

    The sets of one list come in lexicographic order, a set before the longer ones that begin with
    it: 1, 12, 123, 13, 2, 23, 3. Or, `falling`, after them: 123, 12, 13, 1, 23, 2, 3. A set that
    can no longer reach its least size is not begun, and one that exceeds a cap is not extended.

    Args:
        cursor: Where to continue; afterwards where to continue next.
        chosen: The output.
        falling: Whether a set comes after the longer ones that begin with it.

    Returns:
        How many sets were written; all are when `cursor.state[0]` is the number of lists.
    """
    p, depth = cursor.state[0], cursor.state[1]
    sets = 0
    items = 0
    chosen.starts[0] = 0
    while p < lists.begins.size:
        begin, most = lists.begins[p], lists.most[p]
        length = lists.ends[p] - begin
        if sets == chosen.parents.size or items + min(length, most) + 2 > chosen.rows.size:
            break
        if falling and depth != 0:
            depth = _next_falling(lists, caps, ways, cursor, p, depth)
        elif falling:
            depth = -1  # the set of no listed member was the last one
        else:
            depth = _next_rising(lists, caps, ways, cursor, p, depth) if depth >= 0 else 0
        if depth < 0:
            p += 1
            continue
        written = lists.least[p] <= depth <= most
        written &= _may_follow(lists, ways, cursor, p, depth, length)
        if depth == 0:
            for k in range(caps.limits.shape[0]):
                written &= caps.limits[k, p] >= 0
        if written:
            chosen.parents[sets] = p
            if lists.firsts[p] >= 0:
                chosen.rows[items] = lists.firsts[p]
                items += 1
            for i in range(depth):
                chosen.rows[items] = lists.members[begin + cursor.stack[i]]
                items += 1
            if lists.lasts[p] >= 0:
                chosen.rows[items] = lists.lasts[p]
                items += 1
            sets += 1
            chosen.starts[sets] = items
    cursor.state[0], cursor.state[1] = p, depth
    return sets
