"""Greedy merge: gives every common sub-pattern, largest first, to all of its holders at once.

All holders of a sub-pattern get its best plan, as prefix or subtree; then each returns to its old
plan if that is cheaper. A change that gains is kept. For orders, the same is tried with weaker
nodes (weakening.py). Between rounds each branch takes its best response to all others, and the
users of nodes with few users are removed and put back in another order. The search ends when
nothing gains. It finds what pairwise moves miss: a sub-pattern that pays off only for many.
O(rounds * holders of all sub-patterns * length). Many branches are searched in blocks of branches
with much in common: larger blocks would gain little. Equal nodes of different blocks are still
computed once.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from cepkit.sharing.merging import common_forms, merges
from cepkit.sharing.plan_graph import Changes, PlanGraph, Prepared
from cepkit.sharing.responses import Starts, reinsert, respond
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import own_plans
from cepkit.sharing.weakening import starts_of, weakenings, weaker_nodes

_FEW = 3
"""The most branches that are put back in every order."""
_FEW_BRANCHES, _SMALL = 4, 4
"""Up to so many branches of so many variables try sub-patterns in all their plans."""


@dataclass(frozen=True, slots=True)
class GreedyMerge:
    """Gives common sub-patterns to all holders at once while that gains.

    Attributes:
        at_once: The most branches in a block.
    """

    at_once: int = 200
    name: str = "greedy-merge"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        blocks = prepared.workload.blocks(self.at_once)
        if len(blocks) == 1:
            return _searched(prepared, observe)
        whole = Progressed(PlanGraph(prepared, own_plans(prepared)), observe)
        with whole.interruptible():
            for number, block in enumerate(blocks):
                whole.done = number / len(blocks)
                whole.report()
                found = _searched(Prepared(block, prepared.cost, prepared.mode), None)
                old = whole.graph.swap(found)
                whole.examined += 1
                if not whole.offer():  # nodes of other blocks were worth more
                    whole.graph.swap(old)
        whole.report()
        return whole.best


def _searched(prepared: Prepared, observe: SharingObserver | None) -> Changes:
    """Return the plans of the branches of a block."""
    graph = PlanGraph(prepared, own_plans(prepared))
    state = Progressed(graph, observe)
    sharers = prepared.workload.ranked
    with state.interruptible():
        _merge(state, all_ways=False)
        if len(sharers) <= _FEW_BRANCHES and max(s.size for s in sharers) <= _SMALL:
            _merge(state, all_ways=True)
    state.report()
    return state.best


def _merge(state: Progressed, *, all_ways: bool) -> None:
    """Merge while anything gains.

    Args:
        all_ways: Whether to try all plans of each sub-pattern, with responses of all others to
            each.
    """
    graph = state.graph
    ranked = [sharer.number for sharer in graph.prepared.workload.ranked]
    forms = common_forms(graph.prepared)
    weaker = weaker_nodes(graph.prepared)
    starts = starts_of(graph.prepared, weaker)
    while True:
        before = graph.cost
        for number in ranked:
            respond(graph, number, starts.get(number, ()))
        for form in forms:
            for changes in merges(graph, form, all_ways=all_ways):
                state.examined += 1
                _try(graph, changes, ranked if all_ways else (), starts)
        for node in weaker:
            for changes in weakenings(graph, node):
                state.examined += 1
                _try(graph, changes, ranked if all_ways else (), starts)
        for few in _coalitions(graph, ranked):
            for order in permutations(few):
                state.examined += 1
                reinsert(graph, order, starts)
        state.offer()
        if graph.cost == before:
            return


def _coalitions(graph: PlanGraph, ranked: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the users of nodes with few users; for few branches, all pairs and triples."""
    if len(ranked) <= _FEW_BRANCHES:
        return [few for size in (2, _FEW) for few in combinations(ranked, size)]
    users: dict[int, list[int]] = {}
    for number in ranked:
        sharer = graph.prepared.workload.sharers[number]
        for made in graph.prepared.path(sharer, graph.choices[number]):
            users.setdefault(made.node, []).append(number)
    several = (tuple(dict.fromkeys(each)) for each in users.values() if 1 < len(each) <= _FEW)
    return list(dict.fromkeys(several))


def _try(graph: PlanGraph, changes: Changes, others: Iterable[int], starts: Starts) -> None:
    """Change plans; let each branch return to its old one, and undo all if nothing is gained.

    Args:
        others: Branches that may respond before the gain is computed.
        starts: The weaker sub-patterns that they may begin with.
    """
    before = graph.cost
    all_old = {number: graph.choices[number] for number in (*changes, *others)}
    old = graph.swap(changes)
    for number in others:
        if number not in changes:
            respond(graph, number, starts.get(number, ()))
    for number, choice in old.items():
        now = graph.cost
        new = graph.choices[number]
        graph.swap({number: choice})
        if graph.cost >= now:
            graph.swap({number: new})
    if graph.cost >= before:
        graph.swap({n: choice for n, choice in all_old.items() if graph.choices[n] != choice})
