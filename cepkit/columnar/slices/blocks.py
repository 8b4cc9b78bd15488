"""Blocks of matches: the event of each single variable, the members of each set.

Each block is consumed before the next one is built, so memory is bounded by one block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.columnar.slices.candidates import Candidates
from cepkit.indexing import repeated, take
from cepkit.pattern.repetitions import Group

Ints = npt.NDArray[np.int32]

_NOT_SHIFTED = np.int32(0)


@dataclass(frozen=True, slots=True)
class Members:
    """For each of some matches the members of a set, as a list of lists.

    Attributes:
        starts: Where the members of each match begin, and the end.
        rows: The events, in stream order inside of a match.
    """

    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.integer]

    @property
    def nbytes(self) -> int:
        """The bytes of both."""
        return self.starts.nbytes + self.rows.nbytes

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of members of each match."""
        return np.diff(self.starts)

    @property
    def first(self) -> npt.NDArray[np.integer]:
        """The first member in each match."""
        return self.rows[self.starts[:-1]]

    @property
    def last(self) -> npt.NDArray[np.integer]:
        """The last member in each match."""
        return self.rows[self.starts[1:] - 1]

    def in_stream_order(self) -> Members:
        """Return the sets with the members of each in stream order."""
        rising = self.rows[1:] > self.rows[:-1]
        between = self.starts[(self.starts > 0) & (self.starts < len(self.rows))]
        rising[between - 1] = True  # two sets have no order
        if rising.all():
            return self  # to look costs a hundredth of sorting
        matches = repeated(np.arange(len(self.sizes)), self.sizes)
        return Members(self.starts, self.rows[np.lexsort((self.rows, matches))])

    def with_last(self, events: npt.NDArray[np.integer]) -> Members:
        """Return the sets with one more event behind the members of each."""
        starts = self.starts + np.arange(len(self.starts))
        return Members(starts, np.insert(self.rows, self.starts[1:], events))

    def slice(self, begin: int, end: int) -> Members:
        """Return the sets of the matches from `begin` up to, not including, `end`."""
        starts = self.starts[begin : end + 1]
        return Members(starts - starts[0], self.rows[starts[0] : starts[-1]])

    def take(self, at: npt.NDArray[np.integer]) -> Members:
        """Return the sets of the matches at `at`."""
        sizes = self.sizes[at]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = repeated(self.starts[:-1][at] - starts[:-1], sizes) + np.arange(starts[-1])
        return Members(starts, self.rows[places])


@dataclass(frozen=True, slots=True)
class PairBlock:
    """A block of matches of a slice, whose last step stays as pairs until it is needed.

    It is valid until the next block is requested: the pairs lie in a reused buffer.

    Attributes:
        size: The number of matches; they have no events if they are only counted.
    """

    size: int
    _candidates: Mapping[str, Candidates]
    _partials: Mapping[str, Ints]
    _parents: Ints
    _new: Mapping[str, Ints]
    _shift: np.integer = _NOT_SHIFTED

    def events(self, variable: str) -> npt.NDArray[np.integer]:
        """Return for each match the row of the event that `variable` is bound to."""
        rows = self._candidates[variable].rows_from(self._shift)
        if variable in self._new:
            return take(rows, self._new[variable])
        return take(take(rows, self._partials[variable]), self._parents)

    def held(self) -> SetBlock:
        """Return the matches with their events, which stay valid."""
        return SetBlock(self.size, {v: self.events(v) for v in (*self._partials, *self._new)}, {})

    def shifted(self, rows: np.integer) -> PairBlock:
        """Return the block with rows of a stream in which the slice begins at `rows`."""
        return replace(self, _shift=rows)

    def members(self, _: str) -> Members | None:
        """Return None: there are no sets."""
        return None

    def partials(self) -> tuple[Mapping[str, Ints], int]:
        """Return the candidate of each variable in each match, and how many there are."""
        known = {v: take(at, self._parents) for v, at in self._partials.items()}
        # The new ones may lie in a reused buffer.
        return known | {v: at.copy() for v, at in self._new.items()}, self.size


@dataclass(frozen=True, slots=True)
class SetBlock:
    """A block of matches of a slice whose sets are chosen.

    Attributes:
        size: The number of matches; it exceeds the number of rows if they are only counted.
    """

    size: int
    _rows: Mapping[str, npt.NDArray[np.integer]]
    _members: Mapping[str, Members]
    _shift: np.integer = _NOT_SHIFTED

    @property
    def nbytes(self) -> int:
        """The bytes of the matches."""
        of_sets = sum(each.nbytes for each in self._members.values())
        return of_sets + sum(each.nbytes for each in self._rows.values())

    def events(self, variable: str) -> npt.NDArray[np.integer]:
        """Return for each match the row of the event that `variable` is bound to."""
        rows = self._rows[variable]
        return rows + self._shift if self._shift else rows

    def members(self, variable: str) -> Members | None:
        """Return the rows of the members of `variable` in each match; None if it is not a set."""
        if variable not in self._members:
            return None
        members = self._members[variable]
        return Members(members.starts, members.rows.astype(np.int64) + self._shift)

    def take(self, at: npt.NDArray[np.integer]) -> SetBlock:
        """Return the matches at `at`."""
        rows = {v: events[at] for v, events in self._rows.items()}
        return SetBlock(len(at), rows, {v: m.take(at) for v, m in self._members.items()})

    def among(self, events: npt.NDArray[np.integer]) -> SetBlock:
        """Return the matches as rows of a stream, of which the slice has these events."""
        rows = {v: events[own] for v, own in self._rows.items()}
        members = {v: Members(m.starts, events[m.rows]) for v, m in self._members.items()}
        return SetBlock(self.size, rows, members)

    def followed_by(self, *others: SetBlock) -> SetBlock:
        """Concatenate this block and others."""
        blocks = (self, *others)
        rows = {v: np.concatenate([each.events(v) for each in blocks]) for v in self._rows}
        members = {}
        for variable in self._members:
            sets = [m for each in blocks if (m := each.members(variable)) is not None]
            sizes = np.concatenate([each.sizes for each in sets])
            starts = np.concatenate(([0], np.cumsum(sizes)))
            members[variable] = Members(starts, np.concatenate([each.rows for each in sets]))
        return SetBlock(sum(each.size for each in blocks), rows, members)

    def shifted(self, rows: np.integer) -> SetBlock:
        """Return the block with rows of a stream in which the slice begins at `rows`."""
        return replace(self, _shift=rows)


Block: TypeAlias = PairBlock | SetBlock


def bound_in(
    block: Block, variables: Sequence[str], groups: Sequence[Group] = ()
) -> tuple[dict[str, npt.NDArray[np.integer]], dict[str, Members]]:
    """Return the event of each single variable in some matches, and the set of each other one.

    Args:
        groups: Those that repeat: of each variable the events of all repetitions are a set.
    """
    members = {v: block.members(v) for v in variables}
    sets = {v: members_of for v, members_of in members.items() if members_of is not None}
    events = {v: block.events(v) for v in variables if v not in sets}
    for group in groups:
        for variable, names in group.within(variables).items():
            rows = np.stack([events.pop(name) for name in names], axis=1)
            sets[variable] = Members(np.arange(block.size + 1) * rows.shape[1], rows.ravel())
    return events, sets
