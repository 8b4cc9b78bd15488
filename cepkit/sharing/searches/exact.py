"""The best of all plans of a few branches, by branch and bound: the judge of the others.

All plans of all branches, and all choices of whether different windows share, are gone through, the
cheapest addition first; what costs as much as the best so far is cut off, the roots of those still
to come included where nobody else can have them. O(product of the numbers of plans): 24 orders or
15 trees of four variables, 120 or 105 of five. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from cepkit.errors import LimitError
from cepkit.sharing.plan_graph import Changes, Choice, PlanGraph, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.searches.greedy_merge import GreedyMerge
from cepkit.sharing.start import all_plans, pools_of
from cepkit.sharing.workload import Sharer

_MOST = 4


@dataclass(frozen=True, slots=True)
class Exact:
    """The plans that cost least together.

    Attributes:
        combinations: The most combinations of plans that it may have to go through.
    """

    combinations: float = 1e9
    name: str = "exact"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the best plans (see `contract.SharingSearch`)."""
        sharers = prepared.workload.sharers
        options = [list(_choices(prepared, sharer)) for sharer in sharers if len(sharers) <= _MOST]
        if not options or prod(map(len, options)) > self.combinations:
            what = f"{len(sharers)} patterns" if not options else "patterns of so many variables"
            raise LimitError(
                f"an exact search for the plans of {what} would take too long",
                expected=f"at most {_MOST} patterns (branches of OR are some), of five variables",
                hint="greedy-merge is near the best",
            )
        known = PlanGraph(prepared, GreedyMerge().search(prepared))
        state = Progressed(known, observe)
        state.graph = PlanGraph(prepared)
        _search(state, options, _least_after(prepared, sharers), 0)
        state.report()
        return state.best


def _search(
    state: Progressed, options: Sequence[Sequence[Choice]], after: Sequence[int], number: int
) -> None:
    graph = state.graph
    state.examined += 1
    if number == len(options):
        state.offer()
        return
    added = []
    for choice in options[number]:
        added.append((graph.put(number, choice), choice))
        graph.take(number)
    for difference, choice in sorted(added, key=lambda each: each[0]):
        if graph.cost + difference + after[number] >= state.cost:
            break
        graph.put(number, choice)
        _search(state, options, after, number + 1)
        graph.take(number)


def _least_after(prepared: Prepared, sharers: Sequence[Sharer]) -> list[int]:
    """Return for each branch what those after it cost at least: roots that nobody else has."""
    holders = prepared.workload.holders
    least = []
    for sharer in sharers:
        prices = prepared.prices(sharer)
        mask = sharer.full
        own = sharer.form(mask)[0] not in holders and sharer.size > 1
        steps = (prices.step(mask ^ part, part) for part in range(1, mask) if part & mask == part)
        least.append(min(steps) if own else 0)
    return [sum(least[number + 1 :]) for number in range(len(least))]


def _choices(prepared: Prepared, sharer: Sharer) -> Iterator[Choice]:
    for plan in all_plans(prepared.mode, tuple(range(sharer.size))):
        for pool in pools_of(prepared, sharer):
            yield Choice(plan, pool)
