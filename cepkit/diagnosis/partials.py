"""Partial matches that may violate something: a row each, with what it violates and how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.diagnosis.measures import Floats, Mask
from cepkit.diagnosis.scene import Ints

BLOCK = 1 << 18
"""Pairs held at a time."""


@dataclass(frozen=True, slots=True)
class Partials:
    """Partial matches, a row each.

    Attributes:
        rows: The event of each bound variable.
        broken: How many requirements each violates that can change no more.
        score: The sum of these violations.
        which: The sum of the violated requirements' keys: it tells their sets apart.
        touched: The variables that violations are about, as bits.
        far: How many of window, contiguity and partition each violates so far.
        distance: The sum of those violations.
        group: Ascending; rows that differ in Kleene variables alone may share a number.
    """

    rows: dict[str, Ints]
    broken: Ints
    score: Floats
    which: Ints
    touched: Ints
    far: Ints
    distance: Floats
    group: Ints

    @classmethod
    def of(cls, rows: dict[str, Ints], size: int) -> Partials:
        """Return partial matches that violate nothing yet."""
        none, nothing = np.zeros(size, dtype=np.int64), np.zeros(size)
        return cls(rows, none, nothing, none, none, none, nothing, np.arange(size))

    def __len__(self) -> int:
        return len(self.broken)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(np.count_nonzero(np.diff(self.group))) + 1 if len(self) else 0

    @property
    def violations(self) -> Ints:
        """How many requirements each violates so far."""
        return self.broken + self.far

    def rank(self) -> Floats:
        """Return what they are ranked by: violations first, then the sum of their sizes."""
        size = self.score + self.distance
        ranked: Floats = self.violations + size / (1.0 + size)
        return ranked

    def take(self, at: Ints | Mask) -> Partials:
        """Return some of the rows."""
        if at.dtype == np.bool_:
            if at.all():
                return self
            at = np.flatnonzero(at)  # once, not for each array
        return Partials(
            {variable: events.take(at) for variable, events in self.rows.items()},
            self.broken.take(at), self.score.take(at), self.which.take(at), self.touched.take(at),
            self.far.take(at), self.distance.take(at), self.group.take(at),
        )  # fmt: skip

    def joined(self, parents: Ints, others: Partials, at: Ints, *, grouped: bool) -> Partials:
        """Return rows of this beside rows of `others`, which bind other variables.

        Args:
            parents: Rows of this.
            others: What they are joined with.
            at: Rows of that.
            grouped: Whether rows keep the groups of their parents.
        """
        mine, theirs = self.take(parents), others.take(at)
        return Partials(
            {**mine.rows, **theirs.rows},
            mine.broken + theirs.broken, mine.score + theirs.score, mine.which + theirs.which,
            mine.touched | theirs.touched, mine.far, mine.distance,
            mine.group if grouped else np.arange(len(mine)),
        )  # fmt: skip

    def violating(self, key: int, broken: Mask, relative: Floats, touched: int) -> Partials:
        """Return the rows with one more requirement taken into account.

        Args:
            key: Of the requirement.
            broken: Which rows violate it.
            relative: By how much.
            touched: The variables that it is about, as bits.
        """
        return Partials(
            self.rows, self.broken + broken, self.score + relative,
            self.which + np.where(broken, key, 0), self.touched | np.where(broken, touched, 0),
            self.far, self.distance, self.group,
        )  # fmt: skip

    def at_distance(self, far: Ints, distance: Floats) -> Partials:
        """Return the rows with window, contiguity and partition measured anew."""
        return Partials(
            self.rows, self.broken, self.score, self.which, self.touched, far, distance, self.group
        )  # fmt: skip


def pairs(
    begin: Ints,
    end: Ints,
    groups: npt.NDArray[np.int64] | None = None,
    most: int = BLOCK,
) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs of a row and a number in its range, some at a time.

    Args:
        begin: Of the range of each row.
        end: Of the range of each row.
        groups: Ascending numbers of rows that must not be parted; None: each stands alone.
        most: Pairs at a time; those of one row are not parted.
    """
    ends = np.cumsum(end - begin)
    start, done = 0, 0
    while start < len(begin):
        stop = max(start + 1, int(np.searchsorted(ends, done + most, side="right")))
        if groups is not None:
            stop = int(np.searchsorted(groups, groups[stop - 1], side="right"))
        counts = (end - begin)[start:stop]
        rows = np.repeat(np.arange(start, stop), counts)
        offsets = np.repeat(ends[start:stop] - counts, counts)
        yield rows, np.arange(done, int(ends[stop - 1])) - offsets + begin[rows]
        start, done = stop, int(ends[stop - 1])
