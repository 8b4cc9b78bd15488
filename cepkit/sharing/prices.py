"""The costs of plan steps for one branch at one window, as integers.

Prices are integers, in units of 2^-64, so that sums do not depend on the order of the addends: a
difference of costs is exact, and equal choices tie. With the cost model partial-matches, a step
costs the partial matches alive in a window. With work, it costs the candidates and partial matches
for each second of the stream, so that windows of different length compare; then handing rows to a
second user, and filtering them by span for a smaller window, cost as well. With latency, or a
blend, the work that remains after the last event of a match is a price of the user and not of the
node: each pattern waits for its own matches, and sharing a node does not shorten that. O(2^n)
numbers for n variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from cepkit.costs.contract import CostModel, SetFunction
from cepkit.costs.expectation import alive as partial_matches
from cepkit.costs.expectation import window_seconds
from cepkit.pattern.policies import CountWindow, TimeWindow, Window
from cepkit.sharing.workload import Sharer

SCALE = 1 << 64
"""The units in 1."""

HAND_OVER = 1.0
"""The cost of handing a row to one more user, in candidates."""

SPAN_FILTER = 1.0
"""The cost of testing whether a row fits a smaller window, in candidates."""

CHECK = 10.0
"""The cost of checking the remaining conditions on a row of a weaker node, in candidates."""

_MOST_TABLED = 14
"""Up to this many variables, the numbers of all sets are computed at once."""


class Prices:
    """The prices of a branch at one window.

    Args:
        window: The window in units of its clock.
        trees: Whether plans are trees: an order waits only for events, a tree for both sides.

    Attributes:
        trees: As given.
        waits: Whether the cost model counts the work that remains after the last event.
    """

    def __init__(
        self, sharer: Sharer, window: int, cost: CostModel, *, trees: bool = False
    ) -> None:
        branch = replace(sharer.description.branch, window=window_of(sharer, window))
        ready = cost.on(branch, sharer.statistics)
        self._ready, self.trees, self.waits = ready, trees, ready.waiting is not None
        self._keeps, self._works = ready.alive is not None, ready.pairs is not None
        self._shift = math.log(window_seconds(branch, sharer.statistics)) if self._works else 0.0
        kept = ready.alive or partial_matches(branch, sharer.statistics)
        self._kept = _lookup(kept)
        self._weight = kept.weight
        if ready.pairs is not None:
            self._between, self._side = _lookup(ready.pairs.between), _lookup(ready.pairs.side)
        self._size = sharer.size
        self._steps: dict[int, int] = {}
        self._waits: dict[tuple[int, int], int] = {}
        self._written: dict[int, int] = {}

    def step(self, left: int, right: int) -> int:
        """Return the cost of joining two sets without sharing; see `node` and `wait`."""
        node = self.node(left, right)
        return node + self.wait(left, right) if self.waits else node

    def wait(self, left: int, right: int) -> int:
        """Return the cost of the branch's own waiting where a plan joins two sets."""
        if not (self.waits and left):
            return 0
        known = self._waits.get((left, right))
        if known is None:
            waiting = self._ready.waiting_join if self.trees else self._ready.waiting_step
            known = self._waits[left, right] = fixed(waiting(left, right))
        return known

    def node(self, left: int, right: int) -> int:
        """Return the cost of the node that joins two sets; of one variable if the left is empty."""
        if not self._keeps:
            return 0
        key = min(left, right) << self._size | max(left, right)
        known = self._steps.get(key)
        if known is None:
            both = left | right
            if both not in self._written:
                self._written[both] = fixed(self._kept(both) - self._shift)
            known = self._written[both]
            if self._works:
                sides = self._side(left) + self._side(right)
                known += fixed(self._between(both) + sides - self._shift)
            self._steps[key] = known
        return known

    def rows(self, mask: int) -> int:
        """Return the cost of touching each partial match of a set once."""
        return fixed(self._kept(mask) - self._weight - self._shift) if self._works else 0

    def alive(self, mask: int) -> float:
        """Return the logarithm of the partial matches of a set that are alive in a window."""
        return self._kept(mask) - self._weight


def fixed(logarithm: float) -> int:
    """Return the price for a logarithm, rounded, so that equal costs have equal prices."""
    if logarithm == -math.inf:
        return 0
    value = math.exp(min(round(logarithm, 11), 700.0))
    return int(value) << 64 if value > 1e15 else int(value * SCALE)


def number_of(price: int) -> float:
    """Return a price as a number."""
    return price / SCALE


def window_of(sharer: Sharer, length: int) -> Window | None:
    """Return a window of the kind of a branch's own."""
    match sharer.description.branch.window:
        case TimeWindow():
            return TimeWindow(length)
        case CountWindow():
            return CountWindow(length)
        case None:
            return None
        case _:
            assert_never(sharer.description.branch.window)


def _lookup(function: SetFunction) -> Callable[[int], float]:
    if len(function.members) > _MOST_TABLED:
        return function
    table: list[float] = function.table().tolist()
    return table.__getitem__
