"""The baseline: constructs all matches, then aggregates them.

Each position has a stack of its events; an event points at the top of the stack before it. A
trigger searches depth first along the pointers for the matches that it completes; what an absence
forbids is filtered out afterwards. Each match found is added to what its START has. Cost:
O(matches).

Source: ASEQ, section 2.2 (stack-based evaluation as in SASE).
"""

from __future__ import annotations

from collections.abc import Iterator

from cepkit.aggregation.semirings.functions import Element, Semiring


class TwoStep:
    """The stacks and the matches of one key over elements of any function."""

    def __init__(self, function: Semiring, length: int, window: int | None) -> None:
        self._f = function
        self._n = length
        self._window = window
        # (time, element) of each event, and when absences were violated
        self._stacks: list[list[tuple[int, Element]]] = [[] for _ in range(length + 1)]
        self._absences: list[list[int]] = [[] for _ in range(length + 1)]
        self._sums: dict[int, Element] = {}  # of the matches of the STARTs of a time

    def next_expiry(self) -> int | None:
        """Return when the oldest live START expires, None where none will."""
        if self._window is None or not self._stacks[1]:
            return None
        return self._stacks[1][0][0] + self._window + 1

    def expire(self, now: int) -> None:
        """Drop the events and matches that are live no more at a time."""
        assert self._window is not None
        oldest = now - self._window
        self._stacks = [[e for e in stack if e[0] >= oldest] for stack in self._stacks]
        self._sums = {start: element for start, element in self._sums.items() if start >= oldest}

    def extend(self, position: int, ts: int, element: Element) -> None:
        """Take an event at a position before the last."""
        self._stacks[position].append((ts, element))

    def complete(self, ts: int, element: Element) -> Element:
        """Take an event at the last position; return the element of the matches it completes."""
        matches = self._search(self._n - 1, ts, element) if self._n > 1 else iter([(ts, element)])
        if self._n == 1:
            self.extend(1, ts, element)
        total = self._f.zero
        for start, match in matches:
            total = self._f.plus(total, match)
            self._sums[start] = self._f.plus(self._sums.get(start, self._f.zero), match)
        return total

    def end(self, position: int, ts: int) -> None:
        """Take an event that must be absent after a position."""
        self._absences[position].append(ts)

    def live(self) -> Element:
        """Return the element of all live matches."""
        total = self._f.zero
        for match in self._sums.values():
            total = self._f.plus(total, match)
        return total

    def _search(self, position: int, before: int, rest: Element) -> Iterator[tuple[int, Element]]:
        """Yield (time of START, element) of the matches with `rest` after a position."""
        for ts, element in self._stacks[position]:
            if ts >= before or any(ts < t < before for t in self._absences[position]):
                continue
            longer = self._f.times(element, rest)
            if position == 1:
                yield ts, longer
            else:
                yield from self._search(position - 1, ts, longer)
