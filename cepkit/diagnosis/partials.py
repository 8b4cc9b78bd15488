"""Partial matches that may violate requirements, and the lookups that extend them.

Each row is a partial match, with the requirements that it violates and by how much. The events of a
further variable are looked up in its scope, and beyond it while more violations are allowed; if a
key must agree, they are looked up by that key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepkit.diagnosis.event_table import Ints, scope, spans
from cepkit.diagnosis.measures import Floats, Limit, Mask, Measures
from cepkit.pattern.conditions import Attribute, Comparison
from cepkit.pattern.requirements import (
    Before,
    Holds,
    Requirement,
    SamePartition,
    SideBySide,
    Within,
)


@dataclass(frozen=True, slots=True)
class Partials:
    """Partial matches, a row each.

    Attributes:
        rows: The event of each bound variable.
        broken: How many requirements each violates for good: no further event changes that.
        score: The sum of these violations.
        which: The sum of the keys of these requirements, which tells which they are.
        touched: The variables that violations are about, as bits.
        far: How many of window, contiguity and partition each violates so far.
        distance: The sum of those violations.
        group: The number of the group of each row, ascending; rows that differ in Kleene variables
            alone may be in one group.
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
        """Return partial matches without violations, which share one array of zeros."""
        none, nothing = np.zeros(size, dtype=np.int64), np.zeros(size)
        return cls(rows, none, nothing, none, none, none, nothing, np.arange(size))

    def __len__(self) -> int:
        return len(self.broken)

    @property
    def violate_nothing(self) -> bool:
        """Whether no partial match violates anything: all share the zeros that `of` makes."""
        return self.broken is self.far

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(np.count_nonzero(np.diff(self.group))) + 1 if len(self) else 0

    @property
    def violations(self) -> Ints:
        """How many requirements each violates so far."""
        return self.broken + self.far

    def rank(self) -> Floats:
        """Return the rank of each: the number of violations, then the sum of their sizes."""
        size = self.score + self.distance
        ranks: Floats = self.violations + size / (1.0 + size)
        return ranks

    def take(self, at: Ints | Mask) -> Partials:
        """Return some of the rows."""
        if at.dtype == np.bool_:
            if at.all():
                return self
            at = np.flatnonzero(at)  # once, not for each array
        at = np.asarray(at, np.intp)
        rows = {variable: events.take(at) for variable, events in self.rows.items()}
        if self.violate_nothing:
            return replace(Partials.of(rows, len(at)), group=self.group.take(at))
        return Partials(
            rows,
            self.broken.take(at), self.score.take(at), self.which.take(at), self.touched.take(at),
            self.far.take(at), self.distance.take(at), self.group.take(at),
        )  # fmt: skip

    def joined(self, parents: Ints, others: Partials, at: Ints, *, grouped: bool) -> Partials:
        """Return rows of this joined with rows of `others`, which bind other variables.

        Args:
            grouped: Whether rows keep the groups of their parents.
        """
        mine, theirs = self.take(parents), others.take(at)
        if mine.violate_nothing and theirs.violate_nothing:
            exact = Partials.of({**mine.rows, **theirs.rows}, len(mine))
            return replace(exact, group=mine.group) if grouped else exact
        return Partials(
            {**mine.rows, **theirs.rows},
            mine.broken + theirs.broken, mine.score + theirs.score, mine.which + theirs.which,
            mine.touched | theirs.touched, mine.far, mine.distance,
            mine.group if grouped else np.arange(len(mine)),
        )  # fmt: skip

    def violating(self, key: int, broken: Mask, relative: Floats, touched: int) -> Partials:
        """Return the rows with one more requirement taken into account.

        Args:
            touched: The variables that it is about, as bits.
        """
        keys = np.where(broken, np.int64(key), 0)  # a plain number would lose digits in 32 bits
        return replace(
            self,
            broken=self.broken + broken,
            score=self.score + relative,
            which=self.which + keys,
            touched=self.touched | np.where(broken, touched, 0),
        )


