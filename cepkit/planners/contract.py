"""The contract of planners, and the state of a search.

To add one: a file on this shelf with a frozen dataclass that fits `Planner` (its settings and its
seed are its fields) and its entry in `PLANNERS`; tests/contracts/test_planners.py takes it in.
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
    """The state of a search: where it stands.

    Attributes:
        seconds: Since it began.
        examined: The plans that it has looked at; for dynamic programming the sets of variables
            for which it knows the best plan.
        plan: The best plan so far; None as long as there is none.
        log_cost: The logarithm of its cost.
        done: The share of the search that is done; None where there is no end to foresee.
    """

    seconds: float
    examined: int
    plan: BranchPlan | None
    log_cost: float
    done: float | None = None


class SearchInterrupted(KeyboardInterrupt):
    """The user interrupted a search that has a result already.

    Args:
        best: The best that it has found until then.
    """

    def __init__(self, best: Any) -> None:
        super().__init__()
        self.best = best


Observer: TypeAlias = Callable[[Observed], None]
"""Called with where a search stands, when there is a better plan and at its end."""


class Planner(Protocol):
    """A planner of one branch. Equal arguments give equal plans, unless a time limit cuts."""

    @property
    def name(self) -> str:
        """How users and tables call it."""
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
            statistics: They have a rate for each of its positive variables.
            cost: What makes one plan better than another.
            observe: Called with where the search stands.

        Raises:
            SearchInterrupted: The user interrupted, and it has a plan.
            LimitError: The planner is exact and cannot be within its limit of time or memory.
        """
        ...
