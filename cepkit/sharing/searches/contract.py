"""The contract of searches for shared plans, and their progress.

To add one: a file on this shelf with a frozen dataclass that fits `SharingSearch` (its settings and
its seed are its fields) and its entry in `SEARCHES`; tests/contracts/test_sharing_searches.py takes
it in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cepkit.planners.search import Begun
from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.prices import number_of


@dataclass(frozen=True, slots=True)
class SharingObserved:
    """The progress of a search for shared plans.

    Attributes:
        seconds: The time since it began.
        examined: How many changes of plans it has examined.
        cost: The cost of the best plans so far.
        done: The finished share of the search at most; None if the end cannot be foreseen.
    """

    seconds: float
    examined: int
    cost: float
    done: float | None = None


SharingObserver: TypeAlias = Callable[[SharingObserved], None]
"""Called with the state of a search at each improvement and at the end."""


class SharingSearch(Protocol):
    """A search for the plans of several branches.

    Equal arguments give equal plans, unless a time limit ends it.
    """

    @property
    def name(self) -> str:
        """The name for users and tables."""
        ...

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return a choice for each branch of a workload.

        Args:
            prepared: The workload with its prices.
            observe: Called with the state of the search.

        Raises:
            SearchInterrupted: The user interrupted, and there are plans already.
            LimitError: The search is exact and the workload is too large for it.
        """
        ...


class Progressed(Begun):
    """The best plans so far of a search, and its observer.

    Args:
        graph: The initial plans.
        observe: Called at each improvement.
        seconds: When it must stop; None for never.
    """

    best: Changes

    def __init__(
        self, graph: PlanGraph, observe: SharingObserver | None, seconds: float | None = None
    ) -> None:
        super().__init__(seconds)
        self.graph = graph
        self.best = dict(graph.choices)
        self.cost = graph.cost
        self._observe = observe
        self.report()

    def offer(self) -> bool:
        """Keep the plans of the graph if they are better than the best so far."""
        if self.graph.cost >= self.cost:
            return False
        self.best, self.cost = dict(self.graph.choices), self.graph.cost
        self.report()
        return True

    def report(self) -> None:
        """Report the state of the search to the observer."""
        if self._observe is not None:
            cost = number_of(self.cost)
            self._observe(SharingObserved(self.seconds, self.examined, cost, self.done))
