"""The state that planners share: the best plan so far, the observer and the clock."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from time import perf_counter

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan
from cepkit.planners.contract import Observed, Observer, SearchInterrupted
from cepkit.statistics.model import Statistics

TOLERANCE = 1e-12
"""Costs with a smaller relative difference count as equal: it is rounding error."""


class Search:
    """A search for a plan that remembers the best one.

    Attributes:
        cost: The cost to minimise.
        plan: The best plan so far.
        log_cost: The logarithm of its cost.
        examined: The number of plans examined: see `contract.Observed`.
        done: The finished share of the search; None if unknown.
    """

    def __init__(
        self, cost: BranchCost, observe: Observer | None, seconds: float | None = None
    ) -> None:
        self.cost = cost
        self.plan: BranchPlan | None = None
        self.log_cost = math.inf
        self.examined = 0
        self.done: float | None = None
        self._observe = observe
        self._limit = math.inf if seconds is None else seconds
        self._begin = perf_counter()

    @property
    def seconds(self) -> float:
        """How long the search has taken."""
        return perf_counter() - self._begin

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit is over."""
        return self.seconds >= self._limit

    def offer(self, plan: BranchPlan) -> None:
        """Keep a plan if it is better than the best so far."""
        log_cost = self.cost.of(plan)
        if self.plan is None or log_cost < self.log_cost - TOLERANCE:
            self.plan, self.log_cost = plan, log_cost
            self.report()

    def report(self, done: float | None = None) -> None:
        """Report the state of the search to the observer."""
        if self._observe is not None:
            share = self.done if done is None else done
            self._observe(Observed(self.seconds, self.examined, self.plan, self.log_cost, share))

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """If the user interrupts, make the best plan so far the result.

        Raises:
            SearchInterrupted: The user interrupted, and there is a plan.
        """
        try:
            yield
        except KeyboardInterrupt:
            if self.plan is None:
                raise
            raise SearchInterrupted(self.plan) from None

    def end(self) -> None:
        """Report the end of the search to the observer."""
        self.report(done=1.0)


def report_plan(
    plan: BranchPlan,
    branch: Branch,
    statistics: Statistics,
    cost: CostModel,
    observe: Observer | None,
    examined: int = 1,
) -> None:
    """Report a plan that was found in one go to the observer, if there is one."""
    if observe is None:
        return
    search = Search(cost.on(branch, statistics), observe)
    search.examined = examined
    search.offer(plan)
    search.end()
