"""The state that planners share: the best plan so far, the observer and the clock."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from time import perf_counter
from typing import Any

from cepkit.costs.contract import BranchCost, CostModel
from cepkit.pattern.normal_form import Branch
from cepkit.plan.nodes import BranchPlan
from cepkit.planners.contract import Observed, Observer, SearchInterrupted
from cepkit.statistics.model import Statistics

TOLERANCE = 1e-12
"""Costs with a smaller relative difference count as equal: it is rounding error."""


class Begun:
    """A running search: its clock, its progress, and the best plan so far.

    Args:
        seconds: The most that it may take; None for no limit.

    Attributes:
        limit: The same; infinity for no limit.
        best: The best result so far; None before the first.
        examined: How many candidates were examined.
        done: The finished share of the search; None if unknown.
    """

    def __init__(self, seconds: float | None) -> None:
        self.limit = math.inf if seconds is None else seconds
        self.best: Any = None
        self.examined = 0
        self.done: float | None = None
        self._begin = perf_counter()

    @property
    def seconds(self) -> float:
        """How long the search has taken."""
        return perf_counter() - self._begin

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit is over."""
        return self.seconds >= self.limit

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """If the user interrupts, make the best so far the result.

        Raises:
            SearchInterrupted: The user interrupted, and there is a result.
        """
        try:
            yield
        except KeyboardInterrupt:
            if self.best is None:
                raise
            raise SearchInterrupted(self.best) from None


class Search(Begun):
    """A search for a plan of a branch that remembers the best one.

    Attributes:
        log_cost: The logarithm of the best plan's cost.
    """

    best: BranchPlan | None

    def __init__(
        self,
        branch: Branch,
        statistics: Statistics,
        model: CostModel,
        observe: Observer | None,
        seconds: float | None = None,
    ) -> None:
        self.branch, self.statistics, self._model = branch, statistics, model
        super().__init__(seconds)
        self.log_cost = math.inf
        self._observe = observe

    @cached_property
    def cost(self) -> BranchCost:
        """The cost to minimise."""
        return self._model.on(self.branch, self.statistics)

    def offer(self, plan: BranchPlan) -> None:
        """Keep a plan if it is better than the best so far."""
        log_cost = self.cost.of(plan)
        if self.best is None or log_cost < self.log_cost - TOLERANCE:
            self.best, self.log_cost = plan, log_cost
            self.report()

    def report(self, done: float | None = None) -> None:
        """Report the state of the search to the observer."""
        if self._observe is not None:
            share = self.done if done is None else done
            self._observe(Observed(self.seconds, self.examined, self.best, self.log_cost, share))

    def found(self, plan: BranchPlan, examined: int = 1) -> None:
        """Take the only plan of the search; its cost is computed for an observer alone."""
        self.examined = examined
        if self._observe is None:
            self.best = plan
        else:
            self.offer(plan)


class SearchingPlanner(ABC):
    """The base of planners (see `contract.Planner`); a field `seconds` limits their time."""

    __slots__ = ()

    def plan(
        self,
        branch: Branch,
        statistics: Statistics,
        cost: CostModel,
        observe: Observer | None = None,
    ) -> BranchPlan:
        """Return a plan over the positive variables of `branch` (see `contract.Planner`)."""
        search = Search(branch, statistics, cost, observe, getattr(self, "seconds", None))
        self.find(search)
        search.report(done=1.0)
        assert search.best is not None
        return search.best

    @abstractmethod
    def find(self, search: Search) -> None:
        """Search for the plan: offer the plans that are examined, or the one that is found."""
