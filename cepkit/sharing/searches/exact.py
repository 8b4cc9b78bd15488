"""The best of all plans of a few branches, by branch and bound: the judge of the others.

It enumerates all plans of all branches, with every choice of whether different windows share, the
cheapest addition first. It prunes when the cost so far, plus the nodes of later branches that
nobody else can share, reaches the best cost. Orders may begin with weaker nodes (weakening.py).
O(product of the numbers of plans): 24 orders or 15 trees of four variables, 120 or 105 of five.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

from cepkit.errors import LimitError
from cepkit.sharing.plan_graph import COMMON, Changes, Choice, PlanGraph, Prepared
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.searches.greedy_merge import GreedyMerge
from cepkit.sharing.start import all_plans, pools_of
from cepkit.sharing.weakening import beginning_with, weaker_nodes
from cepkit.sharing.workload import Sharer

_MOST = 4


@dataclass(frozen=True, slots=True)
class Exact:
    """Searches for the plans with the least total cost.

    Attributes:
        combinations: The most combinations of plans that it accepts.
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
                expected=f"at most {_MOST} patterns (or branches of an OR) of five variables",
                hint="greedy-merge is near the best",
            )
        weaker = _weaker_choices(prepared)
        options = [own + begun for own, begun in zip(options, weaker, strict=True)]
        known = PlanGraph(prepared, GreedyMerge().search(prepared))
        state = Progressed(known, observe)
        state.graph = PlanGraph(prepared)
        with state.interruptible():
            _search(state, options, _least_after(prepared, sharers, weaker), 0)
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


def _least_after(
    prepared: Prepared, sharers: Sequence[Sharer], weaker: Sequence[Sequence[Choice]]
) -> list[int]:
    """Return for each branch a lower bound of the cost of later ones: nodes nobody else can share.

    Args:
        weaker: For each branch its orders that begin with weaker nodes.
    """
    least = [_least(prepared, each, weaker[each.number]) for each in sharers]
    return [sum(least[number + 1 :]) for number in range(len(least))]


def _least(prepared: Prepared, sharer: Sharer, weaker: Sequence[Choice]) -> int:
    """Return the least cost of a branch's nodes that no other branch can share."""
    step, holders = prepared.prices(sharer).step, prepared.workload.holders
    weak = {sum(1 << p for p in c.order[: _weak_size(prepared, c)]) for c in weaker}
    least = [0]
    for mask in range(1, 1 << sharer.size):
        if sharer.form(mask)[0] in holders or any(mask & ~each == 0 for each in weak):
            least.append(0)  # others may share all of it
            continue
        rights = [part for part in range(1, mask + 1) if part & mask == part]
        if prepared.mode == "order":  # the prefix that one event is joined to
            costs = [least[mask ^ p] + step(mask ^ p, p) for p in rights if not p & (p - 1)]
        elif mask & (mask - 1):
            costs = [least[mask ^ p] + least[p] + step(mask ^ p, p) for p in rights if p != mask]
        else:
            costs = [step(0, mask)]
        least.append(min(costs))
    return least[-1]


def _weak_size(prepared: Prepared, choice: Choice) -> int:
    weaker = prepared.weaker(choice)
    return 0 if weaker is None else weaker.sharer.size


def _choices(prepared: Prepared, sharer: Sharer) -> Iterator[Choice]:
    for plan in all_plans(prepared.mode, tuple(range(sharer.size))):
        for pool in pools_of(prepared, sharer):
            yield Choice(plan, pool)


def _weaker_choices(prepared: Prepared) -> list[list[Choice]]:
    """Return for each branch its orders that begin with weaker nodes."""
    choices: list[dict[Choice, None]] = [{} for _ in prepared.workload.sharers]
    for node in weaker_nodes(prepared):
        for number, begun in beginning_with(prepared, node, COMMON).items():
            if begun.weaker is None:
                continue
            sharer = prepared.workload.sharers[number]
            size = _weak_size(prepared, begun)
            first, rest = begun.order[:size], begun.order[size:]
            for order in product(permutations(first), permutations(rest)):
                for pool in pools_of(prepared, sharer):
                    choices[number][Choice((*order[0], *order[1]), pool, begun.weaker)] = None
    return [list(each) for each in choices]