class KeyIndex:
    """Some events, sorted by key and number.

    Args:
        codes: The key of each event of the stream, from 0; below 0 where it agrees with none.
        events: The events, ascending.
    """

    def __init__(self, codes: Ints, events: Ints) -> None:
        self._codes = codes = codes.astype(np.int64, copy=False)  # products pass 32 bits
        # One number orders by both: a key's events end where the next one's begin.
        known = np.flatnonzero(codes[events] >= 0)
        ranks = codes[events[known]] * len(codes) + events[known]
        order = np.argsort(ranks, kind="stable")
        self.order = known[order]
        self._ranks = ranks[order]

    def ranges(self, partners: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Return the range in `order` of the events from `low` to `high` with a partner's key."""
        starts = self._codes[partners] * len(self._codes)
        begin = np.searchsorted(self._ranks, starts + low)
        return begin, np.maximum(begin, np.searchsorted(self._ranks, starts + high))


@dataclass(frozen=True, slots=True)
class Key:
    """An equality of a new event with a bound one.

    Attributes:
        requirement: The requirement that demands it.
        partner: The bound variable.
        name: The attribute; None for the partition.
    """

    requirement: Requirement
    partner: str
    name: str | None


def join_key(
    requirements: Iterable[Requirement], variable: str, bound: Collection[str]
) -> Key | None:
    """Return the key by which a new variable's events are found: the first that is required.

    PARTITION BY is a key, and so is an equality of two attributes of the same name: attributes of
    different names have different codes.
    """
    if not bound:
        return None
    for requirement in requirements:
        match requirement:
            case SamePartition():
                return Key(requirement, next(iter(bound)), None)
            case Holds(Comparison("=", Attribute(one, name), Attribute(other, same))):
                for new, old in ((one, other), (other, one)):
                    if name == same and new == variable and old in bound:
                        return Key(requirement, old, name)
            case _:
                continue
    return None


STRETCH = 2.0
"""How many times as long as its window a near miss may be."""


class SearchScopes:
    """The scopes of a search: the range of events for each further variable.

    Attributes:
        one_partition: Whether PARTITION BY must hold, as a window counts places inside a partition,
            and places in different partitions cannot be compared.

    Args:
        active: The requirements that are looked at.
        tolerance: How many of them may be violated.
        stretch: How many times as long as its window a combination may be.
    """

    def __init__(
        self, measures: Measures, active: Sequence[Requirement], tolerance: int, stretch: float
    ) -> None:
        self._table, self._branch = measures.table, measures.branch
        self._tolerance, self._stretch = tolerance, stretch
        self._ordered = {(r.first, r.second) for r in active if isinstance(r, Before)}
        limits = [
            measures.limit(r, len(measures.branch.positive))
            for r in active
            if isinstance(r, Within | SideBySide)
        ]
        partitioned = any(isinstance(r, SamePartition) for r in active)
        self.one_partition = partitioned and any(limit.clock == "place" for limit in limits)
        self._limits = [one for one in limits if one.clock != "place" or self.one_partition]

    def of(self, variable: str, partials: Partials) -> tuple[Ints, Ints]:
        """Return the range of events for each partial match: the first, and one after the last.

        Args:
            partials: The partial matches, with at least one variable bound.
        """
        rows, size = partials.rows, len(partials)
        near, far = [], []
        for limit in self._limits:
            stretched = self.stretched(limit)
            beyond = spans(self._table.clock(limit.clock), rows) > limit.most
            near.append((limit.clock, np.where(beyond, stretched, limit.most)))
            far.append((limit.clock, stretched))
        low, high = scope(
            self._table,
            rows,
            size,
            after=[x for x in rows if (x, variable) in self._ordered],
            before=[y for y in rows if (variable, y) in self._ordered],
            windows=near,
        )
        free = partials.violations < self._tolerance
        if not free.any():
            return low, high
        lowest, highest = scope(self._table, rows, size, windows=far)
        return np.where(free, lowest, low), np.where(free, highest, high)

    def stretched(self, limit: Limit) -> int:
        """Return how far apart two events may be if they may violate a limit."""
        return int(min(self._stretch * max(limit.most, 1), 2.0**60))
