"""What sets can be chosen from: a list of candidates for each row, and how many ways there are.

A list of n stands for 2^n - 1 sets. Their number follows from its length and from what must and
may be chosen; no set is made for it. Cost: O(rows), and arithmetic on integers of n bits for each
length that there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from cepkit.columnar.slices.blocks import Members

Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

MEMBERS = 1 << 19
"""Members of sets that are held at a time."""


@dataclass(frozen=True, slots=True)
class Lists:
    """For each row what one Kleene variable can choose from.

    Attributes:
        begins: Where the list begins in `members`.
        ends: Where it ends.
        members: Events of the slice.
        least: The fewest to choose from the list, the ends being members already.
        most: The most.
        firsts: The first member where it is bound; -1: it is not.
        lasts: The last one where it is another one.
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
        """Return lists from which there is one choice: all of it."""
        sizes, none = members.sizes.astype(np.int32), np.full(len(members.sizes), -1, np.int32)
        starts = members.starts.astype(np.int32)
        rows = members.rows.astype(np.int32, copy=False)
        return cls(starts[:-1], starts[1:], rows, sizes, sizes, none, none)

    def by_arrival(self, arrival: Times) -> Lists:
        """Return the lists with their members in the order of these numbers of events."""
        sizes = self.lengths.astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(self.begins - starts[:-1], sizes) + np.arange(starts[-1])
        members = self.members[places]
        order = np.lexsort((arrival[members], np.repeat(np.arange(len(sizes)), sizes)))
        starts = starts.astype(np.int32)
        return replace(self, begins=starts[:-1], ends=starts[1:], members=members[order])

    def largest(self) -> Members:
        """Return for each row its largest set, of the earliest members where there is a choice."""
        sizes = np.minimum(self.lengths, self.most).astype(np.int64)
        first, last = (self.firsts >= 0).astype(np.int64), (self.lasts >= 0).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes + first + last)))
        rows = np.empty(starts[-1], dtype=np.int32)
        rows[starts[:-1][self.firsts >= 0]] = self.firsts[self.firsts >= 0]
        rows[starts[1:][self.lasts >= 0] - 1] = self.lasts[self.lasts >= 0]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.repeat(starts[:-1] + first, sizes) + within
        rows[places] = self.members[np.repeat(self.begins, sizes) + within]
        return Members(starts, rows)


def _codes(lists: Lists) -> npt.NDArray[np.int64]:
    """Return a number for each row that tells its number of sets: by length and ends."""
    given = (lists.firsts >= 0).astype(np.int64) + (lists.lasts >= 0)
    return lists.lengths.astype(np.int64) * 3 + given


def parts_of(lists: Sequence[Lists], size: int) -> Iterator[slice]:
    """Yield stretches of rows whose lists together can be held; of one row at least."""
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
        _, at, codes = np.unique(_codes(one), return_index=True, return_inverse=True)
        choices = [_choices(int(one.lengths[i]), int(one.least[i]), int(one.most[i])) for i in at]
        both, which = np.unique(which * len(choices) + codes, return_inverse=True)
        pairs = (divmod(int(pair), len(choices)) for pair in both)
        numbers = [numbers[before] * choices[code] for before, code in pairs]
    return numbers, which


def total_of(numbers: Sequence[int], which: npt.NDArray[np.int64]) -> int:
    """Return the sum over all rows, each having one of `numbers`."""
    times = np.bincount(which, minlength=len(numbers)).tolist()
    total: int = sum(number * count for number, count in zip(numbers, times, strict=True))
    return total
