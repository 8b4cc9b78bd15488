"""Replans at every check. O(1), and the planner's time.

It misses nothing, but also replans if nothing has changed.
Source: *Efficient Adaptive Detection of Complex Event Patterns* (US 11,693,862 B2), which compares
with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Unconditional:
    """Always replans."""

    name: str = "unconditional"

    def fires(self, _plan: Plan, _statistics: Statistics) -> str | None:
        """Return a reason, always (see `contract.Decision`)."""
        return "every check"
