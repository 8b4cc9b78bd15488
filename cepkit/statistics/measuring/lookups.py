"""The events that extend partial matches: ranges of one variable's events, by keys and time.

Events are sorted by the keys that must agree, then by time, so that those in scope of a partial
match lie side by side. O(n log n) for each index, O(log n) for each look-up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cepkit.components import components
from cepkit.pattern.keys import dense_keys
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import TimeWindow
from cepkit.statistics.links import Codes, links_of
from cepkit.statistics.slice_events import Rows, partition_of, sorting_order
from cepkit.stream.columns import EventColumns

EqualKeys: TypeAlias = Mapping[str, Codes]
"""For some variables, the key of each event of the stream; the keys of a match must agree."""

_GREATEST = 1 << 62
"""Keys and times packed into one integer stay below this."""


def equal_keys(columns: EventColumns, branch: Branch) -> list[EqualKeys]:
    """Return the keys in which positive variables agree: the partition, and those of equalities.

    An implied equality counts like a written one.
    """
    keys: list[EqualKeys] = []
    if branch.partition_by:
        keys.append(dict.fromkeys(branch.variables, partition_of(columns, branch.partition_by)))
    if not branch.equates:
        return keys
    equal: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for names, link in links_of(branch, columns.kinds).items():
        if names <= {*branch.variables}:
            equal += (((link.first, x), (link.second, y)) for x, y in link.attributes)
    for members in components(equal):
        # If two attributes belong to one variable, its conditions ensure that they are equal.
        attributes = dict(sorted(members, reverse=True))
        read = sorted({*attributes.values()})
        codes, _ = dense_keys([columns.attributes[name] for name in read])
        codes_of = {name: each.astype(np.int64) for name, each in zip(read, codes, strict=True)}
        keys.append({variable: codes_of[name] for variable, name in attributes.items()})
    return keys


@dataclass(frozen=True, slots=True)
class _Index:
    """The events of a variable, sorted by some keys and time."""

    rows: Rows
    ranks: Rows


@dataclass(frozen=True, slots=True)
class Bound:
    """The events of partial matches, and their times since the first event of the stream."""

    rows: Mapping[str, Rows]
    times: Mapping[str, Rows]
    earliest: Rows
    latest: Rows


class Lookups:
    """Looks up the events that extend the partial matches of a branch.

    Args:
        branch: The branch, with a window in time or none.
        members: For each variable the rows that pass its own conditions.
    """

    def __init__(self, columns: EventColumns, branch: Branch, members: Mapping[str, Rows]) -> None:
        ts = columns.ts
        # Estimates of a stream that spans 100,000 years need no microseconds.
        far = len(ts) > 0 and int(ts[-1]) - int(ts[0]) + 2 >= _GREATEST
        self._ts, self._members = ts >> 3 if far else ts, members
        self._before = {v: branch.before(v) for v in members}
        self._after = {v: branch.after(v) for v in members}
        self._begin = int(self._ts[0]) if len(self._ts) else 0
        self._span = int(self._ts[-1]) - self._begin if len(self._ts) else 0
        self._window = self._span
        if isinstance(branch.window, TimeWindow):
            length = branch.window.most
            self._window = min(self._span, length >> 3 if far else length)
        self._keys = equal_keys(columns, branch)
        self._sizes = [1 + max(int(k.max(initial=0)) for k in each.values()) for each in self._keys]
        self._indexes: dict[tuple[str, tuple[int, ...]], _Index] = {}

    def bound(self, rows: Mapping[str, Rows]) -> Bound:
        """Return the events of partial matches, ready for look-ups."""
        times = {v: self._ts[events] - self._begin for v, events in rows.items()}
        if len(times) == 1:
            (alone,) = times.values()
            return Bound(rows, times, alone, alone)
        every = [*times.values()]
        return Bound(rows, times, np.minimum.reduce(every), np.maximum.reduce(every))

    def of(self, variable: str, bound: Bound) -> Scope:
        """Return the events of a variable that lie in scope of partial matches."""
        shared = {
            number: next(v for v in bound.rows if v in keys)
            for number, keys in enumerate(self._keys)
            if variable in keys and not bound.rows.keys().isdisjoint(keys)
        }
        indexed = self._fitting(shared)
        index = self._index(variable, indexed)
        low, high = self._times(variable, bound)
        present = high > low
        if indexed:
            ranks = np.zeros(len(low), np.int64)
            for number in indexed:
                keys = self._keys[number][shared[number]][bound.rows[shared[number]]]
                present &= keys >= 0
                ranks = ranks * self._sizes[number] + keys
            ranks *= self._span + 2
            low, high = ranks + low, ranks + high
        begins = np.searchsorted(index.ranks, low)
        widths = np.where(present, np.searchsorted(index.ranks, high) - begins, 0)
        others = tuple((shared[n], self._keys[n]) for n in shared if n not in indexed)
        return Scope(variable, bound.rows, index.rows, begins, widths, others)

    def most(self, variable: str, before: Collection[str]) -> int:
        """Return the most events of a variable in scope of a partial match, or a bound of that.

        Args:
            variable: The variable to bind next.
            before: The variables that are bound.
        """
        if not before:
            return len(self._members[variable])
        shared = [
            number
            for number, keys in enumerate(self._keys)
            if variable in keys and not keys.keys().isdisjoint(before)
        ]
        index = self._index(variable, self._fitting(shared))
        one_side = self._before[variable] | self._after[variable]
        reach = self._window if one_side.intersection(before) else 2 * self._window
        # The ranks of a key end where those of the next one begin.
        last = (index.ranks // (self._span + 2) + 1) * (self._span + 2) - 1
        ends = np.searchsorted(index.ranks, np.minimum(index.ranks + reach, last), side="right")
        return int((ends - np.arange(len(ends))).max(initial=0))

    def _fitting(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return the keys that fit into one look-up."""
        fitting: list[int] = []
        size = self._span + 2
        for number in numbers:
            size *= self._sizes[number]
            if size < _GREATEST:
                fitting.append(number)
            else:
                size //= self._sizes[number]
        return tuple(fitting)

    def _index(self, variable: str, indexed: tuple[int, ...]) -> _Index:
        key = variable, indexed
        if key not in self._indexes:
            rows = self._members[variable]
            ranks = np.zeros(len(rows), np.int64)
            for number in indexed:
                keys = self._keys[number][variable][rows]
                present = keys >= 0
                rows, ranks, keys = rows[present], ranks[present], keys[present]
                ranks = ranks * self._sizes[number] + keys
            if indexed:
                # Rows of one key stay in time order.
                order = sorting_order(ranks)
                rows, ranks = rows[order], ranks[order]
            ranks = ranks * (self._span + 2) + (self._ts[rows] - self._begin)
            self._indexes[key] = _Index(rows, ranks)
        return self._indexes[key]

    def _times(self, variable: str, bound: Bound) -> tuple[Rows, Rows]:
        """Return the range of times [from, to) for an event, since the first event."""
        low = np.maximum(bound.latest - self._window, 0)
        high = np.minimum(bound.earliest + (self._window + 1), self._span + 1)
        for other, ts in bound.times.items():
            if other in self._before[variable]:
                low = np.maximum(low, ts + 1)
            if other in self._after[variable]:
                high = np.minimum(high, ts)
        return low, high


