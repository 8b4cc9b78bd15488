"""The contract of planners, and the state of a search.

To add one: a file on this shelf with a frozen dataclass on `search.SearchingPlanner` (its settings
and its seed are its fields) and its entry in `PLANNERS`; tests/contracts/test_planners.py takes it
in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from cepkit.costs.contract import CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan
from cepkit.statistics.model import Statistics


@dataclass(frozen=True, slots=True)
class Observed:
    """The state of a search.

    Attributes:
        seconds: The time since it began.
        examined: The number of plans examined; for dynamic programming, of sets of variables whose
            best plan is known.
        plan: The best plan so far; None before the first.
        log_cost: The logarithm of its cost.
        done: The finished share of the search; None if the end cannot be foreseen.
    """

    seconds: float
    examined: int
    plan: BranchPlan | None
    log_cost: float
    done: float | None = None


class SearchInterrupted(KeyboardInterrupt):
    """The user interrupted a search that has a result already.

    Args:
        best: The best result until then.
    """

    def __init__(self, best: Any) -> None:
        super().__init__()
        self.best = best


Observer: TypeAlias = Callable[[Observed], None]
"""Called with the state of a search at each better plan and at the end."""


class Planner(Protocol):
    """A planner of one branch. Equal arguments give equal plans, unless a time limit ends it."""

    @property
    def name(self) -> str:
        """The name for users and tables."""
        ...

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> BranchPlan:
        """Return a plan over the positive variables of `branch`.

        Ties are broken by the order of the pattern.

        Args:
            branch: A branch of a query's normal form.
            statistics: They must have a rate for each positive variable of the branch.
            cost: The cost to minimise.
            observe: Called with the state of the search.

        Raises:
            SearchInterrupted: The user interrupted, and there is a plan already.
            LimitError: The planner is exact and would exceed its limit of time or memory.
        """
        ...
