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
from itertools import groupby
from statistics import median
from typing import Literal

from cepkit.errors import PlanError
from cepkit.plan.nodes import Plan
from cepkit.planners.deciding import Decisions
from cepkit.statistics.model import Statistics
from cepkit.values import dataclass

_MOST = 1.0
"""The largest distance from the median: the costs of a block have doubled."""


@dataclass(frozen=True, slots=True)
class Invariants:
    """Replans when a deciding condition is violated by more than a distance.

    Attributes:
        K: How many conditions of each block of the plan to watch; None for all.
        d: How far the cost of the chosen block may exceed that of the rejected one, relatively;
            "median" takes the median distance at planning time, at most 1, and "mean" the mean, as
            in the source.
    """

    K: int | None = 1
    d: float | Literal["median", "mean"] = 0.0
    name: str = "invariants"

    def __post_init__(self) -> None:
        if self.K is not None and self.K < 1:
            raise PlanError(f"K={self.K}", expected="1 or more, or None")
        if isinstance(self.d, str):
            if self.d not in ("median", "mean"):
                raise PlanError(f"d='{self.d}'", expected="a number, median or mean")
        elif not self.d >= 0:
            raise PlanError(f"d={self.d}", expected="0 or more")

    def fires(self, plan: Plan, statistics: Statistics) -> str | None:
        """Return the first condition that is violated (see `contract.Decision`)."""
        decided = plan.decided
        if not isinstance(decided, Decisions):
            raise PlanError(
                f"no planner made the plan '{plan.planner}': nothing decided it",
                hint="leave plan= out, or plan with 'greedy' or 'zstream'",
            )
        distance = self.distance(decided)
        costs = decided.costs(statistics)
        for branch, place in self.watched(decided):
            condition = decided.conditions[branch][place]
            if not condition.holds(condition.gap(costs[branch]), distance):
                return decided.row(branch, place, statistics).broken
        return None

    def watched(self, decided: Decisions) -> Iterator[tuple[int, int]]:
        """Yield branch and place of the watched conditions, in plan order."""
        for branch, conditions in enumerate(decided.conditions):
            gaps = decided.gaps[branch]
            places = range(len(conditions))
            for _, of_block in groupby(places, key=lambda place: conditions[place].step):
                for place in sorted(of_block, key=gaps.__getitem__)[: self.K]:
                    yield branch, place

    def distance(self, decided: Decisions) -> float:
        """Return how far a condition may be violated."""
        if not isinstance(self.d, str):
            return self.d
        # |f2 - f1| / min(f1, f2), as f1 <= f2 when the plan was made.
        gaps = [math.expm1(min(abs(gap), 700.0)) for of_one in decided.gaps for gap in of_one]
        if not gaps:
            return 0.0
        return min(median(gaps), _MOST) if self.d == "median" else sum(gaps) / len(gaps)
