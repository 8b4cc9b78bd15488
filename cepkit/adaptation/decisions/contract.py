"""The contract of decision functions: is it worth asking the planner again?

To add one: a file on this shelf with a frozen dataclass that fits `Decision` (its settings are its
fields) and its entry in `DECISIONS`; tests/contracts/test_decisions.py takes it in.
"""

from __future__ import annotations

from typing import Protocol

from cepkit.plan.nodes import Plan
from cepkit.statistics.model import Statistics


class Decision(Protocol):
    """A decision function: of the planner's last answer and the statistics of now."""

    @property
    def name(self) -> str:
        """How users and tables call it."""
        ...

    def fires(self, plan: Plan, statistics: Statistics) -> str | None:
        """Return why to ask the planner again, in words; None where there is no reason.

        Args:
            plan: The planner's last answer, deployed or not, with the statistics that it was
                planned by and what decided it.
            statistics: Those of now, of the same variables.

        Raises:
            PlanError: It needs to know what decided the plan, and the planner cannot say.
        """
        ...
