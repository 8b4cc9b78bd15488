"""The window as a product of matrices: cost per event does not depend on how many STARTs live.

An event at position p is the matrix I + E(p-1, p) over prefix lengths, one that must be absent
after p the matrix I - E(p, p), and what all events of a window make of the empty match is the
first row of their product. A new event is a column operation, O(length). Expiry is done in one of
two ways. *Two stacks*: the older part of the window is kept as products of its suffixes, of which
only first rows are needed, the newer part as one product; when the older part is used up the newer
one becomes the older, so that each event is turned over once - for any aggregate. *Subtraction*:
I + E can be inverted, and an expiring event is a row operation - for whole numbers only, and
without absences. Floats must not be subtracted: the operations amplify rounding without bound.

Source: the matrices are ours; two stacks are a folklore queue, described for sliding windows by
K. Tangwongsan, M. Hirzel, S. Schneider: Low-Latency Sliding-Window Aggregation, DEBS 2017.
"""

from __future__ import annotations

from cepkit.aggregation.semirings.functions import Element, Semiring


class WindowProduct:
    """Two stacks of one key over elements of any function."""

    def __init__(self, function: Semiring, length: int, window: int | None) -> None:
        self._f = function
        self._n = length
        self._window = window
        # (time, first row of the product from this START to the end of the older part)
        self._front: list[tuple[int, list[Element]]] = []
        # (time, position or -position for an absence, element), and their product
        self._back: list[tuple[int, int, Element]] = []
        self._product = self._identity()

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires, None where none will."""
        if self._window is None:
            return None
        if self._front:
            return self._front[-1][0] + self._window + 1
        return next((ts + self._window + 1 for ts, p, _ in self._back if p == 1), None)

    def expire(self, now: int) -> None:
        """Drop the STARTs that are live no more at a time."""
        assert self._window is not None
        oldest = now - self._window
        while self._front and self._front[-1][0] < oldest:
            self._front.pop()
        if self._front or not any(ts < oldest and p == 1 for ts, p, _ in self._back):
            return
        rows = self._identity()
        for ts, p, element in reversed(self._back):
            if ts < oldest:
                break
            if p < 0:
                rows[-p] = [self._f.zero] * (self._n + 1)
                continue
            rows[p - 1] = [
                self._f.plus(x, self._f.times(element, y))
                for x, y in zip(rows[p - 1], rows[p], strict=True)
            ]
            if p == 1:
                self._front.append((ts, rows[0]))
        self._back = []
        self._product = self._identity()

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Take an event at a position."""
        self._back.append((ts, position, element))
        for row in self._product:
            longer = self._f.times(row[position - 1], element)
            row[position] = self._f.plus(row[position], longer)

    def complete(self, ts: int, element: Element) -> Element:
        """Take an event at the last position; return the element of the matches it completes."""
        before = self._prefixes(self._n - 1)
        self.extend(self._n, ts, element)
        return self._f.times(before, element)

    def end(self, position: int, ts: int) -> None:
        """Take an event that must be absent after a position."""
        self._back.append((ts, -position, self._f.zero))
        for row in self._product:
            row[position] = self._f.zero

    def live(self) -> Element:
        """Return the element of all live matches."""
        return self._prefixes(self._n)

    def _prefixes(self, length: int) -> Element:
        """Return the element of all live prefixes of a length."""
        if not self._front:
            return self._product[0][length]
        total = self._f.zero
        for x, row in zip(self._front[-1][1], self._product, strict=True):
            total = self._f.plus(total, self._f.times(x, row[length]))
        return total

    def _identity(self) -> list[list[Element]]:
        size = range(self._n + 1)
        return [[self._f.one if i == j else self._f.zero for j in size] for i in size]
