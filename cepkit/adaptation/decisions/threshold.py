"""Replans when a rate or a selectivity has moved by more than a threshold. O(statistics).

It ignores the deciding conditions: it fires at changes that do not matter, and misses small ones
that do. For rates 100, 15 and 10, an absolute threshold of 6 misses that the third overtakes the
second; below 6, the noise of the first makes it fire.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2), which compares
with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepkit.errors import PlanError
from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics
from cepkit.tables import number


@dataclass(frozen=True, slots=True)
class Threshold:
    """Replans when a statistic has moved away from its value at planning time.

    Attributes:
        t: The largest move that does not fire.
        relative: Whether `t` is a multiple of the value at planning time.
    """

    t: float = 0.5
    relative: bool = True
    name: str = "threshold"

    def __post_init__(self) -> None:
        if not self.t >= 0:
            raise PlanError(f"t={self.t}", expected="0 or more")

    def fires(self, plan: Plan, statistics: Statistics) -> str | None:
        """Return the first number that has moved too far (see `contract.Decision`)."""
        assert plan.statistics is not None
        before = dict(_numbers(plan.statistics))
        for name, now in _numbers(statistics):
            then = before.get(name, 1.0)
            if abs(now - then) > self.t * (abs(then) if self.relative else 1.0):
                return f"{name} is {number(now)}, and was {number(then)} when it was planned"
        return None


def _numbers(statistics: Statistics) -> Iterator[tuple[str, float]]:
    for variable in statistics.rates:
        yield f"rate({variable})", statistics.rate(variable)
    for names, selectivity in statistics.selectivities.items():
        yield f"sel({', '.join(sorted(names))})", selectivity.share
