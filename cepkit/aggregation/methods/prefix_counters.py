"""Prefix counters: for each live START how many matches of each prefix begin with it.

An event at position m adds the counter of m - 1 to that of m, for every live START (SEM); expiry
drops a START's row. Without a window one row serves all (DPC). An event that must be absent after
position m sets the counters of m to nothing. Instead of numbers the rows may hold elements of any
aggregate. Cost: O(live STARTs) for an event, O(1) without a window.

Source: ASEQ, sections 3.1 to 3.3; its figure 5 tests expiry the wrong way round: a row is live
while its expiry lies ahead.
"""

from __future__ import annotations

from cepkit.aggregation.semirings.functions import Element, Semiring


class PrefixCounters:
    """The counters of one key over elements of any function."""

    def __init__(self, function: Semiring, length: int, window: int | None) -> None:
        self._function = function
        self._length = length
        self._window = window
        self.rows: list[tuple[int, list[Element]]] = []

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires, None where none will."""
        if self._window is None or not self.rows:
            return None
        return self.rows[0][0] + self._window + 1

    def expire(self, now: int) -> None:
        """Drop the STARTs that are live no more at a time."""
        assert self._window is not None
        while self.rows and now - self.rows[0][0] > self._window:
            self.rows.pop(0)

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Take an event at a position."""
        f = self._function
        if position == 1:
            if self._window is not None or not self.rows:
                self.rows.append((ts, [f.one] + [f.zero] * self._length))
            row = self.rows[-1][1]
            row[1] = f.plus(row[1], element)
            return
        for _, row in self.rows:
            row[position] = f.plus(row[position], f.times(row[position - 1], element))

    def complete(self, ts: int, element: Element) -> Element:
        """Take an event at the last position; return the element of the matches it completes."""
        before = self._sum(self._length - 1) if self._length > 1 else self._function.one
        self.extend(self._length, ts, element)
        return self._function.times(before, element)

    def end(self, position: int, _: int, /) -> None:
        """Take an event that must be absent after a position."""
        for _, row in self.rows:
            row[position] = self._function.zero

    def live(self) -> Element:
        """Return the element of all live matches."""
        return self._sum(self._length)

    def _sum(self, position: int) -> Element:
        total = self._function.zero
        for _, row in self.rows:
            total = self._function.plus(total, row[position])
        return total
