"""Combinations of events, drawn from the scopes that order, window and partition define.

The first two events are drawn uniformly from all pairs in scope of each other, each further event
uniformly from its scope, weighted by the size of the scope. Cost: O(n log n) to sort an event's
scope, O(draws * log n) to draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cepkit.indexing import repeated
from cepkit.pattern.conditions import variables_of
from cepkit.pattern.evaluation.columns import truth
from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.rewrite import without_not
from cepkit.statistics.links import Link
from cepkit.statistics.slice_events import Events, Held, Rows, Sorted, reader, sorting_order


class Ranges:
    """The ranges, among one variable's events, of those in scope of bound events."""

    def __init__(self, events: Sorted, branch: Branch, keys: Mapping[str, Rows]) -> None:
        self._events, self._keys, self._branch = events, keys, branch
        ts = events.ts
        span = int(ts[-1] - ts[0]) if len(ts) else 0
        match branch.window:
            case TimeWindow() as window:
                self._window = min(span, window.most)
            case CountWindow(number):
                # The average time in which a partition gets that many events.
                partitions = events.partitions(next(iter(keys.values())))
                self._window = min(span, span * number * partitions // max(1, len(ts)))
            case None:
                self._window = span

    def of(self, name: str, bound: Mapping[str, Rows], rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return begins, ends, and the rows of `name` that they refer to."""
        events = self._events
        ranks, ranked = events.ranked(self._keys[name], rows)
        bound_times = {v: events.ts[of_variable] for v, of_variable in bound.items()}
        low = np.maximum.reduce(list(bound_times.values())) - self._window
        high = np.minimum.reduce(list(bound_times.values())) + self._window + 1
        for variable, ts in bound_times.items():
            if variable in self._branch.before(name):
                low = np.maximum(low, ts + 1)
            if variable in self._branch.after(name):
                high = np.minimum(high, ts)
        anchor = next(iter(bound))
        if self._keys[anchor].any():
            keys = self._keys[anchor][bound[anchor]]
            # Sorted look-ups touch neighbouring memory.
            order = sorting_order(keys)
            begins, ends = np.empty((2, len(keys)), np.int64)
            for places, times in ((begins, low), (ends, high)):
                targets = keys * events.stride + np.searchsorted(events.ts, times)
                places[order] = np.searchsorted(ranks, targets[order])
        else:
            own = events.ts[ranked]
            begins, ends = np.searchsorted(own, low), np.searchsorted(own, high)
        return begins, np.maximum(begins, ends), ranked


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs in scope as a list of ranges, with access to the n-th pair."""

    order: list[str]
    first: Rows
    second: Rows
    low: Rows
    ends: Rows

    @classmethod
    def of(cls, scope: Ranges, order: list[str], first: Rows, second: Rows) -> Pairs:
        """Return the pairs of an event of the first variable and one of the second."""
        low, high, rows = scope.of(order[1], {order[0]: first}, second)
        return cls(order, first, rows, low, np.cumsum(high - low, dtype=np.int64))

    @property
    def number(self) -> int:
        """The number of pairs."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def draw(self, rng: np.random.Generator, sample: int) -> tuple[Rows, dict[str, Rows]]:
        """Return the numbers of drawn pairs and their events; all pairs if there are no more."""
        if self.number <= sample:
            numbers = np.arange(self.number)
        else:
            numbers = rng.integers(0, self.number, sample)
            # Half the bytes sort in half the time.
            numbers = np.sort(numbers.astype(np.int32) if self.number < 2**31 else numbers)
        if len(self.ends) < len(numbers):
            upto = np.searchsorted(numbers, self.ends)
            owners = repeated(np.arange(len(self.ends)), np.diff(upto, prepend=0))
        else:
            owners = np.searchsorted(self.ends, numbers, side="right")
        begins = np.concatenate(([0], self.ends[:-1]))
        rows = self.second[self.low[owners] + numbers - begins[owners]]
        return numbers, {self.order[0]: self.first[owners], self.order[1]: rows}


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of one slice for the conditions on one set of variables.

    Attributes:
        variables: The variables.
        combinations: The number of combinations in the slice, for three variables or more an
            estimate.
        drawn: The number of examined combinations.
        exact: Whether all were examined, each once.
        weight: The sum of their weights.
        held: The sum of the weights of those that satisfy the conditions.
        squares: The sum of the squares of the weights.
        equal: The exact number of combinations with equal keys; the draws are among these. None if
            no attributes must be equal.
    """

    variables: frozenset[str]
    combinations: float
    drawn: int
    exact: bool
    weight: float
    held: float
    squares: float
    equal: float | None = None

    @property
    def reached(self) -> float:
        """The number of combinations that the draws are taken from."""
        return self.combinations if self.equal is None else self.equal

    def of_equality(self) -> Tally:
        """Return the tally of the equalities alone: an exact count without draws."""
        size = self.combinations
        one = 1.0 if self.equal else 0.0
        return Tally(self.variables, size, int(size), True, one, one, one, self.equal)


@dataclass(frozen=True, slots=True)
class Slice:
    """A branch over the events of a slice, ready for drawing.

    Attributes:
        branch: The order, window and conditions.
        members: For each variable the rows that pass its own conditions.
    """

    events: Events
    branch: Branch
    members: Mapping[str, Rows]

    def in_order(self, names: frozenset[str]) -> list[str]:
        """Return variables in pattern order, so that each combination belongs to one slice."""
        positions = [e.variable for e in self.branch.positive + self.branch.negated]
        return sorted(names, key=positions.index)

    def holds(self, names: frozenset[str], bound: Mapping[str, Rows], size: int) -> Held:
        """Return for each combination whether it satisfies the conditions on these variables."""
        held = np.ones(size, dtype=np.bool_)
        for condition in self.branch.conditions:
            if variables_of(condition) == names:
                held &= truth(without_not(condition), reader(self.events.columns, bound), size)
        return held


def sampled(names: frozenset[str], part: Slice, rng: np.random.Generator, sample: int) -> Tally:
    """Return the tally of the conditions on a set of variables, by draws from one slice."""
    order = part.in_order(names)
    first = part.events.owned_rows(part.members[order[0]])
    scope = Ranges(part.events.sorted, part.branch, dict.fromkeys(names, part.events.keys))
    pairs = Pairs.of(scope, order, first, part.members[order[1]])
    if not pairs.number:
        return Tally(names, 0.0, 0, True, 0.0, 0.0, 0.0)
    numbers, bound = pairs.draw(rng, sample)
    weights = np.ones(len(numbers))
    for name in order[2:]:
        low, high, rows = scope.of(name, bound, part.members[name])
        widths = np.maximum(high - low, 0)
        weights = weights * widths
        possible = widths > 0
        bound = {variable: rows_of[possible] for variable, rows_of in bound.items()}
        weights, low, widths = weights[possible], low[possible], widths[possible]
        bound[name] = rows[low + (rng.random(len(low)) * widths).astype(np.int64)]
    held = part.holds(names, bound, len(weights))
    # One event cannot take two variables.
    apart = np.ones(len(weights), dtype=np.bool_)
    for i, one in enumerate(order):
        for other in order[:i]:
            apart &= bound[one] != bound[other]
    weights = weights * apart
    return Tally(
        names,
        pairs.number * float(weights.sum()) / len(numbers),
        len(numbers),
        len(order) == 2 and pairs.number <= sample,
        float(weights.sum()),
        float(weights[held].sum()),
        float((weights * weights).sum()),
    )


def linked(link: Link, part: Slice, rng: np.random.Generator, sample: int) -> Tally:
    """Return the tally of two variables whose attributes must be equal, in one slice.

    The pairs that agree are counted, not drawn, so that keys with many values are measured as well
    as keys with few. The other conditions are sampled among the pairs that agree.

    Args:
        sample: The number of draws.
    """
    names = link.variables
    order = part.in_order(names)
    events = part.events
    first = events.owned_rows(part.members[order[0]])
    second = part.members[order[1]]
    scope = Ranges(events.sorted, part.branch, dict.fromkeys(names, events.keys))
    keys, partition_keys = events.link(link)
    # If neither must be first, an event of both types would pair with itself.
    both = first[:0]
    if not {(order[0], order[1]), (order[1], order[0])} & part.branch.order:
        both = np.intersect1d(first, second, assume_unique=True)
    number = Pairs.of(scope, order, first, second).number - len(both)
    if not number:
        return Tally(names, 0.0, 0, True, 0.0, 0.0, 0.0, 0.0)
    scope = Ranges(events.sorted, part.branch, partition_keys)
    first, second = (
        _with_key(keys[v], rows) for v, rows in zip(order, (first, second), strict=True)
    )
    pairs = Pairs.of(scope, order, first, second)
    one, other = (keys[name][both] for name in order)
    equal = pairs.number - int(np.count_nonzero((one == other) & (one >= 0)))
    rest = [c for c in part.branch.conditions if variables_of(c) == names]
    if not equal or len(rest) == len(link.conditions):
        share = 1.0 if equal else 0.0
        return Tally(names, number, number, True, share, share, share, equal)
    numbers, bound = pairs.draw(rng, sample)
    apart = bound[order[0]] != bound[order[1]]
    held = part.holds(names, bound, len(numbers)) & apart
    weight = float(np.count_nonzero(apart))
    return Tally(
        names,
        number,
        len(numbers),
        pairs.number <= sample,
        weight,
        float(np.count_nonzero(held)),
        weight,
        equal,
    )


def _with_key(keys: Rows, rows: Rows) -> Rows:
    """Return the rows that have a key; the same array if all have."""
    present = keys[rows] >= 0
    return rows if present.all() else rows[present]
