"""Greedy merge: every common sub-pattern, largest first, to all of its holders at once.

All who have a sub-pattern get its best plan, as prefix or subtree; then each goes back to its old
plan, if that is cheaper, and to its best response beside all others. What gained is kept. It ends
when neither a sub-pattern nor a branch gains. It finds what pairwise moves miss: a sub-pattern that
pays only for many. O(rounds * holders of all sub-patterns * length).
Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from cepkit.sharing.local import Tree, inner, mask_of, renamed
from cepkit.sharing.plan_graph import COMMON, Changes, Choice, PlanGraph, Planned, Prepared
from cepkit.sharing.responses import respond
from cepkit.sharing.searches.contract import Progressed, SharingObserver
from cepkit.sharing.start import own_plans, pools_of
from cepkit.sharing.workload import Form, Places, Sharer


@dataclass(frozen=True, slots=True)
class GreedyMerge:
    """Common sub-patterns to all holders at once, while that gains."""

    name: str = "greedy-merge"

    def search(self, prepared: Prepared, observe: SharingObserver | None = None) -> Changes:
        """Return the plans (see `contract.SharingSearch`)."""
        graph = PlanGraph(prepared, own_plans(prepared))
        state = Progressed(graph, observe)
        forms = common_forms(prepared)
        while True:
            before = graph.cost
            for number in (sharer.number for sharer in prepared.workload.ranked):
                respond(graph, number)
            state.offer()
            for form in forms:
                for changes in merges(graph, form):
                    state.examined += 1
                    _try(graph, changes)
            if not state.offer() and graph.cost == before:
                return state.best


def common_forms(prepared: Prepared) -> list[Form]:
    """Return the common sub-patterns that plans can share, the largest first."""
    least = 1 if prepared.mode == "order" else 2
    forms = (form for form in prepared.workload.holders if len(form[1]) >= least)
    return sorted(forms, key=lambda form: (-len(form[1]), form))


def merges(graph: PlanGraph, form: Form) -> Iterator[Changes]:
    """Yield the changes that give a sub-pattern to those who have it: of each window, and all."""
    prepared = graph.prepared
    holders = prepared.workload.holders[form]
    windows = sorted({sharer.window for sharer, _ in holders})
    groups = [(COMMON, holders)]
    if len(pools_of(prepared, holders[0][0])) > 1:
        of_window = ([h for h in holders if h[0].window == window] for window in windows)
        groups = [(each[0][0].window + 1, each) for each in of_window if len(each) > 1]
        groups += [(COMMON, holders)] if len(windows) > 1 else []
    for pool, group in groups:
        owner, places = max(group, key=lambda holder: holder[0].window)
        plan = sub_plan(prepared, owner, places)
        for keep in (True, False) if prepared.mode == "tree" else (False,):
            changes: dict[int, Choice] = {}
            for sharer, occurrences in _by_sharer(group):
                choice = Choice(with_part(graph, sharer, occurrences, plan, keep=keep), pool)
                if choice != graph.choices[sharer.number]:
                    changes[sharer.number] = choice
            if changes:
                yield changes


def sub_plan(prepared: Prepared, owner: Sharer, places: Places) -> Planned:
    """Return the best plan of a sub-pattern alone, over the places of its form."""
    local, mask = prepared.local(owner), sum(1 << place for place in places)
    at = {place: i for i, place in enumerate(places)}
    if prepared.mode == "order":
        return tuple(at[place] for place in local.order_of(mask))
    return renamed(local.tree_of(mask), at)


def with_part(
    graph: PlanGraph,
    sharer: Sharer,
    occurrences: Sequence[Places],
    part: Planned,
    *,
    keep: bool,
) -> Planned:
    """Return the best plan of a branch that has the plan of a sub-pattern as prefix or subtree.

    Args:
        graph: The plans of all.
        sharer: The branch.
        occurrences: Where it has the sub-pattern.
        part: The plan of that, over places of its form.
        keep: Whether other subtrees of its plan that are shared are kept.
    """
    local = graph.prepared.local(sharer)
    if graph.prepared.mode == "order":
        order = cast("Places", part)
        places = min(occurrences, key=lambda o: (local.cost_after(sum(1 << p for p in o)), o))
        mask = sum(1 << place for place in places)
        return tuple(places[i] for i in order) + local.after(mask)
    tree = renamed(cast("Tree", part), occurrences[0])
    kept = [tree]
    if keep:
        kept += _other_shared(graph, sharer, mask_of(tree))
    return local.tree_around(kept)


def _other_shared(graph: PlanGraph, sharer: Sharer, taken: int) -> Iterator[Tree]:
    """Yield the largest subtrees of a branch's plan that others use too, beside what is taken."""
    choice = graph.choices[sharer.number]
    for tree in inner(choice.tree):
        mask = mask_of(tree)
        if not mask & taken and mask != sharer.full:
            node, _ = graph.prepared.tree_form(sharer, tree, choice.pool)
            if graph.held[node].windows.total() > 1:
                taken |= mask
                yield tree


def _by_sharer(
    holders: Iterable[tuple[Sharer, Places]],
) -> Iterator[tuple[Sharer, list[Places]]]:
    by_number: dict[int, tuple[Sharer, list[Places]]] = {}
    for sharer, places in holders:
        by_number.setdefault(sharer.number, (sharer, []))[1].append(places)
    yield from by_number.values()


def _try(graph: PlanGraph, changes: Changes) -> None:
    """Change plans; let each branch go back to its old one, and all if nothing is gained."""
    before = graph.cost
    old = graph.swap(changes)
    for number, choice in old.items():
        now = graph.cost
        new = graph.choices[number]
        graph.swap({number: choice})
        if graph.cost >= now:
            graph.swap({number: new})
    if graph.cost >= before:
        graph.swap({number: c for number, c in old.items() if graph.choices[number] != c})
