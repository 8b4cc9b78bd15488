"""Plans that have a common sub-pattern as a prefix or a subtree: the moves of all searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import cast

from cepkit.sharing.local import Tree, inner, mask_of, renamed
from cepkit.sharing.plan_graph import COMMON, Changes, Choice, PlanGraph, Planned, Prepared
from cepkit.sharing.start import all_plans, pools_of
from cepkit.sharing.workload import Form, Places, Sharer


def common_forms(prepared: Prepared) -> list[Form]:
    """Return the common sub-patterns that plans can share, the largest first."""
    least = 1 if prepared.mode == "order" else 2
    forms = (form for form in prepared.workload.holders if len(form[1]) >= least)
    return sorted(forms, key=lambda form: (-len(form[1]), form))


def merges(graph: PlanGraph, form: Form, *, all_ways: bool = False) -> Iterator[Changes]:
    """Yield the changes that share a sub-pattern among its holders: those of each window, and all.

    Args:
        all_ways: Whether to try all its plans instead of just the best one.
    """
    prepared = graph.prepared
    for pool, group in pooled(prepared, prepared.workload.holders[form]):
        owner, places = max(group, key=lambda holder: holder[0].window)
        plans = [sub_plan(prepared, owner, places)]
        if all_ways:
            plans = list(all_plans(prepared.mode, tuple(range(len(places)))))
        keeps = (True, False) if prepared.mode == "tree" else (False,)
        for plan, keep in product(plans, keeps):
            changes: dict[int, Choice] = {}
            for sharer, occurrences in _by_sharer(group):
                choice = Choice(with_part(graph, sharer, occurrences, plan, keep=keep), pool)
                if choice != graph.choices[sharer.number]:
                    changes[sharer.number] = choice
            if changes:
                yield changes


def pooled(
    prepared: Prepared, holders: Sequence[tuple[Sharer, Places]]
) -> list[tuple[int, Sequence[tuple[Sharer, Places]]]]:
    """Group the holders of a sub-pattern by the pool in which they may share it."""
    if len(pools_of(prepared, holders[0][0])) == 1:
        return [(COMMON, holders)]
    windows = sorted({sharer.window for sharer, _ in holders})
    of_window = ([h for h in holders if h[0].window == window] for window in windows)
    groups: list[tuple[int, Sequence[tuple[Sharer, Places]]]] = [
        (each[0][0].window + 1, each) for each in of_window if len(each) > 1
    ]
    return groups + ([(COMMON, holders)] if len(windows) > 1 else [])


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
    """Return the best plan of a branch with a sub-pattern's plan as prefix or subtree.

    Args:
        part: The plan of the sub-pattern, over places of its form.
        keep: Whether to keep other shared subtrees of the branch's plan.
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
    """Yield the largest shared subtrees of a branch's plan apart from the `taken` variables."""
    choice = graph.choices[sharer.number]
    for tree in inner(choice.tree):
        mask = mask_of(tree)
        if not mask & taken and mask != sharer.full:
            node, _ = graph.prepared.tree_form(sharer, tree, choice.pool)
            if graph.held[node].windows.total() > 1:
                taken |= mask
                yield tree


def occurrences_of(prepared: Prepared, form: Form, sharer: Sharer) -> list[Places]:
    """Return where a branch has a sub-pattern."""
    return [p for holder, p in prepared.workload.holders[form] if holder is sharer]


def _by_sharer(
    holders: Iterable[tuple[Sharer, Places]],
) -> Iterator[tuple[Sharer, list[Places]]]:
    by_number: dict[int, tuple[Sharer, list[Places]]] = {}
    for sharer, places in holders:
        by_number.setdefault(sharer.number, (sharer, []))[1].append(places)
    yield from by_number.values()
