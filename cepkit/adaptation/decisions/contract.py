"""The contract of decision functions: is it worth asking the planner again?

To add one: a file on this shelf with a frozen dataclass that fits `Decision` (its settings are its
fields) and its entry in `DECISIONS`; tests/contracts/test_decisions.py takes it in.
"""

from __future__ import annotations

from typing import Protocol

from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics


class Decision(Protocol):
    """A decision function of the planner's last answer and the current statistics."""

    @property
    def name(self) -> str:
        """The name for users and tables."""
        ...

    def fires(self, plan: Plan, statistics: Statistics) -> str | None:
        """Return the reason to run the planner again, in words; None if there is none.

        Args:
            plan: The planner's last answer, deployed or not, with its statistics and deciding
                conditions.
            statistics: The current statistics, of the same variables.

        Raises:
            PlanError: It needs deciding conditions, which the planner does not record.
        """
        ...
