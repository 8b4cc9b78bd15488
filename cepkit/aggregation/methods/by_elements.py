"""Aggregation in plain Python, for aggregates without lanes and numbers too large for loops.

The window as a product of matrices, as in `kernels/stacks.py`, over the elements of any aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cepkit.aggregation.semirings.functions import Element, Semiring
from cepkit.aggregation.sequence.elements import Records
from cepkit.aggregation.sequence.operations import Operations


def run(
    operations: Operations,
    events: Callable[[int, int], Element],
    function: Semiring,
) -> Records:
    """Run over all operations.

    Args:
        events: Returns the element of an event (its row) at a position.
        function: The aggregate, the number of matches first (`Together`).
    """
    records = Records([], [], [])
    n = operations.length
    ts, codes, rows = (a.tolist() for a in (operations.ts, operations.codes, operations.rows))
    for begin, end in zip(operations.starts[:-1], operations.starts[1:], strict=True):
        state = _Product(function, operations.loops.tolist(), operations.window)
        last_start: dict[int, int] = {}
        for i in range(begin, end):
            _expire(state, ts[i], last_start, records)
            code = codes[i]
            if code % 2:
                state.end(n - (code + 1) // 2, ts[i])
                continue
            position = n - code // 2
            if position == 1:
                last_start[ts[i]] = i
            element = events(position, rows[i])
            if position < n:
                state.extend(position, ts[i], element)
                continue
            records.new.append(state.complete(ts[i], element))
            if i + 1 == end or codes[i + 1] != 0 or ts[i + 1] != ts[i]:
                live = state.live()
                while len(records.live) < len(records.new):
                    records.live.append(live)
        _expire(state, None, last_start, records)
    return records


def _expire(state: _Product, now: int | None, last_start: dict[int, int], records: Records) -> None:
    """Expire matches up to a time, one moment after the other; None: until the end."""
    while (moment := state.next_expiry()) is not None and (now is None or moment <= now):
        before = state.live()
        oldest = next(iter(last_start))
        start = last_start.pop(oldest)
        state.expire(moment)
        after = state.live()
        if after[0] != before[0]:
            records.expired.append((start, after))


class _Product:
    """The window of one key as a product of matrices, on two stacks."""

    def __init__(self, function: Semiring, loops: Sequence[int], window: int | None) -> None:
        self._f = function
        self._n = len(loops) - 1
        self._loops = loops
        self._window = window
        # (time, first row of the product from this START to the end of the older part)
        self._front: list[tuple[int, list[Element]]] = []
        # (time, position or -position for an absence, element), and their product
        self._back: list[tuple[int, int, Element]] = []
        self._product = self._identity()

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires; None if none will."""
        if self._window is None:
            return None
        if self._front:
            return self._front[-1][0] + self._window + 1
        return next((ts + self._window + 1 for ts, p, _ in self._back if p == 1), None)

    def expire(self, now: int) -> None:
        """Drop the STARTs that have expired by a time."""
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
                ended = self._loops[-p] == 2
                rows[-p] = rows[-p - 1] if ended else [self._f.zero] * (self._n + 1)
                continue
            for to in sorted(self._sources(p)):
                rows[to] = [
                    self._f.plus(x, self._f.times(element, y))
                    for x, y in zip(rows[to], rows[p], strict=True)
                ]
            if p == 1:
                self._front.append((ts, rows[0]))
        self._back = []
        self._product = self._identity()

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Apply an event at a position."""
        if self._window is not None:
            self._back.append((ts, position, element))
        for row in self._product:
            # Sets that have begun come first: they must not take the event twice.
            for come in self._sources(position):
                longer = self._f.times(row[come], element)
                row[position] = self._f.plus(row[position], longer)

    def complete(self, ts: int, element: Element) -> Element:
        """Apply an event at the last position; return the element of the matches it completes."""
        before = self._prefixes(self._n - 1)
        if self._loops[self._n]:
            before = self._f.plus(before, self._prefixes(self._n))
        self.extend(self._n, ts, element)
        return self._f.times(before, element)

    def end(self, position: int, ts: int) -> None:
        """Apply an event that must be absent after a position."""
        if self._window is not None:
            self._back.append((ts, -position, self._f.zero))
        for row in self._product:
            if self._loops[position] == 2:  # a further member continues these sets
                row[position - 1] = self._f.plus(row[position - 1], row[position])
            row[position] = self._f.zero

    def _sources(self, position: int) -> tuple[int, ...]:
        """Return the lengths of the prefixes that an event extends to its position."""
        return ((position - 1,), (position, position - 1), (position, position - 1, position - 2))[
            self._loops[position]
        ]

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