@dataclass(frozen=True, slots=True)
class Scope:
    """The events in scope of partial matches: one range of rows for each partial match.

    Attributes:
        bound: The events of the partial matches.
        rows: The rows that the ranges refer to.
        begins: The begin of each range.
        widths: The length of each range.
        others: Keys that must agree but are not looked up, each with a bound variable that has it.
    """

    variable: str
    bound: Mapping[str, Rows]
    rows: Rows
    begins: Rows
    widths: Rows
    others: Sequence[tuple[str, EqualKeys]] = ()

    @property
    def size(self) -> int:
        """The number of pairs of a partial match and an event."""
        return int(self.widths.sum(dtype=np.int64))

    def draw(self, rng: np.random.Generator, most: int) -> dict[str, Rows]:
        """Return the events of drawn pairs, one from each of `most` equal parts; all if fewer."""
        ends = np.cumsum(self.widths, dtype=np.int64)
        size = int(ends[-1]) if len(ends) else 0
        if size <= most:
            numbers = np.arange(size, dtype=np.int64)
        else:
            places = (np.arange(most) + rng.random(most)) * (size / most)
            numbers = np.minimum(places.astype(np.int64), size - 1)
        owners = np.searchsorted(ends, numbers, side="right")
        begins = ends - self.widths
        drawn = {v: rows[owners] for v, rows in self.bound.items()}
        drawn[self.variable] = self.rows[self.begins[owners] + numbers - begins[owners]]
        return drawn
