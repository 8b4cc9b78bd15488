"""Which events lie in scope of others, as ranges of rows that are sorted by partition and time.

Scope is what window, order and partition leave. O(n log n) to sort an event's scope, O(log n) for
each look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepkit.pattern.normal_form import Branch
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.stream.columns import EventColumns

Rows = npt.NDArray[np.int64]


class Ranges:
    """Where, among one variable's events, those in scope of bound events begin and end."""

    def __init__(
        self, columns: EventColumns, branch: Branch, keys: Mapping[str, npt.NDArray[np.int64]]
    ) -> None:
        self._ts, self._keys, self._branch = columns.ts, keys, branch
        span = int(columns.ts[-1] - columns.ts[0]) if len(columns) else 0
        match branch.window:
            case TimeWindow(microseconds, exclusive):
                self._window = min(span, microseconds - exclusive)
            case CountWindow(events):
                # As long as so many events of a partition take on average.
                partitions = max(1, len(np.unique(next(iter(keys.values())))))
                self._window = min(span, span * events * partitions // max(1, len(columns)))
            case None:
                self._window = span
        # Times by their places in the stream: (partition, place) fits one whole number.
        self._stride = len(columns) + 1

    def of(self, name: str, bound: Mapping[str, Rows], rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return begins, ends, and the rows of `name` that they count in."""
        ranks = self._keys[name][rows] * self._stride + np.searchsorted(self._ts, self._ts[rows])
        order = np.argsort(ranks, kind="stable")
        times = {v: self._ts[events] for v, events in bound.items()}
        low = np.maximum.reduce(list(times.values())) - self._window
        high = np.minimum.reduce(list(times.values())) + self._window + 1
        for variable, ts in times.items():
            if variable in self._branch.before(name):
                low = np.maximum(low, ts + 1)
            if variable in self._branch.after(name):
                high = np.minimum(high, ts)
        known = next(iter(bound))
        keys = self._keys[known][bound[known]] * self._stride
        begins = np.searchsorted(ranks[order], keys + np.searchsorted(self._ts, low))
        ends = np.searchsorted(ranks[order], keys + np.searchsorted(self._ts, high))
        return begins, np.maximum(begins, ends), rows[order]


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs in scope, as a row of ranges: the n-th pair is found without making the others."""

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
        """How many there are."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def draw(self, rng: np.random.Generator, sample: int) -> tuple[Rows, dict[str, Rows]]:
        """Return the numbers of drawn pairs, all where there are no more, and their events."""
        if self.number <= sample:
            numbers = np.arange(self.number)
        else:
            numbers = np.sort(rng.integers(0, self.number, sample))
        which = np.searchsorted(self.ends, numbers, side="right")
        begins = np.concatenate(([0], self.ends[:-1]))
        rows = self.second[self.low[which] + numbers - begins[which]]
        return numbers, {self.order[0]: self.first[which], self.order[1]: rows}
