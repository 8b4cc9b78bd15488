"""Ranges of events in scope of others, over rows sorted by partition and time.

Window, order and partition define the scope. O(n log n) to sort an event's scope, O(log n) for each
look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.statistics.slice_events import Rows, Sorted, sorting_order


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
        return cls(order, first, rows, low, np.cumsum(high - low))

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
            owners = np.repeat(np.arange(len(self.ends)), np.diff(upto, prepend=0))
        else:
            owners = np.searchsorted(self.ends, numbers, side="right")
        begins = np.concatenate(([0], self.ends[:-1]))
        rows = self.second[self.low[owners] + numbers - begins[owners]]
        return numbers, {self.order[0]: self.first[owners], self.order[1]: rows}
