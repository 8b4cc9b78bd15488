"""Which of several plans is cheapest at each rate of one variable, and where that changes.

Source: ours. O(plans * rates).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cepkit.plan.logarithms import SAME, grouped
from cepkit.plan.nodes import Plan
from cepkit.plan.printer import one_line


@dataclass(frozen=True, slots=True)
class Curve:
    """The cost of one plan at each rate.

    Attributes:
        log_costs: The logarithm of its cost at each of the rates.
    """

    plan: Plan
    log_costs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RateCurve:
    """The curve of all plans that cost the same at every rate.

    Attributes:
        members: The plans, in the order in which they were given.
        log_costs: The logarithms to base ten of the cost at each rate.
    """

    members: tuple[Plan, ...]
    log_costs: tuple[float, ...]

    @property
    def planners(self) -> tuple[str, ...]:
        """The planners of these plans."""
        return tuple(plan.planner for plan in self.members)

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans on one line each."""
        return tuple(map(one_line, self.members))


@dataclass(frozen=True, slots=True)
class CrossOver:
    """Where another plan becomes the cheapest.

    Attributes:
        rate: In events per second; it lies between two of the sampled rates.
        log_cost: The logarithm to base ten of the cost of both there.
        below: The number of the curve that is cheapest below that rate.
        above: The number of the curve that is cheapest above it.
    """

    rate: float
    log_cost: float
    below: int
    above: int


def rate_curves(curves: Iterable[Curve]) -> tuple[RateCurve, ...]:
    """Return the curves, merging those that agree at every rate."""
    return tuple(
        RateCurve(
            tuple(curve.plan for curve in group),
            tuple(log / math.log(10) for log in group[0].log_costs),
        )
        for group in grouped(curves, lambda curve: curve.log_costs)
    )


def cheapest_at(curves: Sequence[RateCurve], point: int) -> int:
    """Return the number of the cheapest curve at one of the rates; the first of equals."""
    least = min(curve.log_costs[point] for curve in curves)
    return next(i for i, c in enumerate(curves) if c.log_costs[point] <= least + SAME)


def cross_overs(curves: Sequence[RateCurve], rates: Sequence[float]) -> tuple[CrossOver, ...]:
    """Return where the cheapest plan changes.

    Costs are linear in the rate of a variable that is not repeated, so the interpolated crossing
    between two rates is exact.

    Args:
        rates: The rates of the curves, ascending.
    """
    crossings: list[CrossOver] = []
    for i, (low, high) in enumerate(pairwise(rates)):
        below, above = cheapest_at(curves, i), cheapest_at(curves, i + 1)
        if below == above:
            continue
        one, other = curves[below].log_costs[i : i + 2], curves[above].log_costs[i : i + 2]
        # Divide by the greatest: the numbers themselves might overflow a float.
        greatest = max(*one, *other)
        (a, b), (c, d) = ([10.0 ** (log - greatest) for log in logs] for logs in (one, other))
        # The difference in cost changes its sign here.
        share = (c - a) / ((c - a) + (b - d))
        cost = a + share * (b - a)
        log_cost = math.log10(cost) + greatest if cost > 0 else -math.inf
        crossings.append(CrossOver(low + share * (high - low), log_cost, below, above))
    return tuple(crossings)
