"""The contract of searches for shared plans, and their progress.

To add one: a file on this shelf with a frozen dataclass that fits `SharingSearch` (its settings and
its seed are its fields) and its entry in `SEARCHES`; tests/contracts/test_sharing_searches.py takes
it in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, TypeAlias

from cepkit.planners.contract import SearchInterrupted
from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.prices import number_of


@dataclass(frozen=True, slots=True)
class SharingObserved:
    """The progress of a search for shared plans.

    Attributes:
        seconds: Since it began.
        examined: How many changes of plans it has looked at.
        cost: Of the best plans so far.
        done: The share of the search that is done at most; None where there is no end to foresee.
    """

    seconds: float
    examined: int
    cost: float
    done: float | None = None


SharingObserver: TypeAlias = Callable[[SharingObserved], None]
"""Called with where a search stands, when there are better plans and at its end."""


class SharingSearch(Protocol):
    """A search for the plans of several branches.

    Equal arguments give equal plans, unless a time limit cuts.
    """

    @property
    def name(self) -> str:
        """How users and tables call it."""
        ...

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return a choice for each branch of a workload.

        Args:
            prepared: The workload with its prices.
            observe: Called with where the search stands.

        Raises:
            SearchInterrupted: The user interrupted, and there are plans.
            LimitError: The search is exact, and the workload too large for it.
        """
        ...


class Progressed:
    """The best plans that a search has seen, its observer and its clock.

    Args:
        graph: The plans that it begins with.
        observe: Called when there are better ones.
        seconds: When it must stop; None for never.
    """

    def __init__(
        self, graph: PlanGraph, observe: SharingObserver | None, seconds: float | None = None
    ) -> None:
        self.graph = graph
        self.best: Changes = dict(graph.choices)
        self.cost = graph.cost
        self.examined = 0
        self.done: float | None = None
        self._observe = observe
        self._limit = seconds
        self._begin = perf_counter()
        self.report()

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit is over."""
        return self._limit is not None and perf_counter() - self._begin >= self._limit

    def offer(self) -> bool:
        """Remember the plans of the graph if they are better than the best so far."""
        if self.graph.cost >= self.cost:
            return False
        self.best, self.cost = dict(self.graph.choices), self.graph.cost
        self.report()
        return True

    def report(self) -> None:
        """Tell the observer where the search stands."""
        if self._observe is not None:
            seconds = perf_counter() - self._begin
            cost = number_of(self.cost)
            self._observe(SharingObserved(seconds, self.examined, cost, self.done))

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let the best plans so far be the result where the user interrupts.

        Raises:
            SearchInterrupted: The user did.
        """
        try:
            yield
        except KeyboardInterrupt:
            raise SearchInterrupted(self.best) from None
