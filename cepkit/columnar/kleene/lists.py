"""Lists of candidates that sets are chosen from, and the number of possible sets.

A list of n stands for 2^n - 1 sets. Their number follows from its length and from what must and
may be chosen; no set is made for it. Cost: the candidates of the lists, or O(rows) where a list is
a range of candidates; and arithmetic on integers of n bits for each length that there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepkit.columnar.compile.program import StepCounters
from cepkit.columnar.join.step import Join, Partials
from cepkit.columnar.slices.binding import BoundProgram
from cepkit.columnar.slices.blocks import Members
from cepkit.columnar.slices.bound import BoundStep
from cepkit.indexing import bin_counts, repeated, value_codes
from cepkit.pattern.requirements import MOST_MEMBERS

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

MEMBERS = 1 << 19
"""The number of members of sets that are held at a time."""

_SPAN = 1 << 32
"""A number above the number of events of a slice."""


class Lists(NamedTuple):
    """For each row the candidates of one Kleene variable.

    Attributes:
        begins: int32[rows], where the list begins in `members`.
        ends: int32[rows], where it ends.
        members: int32[members], events of the slice.
        least: int32[rows], the fewest to choose from the list, beside the bound ends.
        most: int32[rows], the most.
        firsts: int32[rows], the first member where it is bound; -1: it is not.
        lasts: int32[rows], the last one where it is another one.
    """

    begins: Ints
    ends: Ints
    members: Ints
    least: Ints
    most: Ints
    firsts: Ints
    lasts: Ints

    @property
    def lengths(self) -> Ints:
        """The length of each list."""
        return self.ends - self.begins

    def fitting(self) -> npt.NDArray[np.bool_]:
        """Return for each row whether there is any set."""
        return (self.lengths >= self.least) & (self.most >= self.least)

    def take(self, at: npt.NDArray[np.integer] | slice) -> Lists:
        """Return the lists of the rows at `at`."""
        return Lists(
            self.begins[at],
            self.ends[at],
            self.members,
            self.least[at],
            self.most[at],
            self.firsts[at],
            self.lasts[at],
        )

    @classmethod
    def of(cls, members: Members) -> Lists:
        """Return lists whose only set is the whole list."""
        sizes, none = members.sizes.astype(np.int32), np.full(len(members.sizes), -1, np.int32)
        starts = members.starts.astype(np.int32)
        rows = members.rows.astype(np.int32, copy=False)
        return cls(starts[:-1], starts[1:], rows, sizes, sizes, none, none)

    def by_arrival(self, arrival: Times) -> Lists:
        """Return the lists with their members in the order of these numbers of events."""
        sizes = self.lengths.astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = repeated(self.begins - starts[:-1], sizes) + np.arange(starts[-1])
        members = self.members[places]
        order = np.lexsort((arrival[members], repeated(np.arange(len(sizes)), sizes)))
        starts = starts.astype(np.int32)
        return self._replace(begins=starts[:-1], ends=starts[1:], members=members[order])

    def largest(self) -> Members:
        """Return for each row its largest set, of the earliest members where there is a choice."""
        sizes = np.minimum(self.lengths, self.most).astype(np.int64)
        first, last = (self.firsts >= 0).astype(np.int64), (self.lasts >= 0).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes + first + last)))
        rows = np.empty(starts[-1], dtype=np.int32)
        rows[starts[:-1][self.firsts >= 0]] = self.firsts[self.firsts >= 0]
        rows[starts[1:][self.lasts >= 0] - 1] = self.lasts[self.lasts >= 0]
        within = np.arange(sizes.sum()) - repeated(np.cumsum(sizes) - sizes, sizes)
        places = repeated(starts[:-1] + first, sizes) + within
        rows[places] = self.members[repeated(self.begins, sizes) + within]
        return Members(starts, rows)


def _codes(lists: Lists) -> npt.NDArray[np.int64]:
    """Return a code for each row: rows with equal codes have equal numbers of sets."""
    lengths = lists.lengths.astype(np.int64)
    codes = lengths * 3 + (lists.firsts >= 0) + (lists.lasts >= 0)
    # The whole list is the only set, whatever its length: runs have thousands of lengths.
    codes[(lists.least == lengths) & (lists.most >= lengths)] = -1
    return codes


def parts_of(lists: Sequence[Lists], size: int) -> Iterator[slice]:
    """Yield stretches of rows whose lists fit into memory together; at least one row each."""
    lengths = np.cumsum(np.sum([one.lengths.astype(np.int64) for one in lists], axis=0))
    begin = 0
    while begin < size:
        before = int(lengths[begin - 1]) if begin else 0
        end = int(np.searchsorted(lengths, before + MEMBERS, side="right"))
        end = min(size, max(end, begin + 1))
        yield slice(begin, end)
        begin = end


@cache
def _choices(length: int, least: int, most: int) -> int:
    """Return how many sets of `least` to `most` members there are of `length`."""
    if least <= 1 and most >= length:
        return (1 << length) - (least == 1)
    return sum(math.comb(length, size) for size in range(least, min(most, length) + 1))


def kinds_of(lists: Sequence[Lists], size: int) -> tuple[list[int], npt.NDArray[np.int64]]:
    """Return how many ways there are to choose all sets of a row, exactly.

    Returns:
        The different numbers, and for each row which of them is its own.
    """
    numbers, which = [1], np.zeros(size, dtype=np.int64)
    for one in lists:
        own, at = _kinds(_codes(one))
        kinds = one.take(at)
        sizes = zip(kinds.lengths.tolist(), kinds.least.tolist(), kinds.most.tolist(), strict=True)
        choices = [_choices(*each) for each in sizes]
        before = which
        which, at = (own, at) if len(numbers) == 1 else _kinds(before * len(at) + own)
        pairs = zip(before[at].tolist(), own[at].tolist(), strict=True)
        numbers = [numbers[known] * choices[code] for known, code in pairs]
    return numbers, which


def _kinds(codes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Times]:
    """Return which of the different codes each row has, and a row of each."""
    kinds, number = value_codes(codes)
    at = np.zeros(number, dtype=np.int64)
    at[kinds] = np.arange(len(codes))
    return kinds.astype(np.int64), at


def total_of(numbers: Sequence[int], which: npt.NDArray[np.int64]) -> int:
    """Return the sum over all rows, each having one of `numbers`."""
    times = bin_counts(which, minlength=len(numbers)).tolist()
    total: int = sum(number * count for number, count in zip(numbers, times, strict=True))
    return total


class Listing:
    """Lists for each row the candidates of its Kleene variables.

    Args:
        counters: One for each Kleene variable; the work is added to them.
    """

    def __init__(self, bound: BoundProgram, join: Join, counters: Sequence[StepCounters]) -> None:
        self._bound = bound
        self._join = join
        self._counters = counters
        self._steps = bound.program.sets
        self._ranges: dict[int, Times] = {}
        # Under contiguity a set has all candidates between its ends, unless two sets could share
        # them, or events did not arrive in the order of time.
        program = bound.program
        contiguous = program.side_by_side is not None and bound.binder.in_order
        self._whole = contiguous and not program.overlapping

    def listed(
        self, rows: Partials, size: int, lists: tuple[Lists, ...] = ()
    ) -> Iterator[tuple[Partials, int, tuple[Lists, ...]]]:
        """Yield rows with the lists of all Kleene variables; `lists` has the first of them."""
        number = len(lists)
        if number == len(self._steps):
            yield rows, size, lists
            return
        counters = self._counters[number]
        began = perf_counter()
        for begin, end, own in self._lists(number, rows, size):
            fitting = own.fitting()
            fitting_rows = np.flatnonzero(fitting)
            some = {v: column[begin:end][fitting_rows] for v, column in rows.items()}
            before = tuple(one.take(slice(begin, end)).take(fitting_rows) for one in lists)
            counters.peak_rows = max(counters.peak_rows, len(fitting_rows))
            if number < len(self._steps) - 1:
                counters.survivors += len(fitting_rows)
            counters.seconds += perf_counter() - began
            if len(fitting_rows):
                yield from self.listed(some, len(fitting_rows), (*before, own.take(fitting_rows)))
            began = perf_counter()
        counters.seconds += perf_counter() - began

    def _lists(self, number: int, rows: Partials, size: int) -> Iterator[tuple[int, int, Lists]]:
        """Yield stretches of rows with their lists of one Kleene variable."""
        step = self._steps[number]
        if not step.shared:
            for begin, end, begins, ends, members in self._stretches(number, rows, size):
                some = {v: column[begin:end] for v, column in rows.items()}
                yield begin, end, self._between(number, some, begins, ends, members)
            return
        # Rows that differ in the ends alone stand together and have one list.
        others = {v: column for v, column in rows.items() if v not in step.shared}
        changes = np.ones(size, dtype=np.bool_)
        changes[1:] = False
        for column in others.values():
            changes[1:] |= column[1:] != column[:-1]
        heads = np.append(np.flatnonzero(changes), size)
        distinct = {v: column[heads[:-1]] for v, column in others.items()}
        for begin, end, begins, ends, members in self._stretches(number, distinct, len(heads) - 1):
            since, until = int(heads[begin]), int(heads[end])
            lists = repeated(np.arange(end - begin), np.diff(heads[begin : end + 1]))
            some = {v: column[since:until] for v, column in rows.items()}
            low, high = self._between_ends(number, some, lists, begins, ends, members)
            yield since, until, self._between(number, some, low, high, members)

    def _between_ends(
        self,
        number: int,
        rows: Partials,
        lists: npt.NDArray[np.integer],
        begins: Ints,
        ends: Ints,
        members: Ints,
    ) -> tuple[Ints, Ints]:
        """Return the part of each row's list that lies between the ends of the row."""
        step = self._steps[number]
        repeated, candidates = step.repeated, self._bound.candidates
        groups, ordered = self._ascending(number, begins, ends, members)
        low, high, own = begins[lists], ends[lists], groups[lists]
        if repeated.first is not None and repeated.first in step.shared:
            first = candidates[repeated.first].rows[rows[repeated.first]]
            low = np.maximum(low, np.searchsorted(ordered, own + first, side="right"))
        if repeated.last is not None and repeated.last in step.shared:
            last = candidates[repeated.last].rows[rows[repeated.last]]
            high = np.minimum(high, np.searchsorted(ordered, own + last, side="left"))
        return low.astype(np.int32), np.maximum(low, high).astype(np.int32)

    def _ascending(
        self, number: int, begins: Ints, ends: Ints, members: Ints
    ) -> tuple[Times, Times]:
        """Return an offset for each list, and ascending numbers of all members (event plus offset).

        Ranges of candidates ascend by key and event, so no list is copied; lists that stand one
        after the other ascend by list and event.
        """
        bound = self._bound.sets[number]
        if not _is_range(bound):
            lists = np.arange(len(begins), dtype=np.int64) * _SPAN
            return lists, repeated(lists, ends - begins) + members
        key = bound.candidates.key_class
        codes = None if key is None else bound.candidates.keys[key]
        own = np.zeros(len(begins), dtype=np.int64)
        if codes is not None:
            filled = begins < ends  # nothing is looked up in an empty list
            own[filled] = codes[begins[filled]]
        if number not in self._ranges:
            keys = np.int64(0) if codes is None else codes.astype(np.int64) * _SPAN
            self._ranges[number] = members + keys
        return own * _SPAN, self._ranges[number]

    def _stretches(
        self, number: int, rows: Partials, size: int
    ) -> Iterator[tuple[int, int, Ints, Ints, Ints]]:
        """Yield stretches of rows, and where the list of each begins and ends in the members."""
        bound, counters = self._bound.sets[number], self._counters[number]
        events = self._bound.candidates[self._steps[number].repeated.variable].rows
        if _is_range(bound):
            low, high = self._join.ranges(bound, rows, size)
            high = np.maximum(low, high)
            counters.look_at(int((high.astype(np.int64) - low).sum()))
            yield 0, size, low, high, events
            return
        for begin, end, parents, candidates in self._join.groups(bound, counters, rows, size):
            counts = bin_counts(parents - begin, minlength=end - begin)
            ends = np.cumsum(counts).astype(np.int32)
            yield begin, end, (ends - counts).astype(np.int32), ends, events[candidates]

    def _between(
        self, number: int, rows: Partials, begins: Ints, ends: Ints, members: Ints
    ) -> Lists:
        """Return the lists with the ends of their sets and how many other members are chosen."""
        repeated = self._steps[number].repeated
        none = np.full(len(begins), -1, dtype=np.int32)
        firsts, lasts = (
            none if end is None else self._bound.candidates[end].rows[rows[end]]
            for end in (repeated.first, repeated.last)
        )
        lasts = np.where(firsts == lasts, np.int32(-1), lasts)
        bounds = (firsts >= 0).astype(np.int32) + (lasts >= 0)
        least = np.maximum(repeated.minimum - bounds, np.where(bounds, 0, 1)).astype(np.int32)
        lengths = ends - begins
        most = lengths if repeated.maximum is None else (repeated.maximum - bounds).astype(np.int32)
        if self._whole or repeated.run == "first" or (repeated.run and self._bound.binder.in_order):
            least = np.where(lengths < least, np.int32(MOST_MEMBERS), lengths)
        return Lists(begins, ends, members, least, np.minimum(most, lengths), firsts, lasts)


def _is_range(bound: BoundStep) -> bool:
    """Return whether the list of a row is a range of candidates, none of them left out."""
    step = bound.step
    checked = bound.bands or bound.residuals or step.distinct or step.follows or step.precedes
    return not checked
