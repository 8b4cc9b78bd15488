"""Never replans: keeps the plan of the first statistics. O(1).

It is the baseline: an engine without adaptation.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Static:
    """Keeps the first plan."""

    name: str = "static"

    def fires(self, _plan: Plan, _statistics: Statistics) -> str | None:
        """Return None (see `contract.Decision`)."""
        return None
