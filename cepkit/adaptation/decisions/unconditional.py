"""Plans again at every check. O(1), and the planner's time.

It misses nothing, and plans where nothing has changed.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2), which compares
with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Unconditional:
    """Always plans again."""

    name: str = "unconditional"

    def fires(self, _plan: Plan, _statistics: Statistics) -> str | None:
        """Return that it always does (see `contract.Decision`)."""
        return "every check"
