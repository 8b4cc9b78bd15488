"""What a planner must be.

To add one: a file on this shelf with a frozen dataclass that fits `Planner` (its settings and its
seed are its fields), a line in `PLANNERS`, and tests/contracts/test_planners.py takes it in.
"""

from __future__ import annotations

from typing import Protocol

from cepkit.costs.contract import CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import OrderPlan
from cepkit.statistics.model import Statistics


class Planner(Protocol):
    """Finds a plan for one branch. A pure function: equal arguments give equal plans."""

    @property
    def name(self) -> str:
        """How users and tables call it."""
        ...

    def plan(self, branch: Branch, statistics: Statistics, cost: CostModel) -> OrderPlan:
        """Return an order of the positive variables of `branch`.

        Ties are broken by the order of the pattern.

        Args:
            branch: A branch of a query's normal form.
            statistics: They have a rate for each of its positive variables.
            cost: What makes one order better than another.
        """
        ...
