"""Replans when a comparison behind the plan no longer holds. O(blocks of the plan).

For each block it watches the K comparisons that were tightest when the plan was made, in plan
order. With exact statistics it never fires if the planner would answer the same; for greedy orders
with all comparisons watched it fires whenever the answer changes. It misses trees that become
better through parts that no node was compared with.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2). The source
prints `(1 + d) f1 < f2` for the distance, which would fire although the plan is right; here, as it
must mean, `f1 > (1 + d) f2` fires. "median" is ours: with skewed rates the source's mean over all
comparisons is so large that nothing ever fires.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Literal

from cepkit.errors import PlanError
from cepkit.plan.nodes import Plan
from cepkit.planners.deciding import Decisions
from cepkit.statistics.model import Statistics

_MOST = 1.0
"""The largest distance from the median: the costs of a block have doubled."""


@dataclass(frozen=True, slots=True)
class Invariants:
    """Replans when a deciding condition is violated by more than a distance.

    Attributes:
        K: How many conditions of each block of the plan to watch; None for all.
        d: How far the cost of the chosen block may exceed that of the rejected one, relatively.
            "median" takes the median distance at planning time, at most 1, and "mean" the mean, as
            in the source; "own" takes for each condition its own distance then, at most 1. Several
            numbers are the distances of the tightest condition of each block, the next one, and so
            on; the last counts for all further ones.
    """

    K: int | None = 1
    d: float | Literal["median", "mean", "own"] | tuple[float, ...] = 0.0
    name: str = "invariants"

    def __post_init__(self) -> None:
        if self.K is not None and self.K < 1:
            raise PlanError(f"K={self.K}", expected="1 or more, or None")
        if isinstance(self.d, str):
            if self.d not in ("median", "mean", "own"):
                raise PlanError(f"d='{self.d}'", expected="a number, median, mean or own")
        else:
            numbers = self.d if isinstance(self.d, tuple) else (self.d,)
            if not numbers or not all(number >= 0 for number in numbers):
                raise PlanError(f"d={self.d}", expected="0 or more")

    def fires(self, plan: Plan, statistics: Statistics) -> str | None:
        """Return the first condition that is violated (see `contract.Decision`)."""
        decided = plan.decided
        if not isinstance(decided, Decisions):
            raise PlanError(
                f"no planner made the plan '{plan.planner}': nothing decided it",
                hint="leave plan= out, or plan with 'greedy' or 'zstream'",
            )
        for_all = self.distance(decided)
        costs = decided.costs(statistics)
        for branch, place, rank in self.watched(decided):
            condition = decided.conditions[branch][place]
            distance = for_all
            if self.d == "own":
                distance = min(_relative(decided.gaps[branch][place]), _MOST)
            elif isinstance(self.d, tuple):
                distance = self.d[min(rank, len(self.d) - 1)]
            if not condition.holds(condition.gap(costs[branch]), distance):
                return decided.row(branch, place, statistics).broken
        return None

    def watched(self, decided: Decisions) -> Iterator[tuple[int, int, int]]:
        """Yield branch, place and rank in its block of the watched conditions, in plan order."""
        for branch, conditions in enumerate(decided.conditions):
            gaps = decided.gaps[branch]
            places = range(len(conditions))
            for _, of_block in groupby(places, key=lambda place: conditions[place].step):
                tightest = sorted(of_block, key=gaps.__getitem__)[: self.K]
                yield from ((branch, place, rank) for rank, place in enumerate(tightest))

    def distance(self, decided: Decisions) -> float:
        """Return how far all conditions may be violated; 0 if each has a distance of its own."""
        if isinstance(self.d, int | float):
            return self.d
        gaps = [_relative(gap) for of_one in decided.gaps for gap in of_one]
        if not gaps or self.d not in ("median", "mean"):
            return 0.0
        return min(median(gaps), _MOST) if self.d == "median" else sum(gaps) / len(gaps)


def _relative(gap: float) -> float:
    """Return |f2 - f1| / min(f1, f2) of ln(f2 / f1)."""
    return math.expm1(min(abs(gap), 700.0))
